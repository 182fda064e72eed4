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
    // The cost of one more program in a step: that of its launches besides
    // those of Executable::Nanos().
    double nanos_per_program = 30000;
  };

  CudaDevice(std::shared_ptr<const CudaKernels> kernels, Options options);

  Capabilities capabilities() const override;
  std::shared_ptr<Memory> memory() const override { return options_.memory; }
  int64_t RowsPerBlock(int64_t bytes_per_row) const override;
  double NanosPerProgram(int64_t weight_bytes) const override;
  size_t BytesOfList(int64_t length) const override;
  Status Upload(const std::vector<Span<int32_t>>& lists, void* memory,
                Stream* stream,
                std::vector<const int32_t*>* on_device) const override;
  std::unique_ptr<Executable> Compile(
      const CompiledProgram& program) const override;

 private:
  const std::shared_ptr<const CudaKernels> kernels_;
  Options options_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_DEVICE_H_
