// What one call of an op computes with.
#ifndef CAVS_CC_KERNELS_STEP_H_
#define CAVS_CC_KERNELS_STEP_H_

#include <memory>

#include "absl/status/status.h"
#include "cc/backend/cpu/cpu_backend.h"
#include "cc/backend/team.h"
#include "cc/backend/workers.h"
#include "cc/core/program_run.h"
#include "cc/core/storage_pool.h"
#include "cc/engine/engine.h"
#include "cc/kernels/profiler_tracer.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// What an op keeps between calls.
struct Kept {
  std::shared_ptr<StoragePool> pool = std::make_shared<StoragePool>();
  // Its threads are parked while no call runs. Null: one stream.
  std::unique_ptr<engine::Engine> streams;
};

// Reads attribute `streams`.
absl::Status MakeKept(tensorflow::OpKernelConstruction* context, Kept* kept);

// TensorFlow's intra-op threads.
std::shared_ptr<Team> MakeTeam(tensorflow::OpKernelContext* context);

// For the length of one call, a team that may go on with another.
class Step {
 public:
  Step(tensorflow::OpKernelContext* context, const Kept& kept,
       std::shared_ptr<Team> team);
  Step(const Step&) = delete;

  const Environment& environment() const { return environment_; }

 private:
  const std::shared_ptr<Team> team_;
  SerialWorkers alone_;
  const CpuBackend backend_, serial_;
  ProfilerTracer tracer_;
  Environment environment_;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_STEP_H_
