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
    std::shared_ptr<Memory> memory;  // Null: the driver allocates.
    // Blocks of eager and lazy stages have as many rows as there are, unless
    // this is not 0.
    int64_t rows_per_block = 0;
    // The cost of one more program. `nanos_per_program` is for its launches,
    // and for the host's wait until it knows whether the weights are finite:
    // the GPU is idle until the host has planned and launched the rest of the
    // direction. `nanos_per_weight_byte` is for looking for infinity and NaN in
    // the weights.
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
