// What one call of an op computes with.
#ifndef CAVS_CC_KERNELS_STEP_H_
#define CAVS_CC_KERNELS_STEP_H_

#include <memory>

#include "absl/status/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/team.h"
#include "cc/device/cpu/workers.h"
#include "cc/engine/engine.h"
#include "cc/exec/program_run.h"
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
  Step(tensorflow::OpKernelContext* context, engine::Engine* streams,
       std::shared_ptr<Team> team, std::shared_ptr<StoragePool> pool);
  Step(const Step&) = delete;

  const Environment& environment() const { return environment_; }

 private:
  const std::shared_ptr<Team> team_;
  const std::shared_ptr<StoragePool> pool_;
  SerialWorkers alone_;
  const CpuBackend backend_, serial_;
  ProfilerTracer tracer_;
  Environment environment_;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_STEP_H_
