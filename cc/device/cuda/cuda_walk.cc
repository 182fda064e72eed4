#include "cc/device/cuda/cuda_walk.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace cavs {
namespace {

// Fewer launches take less long than to compile and to begin a walk.
constexpr size_t kFewestSteps = 6;
constexpr size_t kGrain = 16;

struct WalkArgs {
  CudaAddress steps, arguments, counter;
  int num_steps;
};

size_t Rounded(size_t bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

}  // namespace

int CudaWalk::NumberOf(const CudaFoundKernel& kernel) {
  const auto found = std::find(kernels_.begin(), kernels_.end(), &kernel);
  const auto number = static_cast<int>(found - kernels_.begin());
  if (found == kernels_.end()) kernels_.push_back(&kernel);
  return number;
}

size_t CudaWalk::Append(const void* arguments, size_t bytes) {
  const size_t begin = arguments_.size();
  const char* const first = static_cast<const char*>(arguments);
  arguments_.insert(arguments_.end(), first, first + bytes);
  arguments_.resize(begin + Rounded(bytes));
  return begin;
}

void CudaWalk::Add(const CudaFoundKernel& kernel, const CudaGrid& grid,
                   const void* arguments, size_t bytes) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  const size_t begin = Append(arguments, bytes);
  steps_.push_back({NumberOf(kernel), static_cast<int>(grid.x),
                    static_cast<int>(grid.y), static_cast<int>(grid.z),
                    static_cast<int64_t>(begin),
                    static_cast<int>((bytes + 3) / 4)});
  launches_.push_back({&kernel, grid, begin, bytes});
}

void CudaWalk::AddBehind(const CudaFoundKernel& kernel, const void* arguments,
                         size_t bytes) {
  const size_t begin = Append(arguments, bytes);
  Step& step = steps_.back();
  step.then = NumberOf(kernel);
  step.then_arguments = static_cast<int>(begin - step.arguments);
  step.num_words = static_cast<int>((step.then_arguments + bytes + 3) / 4);
  launches_.push_back({&kernel, launches_.back().grid, begin, bytes});
}

Status CudaWalk::Run(const CudaKernels& kernels, CudaStreamHandle stream) {
  CudaFunction function = nullptr;
  unsigned shared_bytes = 0;
  Status status;
  if (launches_.size() >= kFewestSteps) {
    status = BindKernel(kernels, &function, &shared_bytes);
  }
  if (status.ok()) {
    status = function == nullptr
                 ? RunOneByOne(kernels, stream)
                 : RunTogether(kernels, function, shared_bytes, stream);
  }
  kernels_.clear();
  steps_.clear();
  launches_.clear();
  arguments_.clear();
  return status;
}

// Kernels read no more of their arguments than was collected.
Status CudaWalk::RunOneByOne(const CudaKernels& kernels,
                             CudaStreamHandle stream) const {
  std::vector<char> arguments(kCudaWalkArgumentBytes);
  for (const Launch& launch : launches_) {
    std::memcpy(arguments.data(), arguments_.data() + launch.begin,
                launch.bytes);
    CAVS_RETURN_IF_ERROR(kernels.Launch(*launch.kernel, launch.grid, stream,
                                        arguments.data(), launch.bytes));
  }
  return Status();
}

Status CudaWalk::BindKernel(const CudaKernels& kernels, CudaFunction* function,
                            unsigned* shared_bytes) {
  const CudaContext& context = kernels.context();
  if (!context.launches_cooperatively()) return Status();
  CudaFunction found;
  std::vector<CudaTextKernel> different;
  for (const CudaFoundKernel* own : kernels_) {
    different.push_back(own->kernel());
  }
  std::vector<int> numbers;
  CAVS_RETURN_IF_ERROR(context.FindWalk(different, &found, &numbers));
  for (Step& step : steps_) {
    step.kernel = numbers[step.kernel];
    if (step.then >= 0) step.then = numbers[step.then];
  }
  for (const Launch& launch : launches_) {
    *shared_bytes = std::max(*shared_bytes, launch.grid.shared_bytes);
  }
  *shared_bytes += kCudaWalkArgumentBytes;
  int blocks = 0;
  const CudaResult result =
      context.driver().OccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, found, kCudaThreads, *shared_bytes);
  if (result == 0 && blocks > 0) *function = found;
  return Status();
}

// In one copy: the counter of the barrier, the steps, and their arguments.
Status CudaWalk::RunTogether(const CudaKernels& kernels, CudaFunction function,
                             unsigned shared_bytes,
                             CudaStreamHandle stream) const {
  const CudaDriver& driver = kernels.context().driver();
  const size_t steps = kGrain;
  const size_t arguments = steps + Rounded(steps_.size() * sizeof(Step));
  const size_t bytes = arguments + arguments_.size();
  std::unique_ptr<PinnedBuffers::Buffer> buffer;
  CAVS_RETURN_IF_ERROR(
      kernels.pinned().Take(bytes, &buffer, /*on_device=*/true));
  char* const begin = static_cast<char*>(buffer->data);
  std::memset(begin, 0, kGrain);
  std::memcpy(begin + steps, steps_.data(), steps_.size() * sizeof(Step));
  std::memcpy(begin + arguments, arguments_.data(), arguments_.size());
  Status status = driver.Check(
      driver.MemcpyHtoDAsync(buffer->on_device, begin, bytes, stream),
      "copying to the GPU");
  if (status.ok()) {
    WalkArgs own = {buffer->on_device + steps, buffer->on_device + arguments,
                    buffer->on_device, static_cast<int>(steps_.size())};
    void* pointers[] = {&own};
    const auto blocks =
        static_cast<unsigned>(kernels.context().num_processors());
    const CudaResult result =
        driver.LaunchCooperativeKernel(function, blocks, 1, 1, kCudaThreads, 1,
                                       1, shared_bytes, stream, pointers);
    // Other processes may have a part of the GPU.
    status = result == kCudaCooperativeLaunchTooLarge
                 ? RunOneByOne(kernels, stream)
                 : driver.Check(result, "a cooperative launch");
  }
  const Status returned = kernels.pinned().GiveBack(std::move(buffer), stream);
  return status.ok() ? returned : status;
}

}  // namespace cavs
