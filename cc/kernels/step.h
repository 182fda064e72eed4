// What one call of an op computes with.
#ifndef CAVS_CC_KERNELS_STEP_H_
#define CAVS_CC_KERNELS_STEP_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "cc/device/cpu/cpu_device.h"
#include "cc/device/cpu/cpu_stream.h"
#include "cc/device/cpu/team.h"
#include "cc/device/cpu/workers.h"
#include "cc/engine/engine.h"
#include "cc/exec/step_context.h"
#include "cc/exec/storage_pool.h"
#include "cc/kernels/profiler_tracer.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// Attribute `streams`, checked.
absl::Status ReadStreams(tensorflow::OpKernelConstruction* context, int* count);

// What an op keeps between calls by attribute `streams`: an engine whose
// threads are parked while no call runs; null for one stream.
absl::Status MakeStreams(tensorflow::OpKernelConstruction* context,
                         std::unique_ptr<engine::Engine>* streams);

// TensorFlow's intra-op threads.
std::shared_ptr<Team> MakeTeam(tensorflow::OpKernelContext* context);

// For the length of one call. Team and pool may go on with another.
class Step {
 public:
  // `engine`: of two streams; null: there is one.
  Step(tensorflow::OpKernelContext* context, engine::Engine* engine,
       std::shared_ptr<Team> team, std::shared_ptr<StoragePool> pool);
  Step(const Step&) = delete;

  const StepContext& context() const { return context_; }

 private:
  const std::shared_ptr<Team> team_;
  const std::shared_ptr<StoragePool> pool_;
  InlineStream stream_;
  std::optional<TwoCpuStreams> streams_;
  ProfilerTracer tracer_;
  StepContext context_;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_STEP_H_
