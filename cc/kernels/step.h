// What one call of an op computes with.
#ifndef CAVS_CC_KERNELS_STEP_H_
#define CAVS_CC_KERNELS_STEP_H_

#include "cc/backend/cpu/cpu_backend.h"
#include "cc/backend/team.h"
#include "cc/backend/workers.h"
#include "cc/core/program_run.h"
#include "cc/core/storage_pool.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// TensorFlow's intra-op threads as a team, for the length of one call.
class Step {
 public:
  Step(tensorflow::OpKernelContext* context, StoragePool* pool);
  Step(const Step&) = delete;

  const Environment& environment() const { return environment_; }

 private:
  Team team_;
  SerialWorkers alone_;
  const CpuBackend backend_, serial_;
  Environment environment_;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_STEP_H_
