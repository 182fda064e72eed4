// The resources of one call of an op.
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

// Of the devices of ops. With guard zones, which look for faults, minibatches
// of any size have programs of their own for leaves.
CpuDevice::Options DeviceOptions();

// Reads and checks attribute `streams`.
absl::Status ReadStreams(tensorflow::OpKernelConstruction* context, int* count);

// Makes what an op keeps between calls for attribute `streams`: an engine whose
// threads are parked while no call runs, or null for one stream.
absl::Status MakeStreams(tensorflow::OpKernelConstruction* context,
                         std::unique_ptr<engine::Engine>* streams);

// The team of the op's device, of TensorFlow's intra-op threads.
std::shared_ptr<Team> TeamOf(tensorflow::OpKernelContext* context);

// Lives for one call. Team and pool may be used by further calls.
class Step {
 public:
  // `engine` is that of two streams, or null for one stream.
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
