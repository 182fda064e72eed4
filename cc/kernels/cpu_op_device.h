// The CPU as the device of an op.
#ifndef CAVS_CC_KERNELS_CPU_OP_DEVICE_H_
#define CAVS_CC_KERNELS_CPU_OP_DEVICE_H_

#include <memory>

#include "cc/device/cpu/cpu_device.h"
#include "cc/engine/engine.h"
#include "cc/kernels/op_device.h"

namespace cavs {

// A CpuOpDevice is the CPU as the device of an op. Its workers are TensorFlow's
// intra-op threads.
class CpuOpDevice : public OpDevice {
 public:
  explicit CpuOpDevice(bool two_streams);

  const Device& device() const override { return device_; }

 private:
  absl::Status RunInStreams(tensorflow::OpKernelContext* context,
                            bool one_stream, StepContext* own,
                            Step step) const override;

  const CpuDevice device_;
  // The engine that runs two streams, whose threads sleep while no call runs.
  // It is null if there is one stream.
  const std::unique_ptr<engine::Engine> engine_;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_CPU_OP_DEVICE_H_
