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

// A list begins at a multiple of four numbers.
size_t CudaDevice::BytesOfList(int64_t length) const {
  constexpr int64_t kGrain = 4;
  return (length + kGrain - 1) / kGrain * kGrain * sizeof(int32_t);
}

// All lists in one copy.
Status CudaDevice::Upload(const std::vector<Span<int32_t>>& lists, void* memory,
                          Stream* stream,
                          std::vector<const int32_t*>* on_device) const {
  const size_t bytes = BytesOfLists(lists);
  std::vector<int32_t> all;
  all.reserve(bytes / sizeof(int32_t));
  for (const Span<int32_t>& list : lists) {
    on_device->push_back(static_cast<const int32_t*>(memory) + all.size());
    all.insert(all.end(), list.begin(), list.end());
    all.resize(BytesOfList(all.size()) / sizeof(int32_t));
  }
  return static_cast<CudaStream*>(stream)->CopyIn(memory, all.data(), bytes);
}

std::unique_ptr<Executable> CudaDevice::Compile(
    const CompiledProgram& program) const {
  return std::make_unique<CudaExecutable>(program, kernels_, options_.memory);
}

}  // namespace cavs
