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
// What a walk takes of the GPU's memory. About a thousand tasks fit; to launch
// another for the next ones takes less than a hundredth of their time.
constexpr size_t kMostBytes = 1 << 20;
// Room for the arguments of about a dozen tasks.
constexpr size_t kUsualBytes = 1 << 15;

struct WalkArgs {
  CudaAddress steps, arguments, counter;
  int num_steps;
};

constexpr size_t Rounded(size_t bytes) {
  return (bytes + kGrain - 1) / kGrain * kGrain;
}

}  // namespace

int CudaWalk::NumberOf(const CudaFoundKernel& kernel) {
  const auto found = std::find(kernels_.begin(), kernels_.end(), &kernel);
  const auto number = static_cast<int>(found - kernels_.begin());
  if (found == kernels_.end()) kernels_.push_back(&kernel);
  return number;
}

size_t CudaWalk::Append(const void* arguments, size_t bytes) {
  if (arguments_.empty()) arguments_.reserve(kUsualBytes);
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

size_t CudaWalk::BytesOf(int64_t launches) {
  constexpr size_t kStep = Rounded(sizeof(Step)) + kCudaWalkArgumentBytes;
  return launches == 0
             ? 0
             : std::min(kMostBytes, Memory::Padded(kGrain + launches * kStep));
}

Status CudaWalk::Run(const CudaKernels& kernels, CudaStreamHandle stream,
                     void* memory, size_t bytes) {
  CudaFunction function = nullptr;
  unsigned shared_bytes = 0;
  Status status;
  if (launches_.size() >= kFewestSteps && memory != nullptr) {
    status = BindKernel(kernels, &function, &shared_bytes);
  }
  bool fits = function != nullptr;
  size_t first = 0;
  while (status.ok() && fits && first < steps_.size()) {
    size_t end = first + 1;
    while (end < steps_.size() && BytesOfSteps(first, end + 1) <= bytes) ++end;
    status = RunTogether(kernels, function, shared_bytes, stream, memory, first,
                         end, &fits);
    if (fits) first = end;
  }
  if (status.ok() && !fits) {
    status = RunOneByOne(kernels, stream, ArgumentsOf(first));
  }
  kernels_.clear();
  steps_.clear();
  launches_.clear();
  arguments_.clear();
  return status;
}

// Kernels read no more of their arguments than was collected.
Status CudaWalk::RunOneByOne(const CudaKernels& kernels,
                             CudaStreamHandle stream, size_t first) const {
  std::vector<char> arguments(kCudaWalkArgumentBytes);
  for (const Launch& launch : launches_) {
    if (launch.begin < first) continue;
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

size_t CudaWalk::BytesOfSteps(size_t first, size_t end) const {
  return kGrain + Rounded((end - first) * sizeof(Step)) + ArgumentsOf(end) -
         ArgumentsOf(first);
}

// In one copy: the counter of the barrier, the steps, and their arguments.
Status CudaWalk::RunTogether(const CudaKernels& kernels, CudaFunction function,
                             unsigned shared_bytes, CudaStreamHandle stream,
                             void* memory, size_t first, size_t end,
                             bool* fits) const {
  const CudaDriver& driver = kernels.context().driver();
  const size_t bytes = BytesOfSteps(first, end);
  const size_t begin_of_arguments = ArgumentsOf(first);
  const size_t size_of_arguments = ArgumentsOf(end) - begin_of_arguments;
  const size_t arguments = bytes - size_of_arguments;
  std::unique_ptr<PinnedBuffers::Buffer> buffer;
  CAVS_RETURN_IF_ERROR(kernels.pinned().Take(bytes, &buffer));
  char* const begin = static_cast<char*>(buffer->data);
  std::memset(begin, 0, kGrain);
  std::memcpy(begin + kGrain, &steps_[first], (end - first) * sizeof(Step));
  std::memcpy(begin + arguments, &arguments_[begin_of_arguments],
              size_of_arguments);
  const auto there = reinterpret_cast<CudaAddress>(memory);
  Status status =
      driver.Check(driver.MemcpyHtoDAsync(there, begin, bytes, stream),
                   "copying to the GPU");
  if (status.ok()) {
    WalkArgs own = {there + kGrain, there + arguments - begin_of_arguments,
                    there, static_cast<int>(end - first)};
    void* pointers[] = {&own};
    const auto blocks =
        static_cast<unsigned>(kernels.context().num_processors());
    const CudaResult result =
        driver.LaunchCooperativeKernel(function, blocks, 1, 1, kCudaThreads, 1,
                                       1, shared_bytes, stream, pointers);
    // Other processes may have a part of the GPU.
    *fits = result != kCudaCooperativeLaunchTooLarge;
    if (*fits) status = driver.Check(result, "a cooperative launch");
  }
  const Status returned = kernels.pinned().GiveBack(std::move(buffer), stream);
  return status.ok() ? returned : status;
}

}  // namespace cavs
