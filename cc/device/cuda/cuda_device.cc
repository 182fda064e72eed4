#include "cc/device/cuda/cuda_device.h"

#include <algorithm>
#include <utility>

#include "cc/device/cuda/cuda_program.h"
#include "cc/device/cuda/cuda_stream.h"

namespace cavs {

CudaDevice::CudaDevice(std::shared_ptr<const CudaKernels> kernels,
                       Options options)
    : kernels_(std::move(kernels)), options_(std::move(options)) {
  if (options_.memory != nullptr) return;
  // The context outlives the memory that it has allocated.
  options_.memory = std::make_shared<CudaMemory>(kernels_->shared_context());
}

Capabilities CudaDevice::capabilities() const {
  Capabilities own;
  own.column_grain = 8;  // Aligned for loads of four elements of any type.
  own.most_indexed_columns = INT64_MAX;
  own.asks_if_finite = false;  // The host would have to wait for the answer.
  return own;
}

int64_t CudaDevice::RowsPerBlock(int64_t) const {
  return options_.rows_per_block > 0 ? options_.rows_per_block
                                     : int64_t{1} << 40;
}

double CudaDevice::NanosPerProgram(int64_t) const {
  return options_.nanos_per_program;
}

// All lists in one copy. A list begins at a multiple of four numbers.
Status CudaDevice::Upload(const std::vector<Span<int32_t>>& lists,
                          Stream* stream, std::shared_ptr<void>* memory,
                          std::vector<const int32_t*>* on_device) const {
  constexpr size_t kGrain = 4;
  size_t most = 0;
  for (const Span<int32_t>& list : lists) most += list.size() + kGrain;
  std::vector<int32_t> all;
  all.reserve(most);
  std::vector<size_t> begins;
  for (const Span<int32_t>& list : lists) {
    begins.push_back(all.size());
    all.insert(all.end(), list.begin(), list.end());
    all.resize((all.size() + kGrain - 1) / kGrain * kGrain);
  }
  const size_t bytes = Memory::Padded(all.size() * sizeof(int32_t) + 1);
  void* const data = options_.memory->Allocate(bytes);
  if (data == nullptr) {
    return kernels_->context().driver().Check(
        kCudaOutOfMemory, "taking memory for lists of rows");
  }
  *memory =
      std::shared_ptr<void>(data, [memory = options_.memory, bytes](void* own) {
        memory->Free(own, bytes);
      });
  for (const size_t begin : begins) {
    on_device->push_back(static_cast<const int32_t*>(data) + begin);
  }
  return static_cast<CudaStream*>(stream)->CopyIn(data, all.data(),
                                                  all.size() * sizeof(int32_t));
}

std::unique_ptr<Executable> CudaDevice::Compile(
    const CompiledProgram& program) const {
  return std::make_unique<CudaExecutable>(program, kernels_, options_.memory);
}

}  // namespace cavs
