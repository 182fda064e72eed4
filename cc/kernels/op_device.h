// The device that TensorFlow has put an op on, as the op uses it.
#ifndef CAVS_CC_KERNELS_OP_DEVICE_H_
#define CAVS_CC_KERNELS_OP_DEVICE_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "cc/device/device.h"
#include "cc/exec/step_context.h"
#include "cc/exec/storage_pool.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// Reads and checks attribute `streams`.
absl::Status ReadStreams(tensorflow::OpKernelConstruction* context, int* count);

// Lives as long as the op.
//
// Thread safety: any thread may call any method at any time.
class OpDevice {
 public:
  using Step = absl::FunctionRef<Status(const StepContext&)>;

  // The device of an op that has an attribute `streams`.
  static absl::Status Make(tensorflow::OpKernelConstruction* context,
                           std::unique_ptr<const OpDevice>* device);
  virtual ~OpDevice() = default;

  virtual const Device& device() const = 0;
  // A new pool of the device's memory.
  std::shared_ptr<StoragePool> NewPool() const;

  // Calls `step` with what one call of the op runs with: memory of `pool`, and
  // streams of the device; one, or as many as attribute `streams` says. The
  // step's work is done before any work that TensorFlow puts into the device's
  // own stream afterwards, though perhaps not when this returns.
  absl::Status Run(tensorflow::OpKernelContext* context, StoragePool* pool,
                   bool one_stream, Step step) const;

 private:
  // Sets the streams of the step and calls it.
  virtual absl::Status RunInStreams(tensorflow::OpKernelContext* context,
                                    bool one_stream, StepContext* own,
                                    Step step) const = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_OP_DEVICE_H_
