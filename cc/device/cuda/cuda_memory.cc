#include "cc/device/cuda/cuda_memory.h"

#include <algorithm>

namespace cavs {
namespace {

constexpr size_t kSmallestBuffer = 1 << 16;

}  // namespace

void* CudaMemory::Allocate(size_t bytes) {
  const CudaContext::Current current(*context_);
  CudaAddress data = 0;
  const CudaResult result =
      context_->driver().MemAlloc(&data, std::max(bytes, kAlignment));
  return result == 0 ? reinterpret_cast<void*>(data) : nullptr;
}

void CudaMemory::Free(void* data, size_t) {
  const CudaContext::Current current(*context_);
  context_->driver().MemFree(reinterpret_cast<CudaAddress>(data));
}

bool CudaMemory::MayProvide(size_t bytes) const {
  const CudaContext::Current current(*context_);
  size_t free = 0, total = 0;
  const CudaResult result = context_->driver().MemGetInfo(&free, &total);
  return result != 0 || bytes <= free;
}

PinnedBuffers::Buffer::~Buffer() {
  const CudaContext::Current current(context);
  const CudaDriver& driver = context.driver();
  if (passed != nullptr) {
    driver.EventSynchronize(passed);
    driver.EventDestroy(passed);
  }
  if (data != nullptr) driver.MemFreeHost(data);
}

Status PinnedBuffers::Take(size_t bytes, std::unique_ptr<Buffer>* buffer) {
  const CudaDriver& driver = context_->driver();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      const Buffer& own = **it;
      if (own.size < bytes || driver.EventQuery(own.passed) != 0) continue;
      *buffer = std::move(*it);
      waiting_.erase(it);
      return Status();
    }
  }
  auto made = std::make_unique<Buffer>(*context_);
  made->size = std::max(bytes + bytes / 2, kSmallestBuffer);
  CAVS_RETURN_IF_ERROR(driver.Check(
      driver.MemHostAlloc(&made->data, made->size, 0), "taking pinned memory"));
  CAVS_RETURN_IF_ERROR(
      driver.Check(driver.EventCreate(&made->passed, kCudaEventDisableTiming),
                   "making an event"));
  *buffer = std::move(made);
  return Status();
}

Status PinnedBuffers::GiveBack(std::unique_ptr<Buffer> buffer,
                               CudaStreamHandle stream) {
  const CudaDriver& driver = context_->driver();
  const Status status = driver.Check(driver.EventRecord(buffer->passed, stream),
                                     "recording an event");
  // Nothing else says when the stream has passed.
  if (!status.ok()) driver.StreamSynchronize(stream);
  std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(buffer));
  return status;
}

}  // namespace cavs
