#include "cc/kernels/team_of.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/platform/threadpool.h"

namespace cavs {
namespace {

// A DeviceTeam owns the team of a device. All ops share the team, even ops that
// run at once, because more helpers than processors would slow each other down.
class DeviceTeam : public tensorflow::ResourceBase {
 public:
  explicit DeviceTeam(std::shared_ptr<Team> team) : team_(std::move(team)) {}

  const std::shared_ptr<Team>& team() const { return team_; }
  std::string DebugString() const override { return "team of cavs_tf"; }

 private:
  const std::shared_ptr<Team> team_;
};

}  // namespace

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
  // If the manager takes no more resources, the team ends with the call.
  if (!status.ok()) return make();
  const tensorflow::core::ScopedUnref unref(found);
  return found->team();
}

}  // namespace cavs
