// A GPU as the device of an op.
#ifndef CAVS_CC_KERNELS_CUDA_OP_DEVICE_H_
#define CAVS_CC_KERNELS_CUDA_OP_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "cc/device/cuda/cuda_device.h"
#include "cc/device/cuda/cuda_kernels.h"
#include "cc/device/cuda/cuda_stream.h"
#include "cc/device/cuda/cuda_training.h"
#include "cc/kernels/op_device.h"

namespace cavs {

// A CudaOpDevice is a GPU as the device of an op. It works in TensorFlow's
// stream and memory of the GPU.
class CudaOpDevice : public OpDevice {
 public:
  // Makes the device of an op. Returns kUnimplemented, with advice, if the GPU
  // cannot be used.
  static absl::Status Make(tensorflow::OpKernelConstruction* context,
                           bool two_streams,
                           std::unique_ptr<const CudaOpDevice>* device);

  // What GPUs need, and whether it is there: see CudaContext::Report().
  static std::vector<std::string> Report();

  const Device& device() const override { return device_; }

  // What the work of an op is put together with.
  struct Work {
    const CudaKernels& kernels;
    const CudaTraining& training;
    CudaStream* stream;                 // TensorFlow's.
    std::vector<const int32_t*> lists;  // In memory of the GPU.
  };
  // Copies lists to the GPU and calls `work`, which puts work into the stream.
  absl::Status Enqueue(tensorflow::OpKernelContext* context,
                       const std::vector<Span<int32_t>>& lists,
                       absl::FunctionRef<Status(const Work&)> work) const;

 private:
  // The kernels and the second stream that all ops on a GPU share.
  struct Gpu {
    std::shared_ptr<const CudaKernels> kernels;
    std::unique_ptr<const CudaTraining> training;
    // The second stream of steps that have two.
    std::unique_ptr<CudaStream> second;
  };
  class Resource;

  CudaOpDevice(std::shared_ptr<const Gpu> gpu, std::shared_ptr<Memory> memory,
               bool two_streams);

  static absl::Status Open(tensorflow::OpKernelConstruction* context, Gpu* gpu);
  absl::Status RunInStreams(tensorflow::OpKernelContext* context,
                            bool one_stream, StepContext* own,
                            Step step) const override;

  const std::shared_ptr<const Gpu> gpu_;
  const CudaDevice device_;
  const bool two_streams_;
};

// The part of an op on a GPU that puts its work into TensorFlow's stream.
class OpOnGpu {
 public:
  absl::Status Init(tensorflow::OpKernelConstruction* context) {
    return CudaOpDevice::Make(context, /*two_streams=*/false, &device_);
  }

 protected:
  const CudaOpDevice& device() const { return *device_; }

 private:
  std::unique_ptr<const CudaOpDevice> device_;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_CUDA_OP_DEVICE_H_
