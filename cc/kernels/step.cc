#include "cc/kernels/step.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cc/base/status.h"
#include "cc/exec/guards.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/platform/threadpool.h"

namespace cavs {
namespace {

// The team of a device. All ops share it, also those that run at once: more
// helpers than processors would take each other's time.
class DeviceTeam : public tensorflow::ResourceBase {
 public:
  explicit DeviceTeam(std::shared_ptr<Team> team) : team_(std::move(team)) {}

  const std::shared_ptr<Team>& team() const { return team_; }
  std::string DebugString() const override { return "team of cavs_tf"; }

 private:
  const std::shared_ptr<Team> team_;
};

}  // namespace

absl::Status ReadStreams(tensorflow::OpKernelConstruction* context,
                         int* count) {
  TF_RETURN_IF_ERROR(context->GetAttr("streams", count));
  if (*count == 1 || *count == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("streams: got ", *count, " but expected 1 or 2."));
}

absl::Status MakeStreams(tensorflow::OpKernelConstruction* context,
                         std::unique_ptr<engine::Engine>* streams) {
  int count;
  TF_RETURN_IF_ERROR(ReadStreams(context, &count));
  if (count == 2) {
    *streams = std::make_unique<engine::Engine>(engine::Streams(2));
  }
  return absl::OkStatus();
}

std::shared_ptr<Team> TeamOf(tensorflow::OpKernelContext* context) {
  const auto* threads = context->device()->tensorflow_cpu_worker_threads();
  const auto make = [threads] {
    return std::make_shared<Team>(threads->num_threads,
                                  [threads](std::function<void()> help) {
                                    threads->workers->Schedule(std::move(help));
                                  });
  };
  tensorflow::ResourceMgr* const manager = context->resource_manager();
  DeviceTeam* found = nullptr;
  const absl::Status status = manager->LookupOrCreate<DeviceTeam>(
      manager->default_container(), "cavs_team", &found,
      [&](DeviceTeam** created) {
        *created = new DeviceTeam(make());
        return absl::OkStatus();
      });
  // A manager may take no more resources: the team ends with the call then.
  if (!status.ok()) return make();
  const tensorflow::core::ScopedUnref unref(found);
  return found->team();
}

Step::Step(tensorflow::OpKernelContext* context, engine::Engine* engine,
           std::shared_ptr<Team> team, std::shared_ptr<StoragePool> pool)
    : team_(std::move(team)), pool_(std::move(pool)), stream_(team_.get()) {
  context_.stream = &stream_;
  if (engine != nullptr) {
    streams_.emplace(engine, team_.get());
    context_.stream = streams_->critical();
    context_.other = streams_->other();
  }
  context_.pool = pool_.get();
  context_.host = context;
  if (ProfilerTracer::IsActive()) context_.tracer = &tracer_;
  if (auto* manager = context->cancellation_manager()) {
    context_.cancelled = [manager] { return manager->IsCancelled(); };
  }
}

CpuDevice::Options DeviceOptions() {
  CpuDevice::Options options;
  if (GuardZonesWanted()) {
    options.nanos_per_program = options.nanos_per_weight_byte = 0;
  }
  return options;
}

}  // namespace cavs
