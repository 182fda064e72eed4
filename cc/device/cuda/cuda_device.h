// The device of NVIDIA's GPUs.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_DEVICE_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_DEVICE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/device/cuda/cuda_kernels.h"
#include "cc/device/device.h"

namespace cavs {

// Runs programs by kernels that are compiled for them when they first run. Its
// streams are CudaStreams.
class CudaDevice : public Device {
 public:
  struct Options {
    std::shared_ptr<Memory> memory;  // Null: what the driver allocates.
    // Blocks of eager and lazy stages have as many rows as there are, unless
    // this is not 0.
    int64_t rows_per_block = 0;
    // What one more program costs: its launches, and that the host waits to
    // know whether its weights are finite, while the GPU has nothing to do
    // until the rest of the direction is planned and launched; and looking for
    // infinity and NaN in a byte of its weights.
    double nanos_per_program = 150000;
    double nanos_per_weight_byte = 0.002;
  };

  CudaDevice(std::shared_ptr<const CudaKernels> kernels, Options options);

  Capabilities capabilities() const override;
  std::shared_ptr<Memory> memory() const override { return options_.memory; }
  int64_t RowsPerBlock(int64_t bytes_per_row) const override;
  double NanosPerProgram(int64_t weight_bytes) const override;
  Status Upload(const std::vector<Span<int32_t>>& lists, Stream* stream,
                std::shared_ptr<void>* memory,
                std::vector<const int32_t*>* on_device) const override;
  std::unique_ptr<Executable> Compile(
      const CompiledProgram& program) const override;

 private:
  const std::shared_ptr<const CudaKernels> kernels_;
  Options options_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_DEVICE_H_
