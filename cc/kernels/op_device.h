// The device on which TensorFlow has put an op, as the op uses it.
#ifndef CAVS_CC_KERNELS_OP_DEVICE_H_
#define CAVS_CC_KERNELS_OP_DEVICE_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "cc/device/device.h"
#include "cc/exec/step_context.h"
#include "cc/exec/storage_pool.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// Reads and checks attribute `streams`.
absl::Status ReadStreams(tensorflow::OpKernelConstruction* context, int* count);

// An OpDevice is the device on which an op runs. The op owns it.
//
// Thread safety: any thread may call any method at any time.
class OpDevice {
 public:
  using Step = absl::FunctionRef<Status(const StepContext&)>;

  // Makes the device of an op, for steps in so many streams.
  static absl::Status Make(tensorflow::OpKernelConstruction* context,
                           int streams,
                           std::unique_ptr<const OpDevice>* device);
  virtual ~OpDevice() = default;

  virtual const Device& device() const = 0;
  // The name of TensorFlow's device if no other can use its memory; else empty.
  std::string NameOfMemory(tensorflow::OpKernelContext* context) const;
  // Returns a new pool of the device's memory.
  std::shared_ptr<StoragePool> NewPool() const;

  // Calls `step` with the context of one call of the op: memory of `pool`, and
  // as many streams of the device as Make() was told, or one if `one_stream` is
  // set. The work of the step may not be done when this
  // function returns, but it is done before any work that TensorFlow puts into
  // the device's own stream afterwards.
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
