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

PinnedBuffers::~PinnedBuffers() {
  const CudaContext::Current current(*context_);
  for (const Buffer& buffer : waiting_) {
    context_->driver().EventSynchronize(buffer.passed);
    context_->driver().EventDestroy(buffer.passed);
    context_->driver().MemFreeHost(buffer.data);
    if (buffer.on_device != 0) context_->driver().MemFree(buffer.on_device);
  }
}

Status PinnedBuffers::Take(size_t bytes, Buffer* buffer, bool on_device) {
  const CudaDriver& driver = context_->driver();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (it->size < bytes || (it->on_device != 0) != on_device ||
          driver.EventQuery(it->passed) != 0) {
        continue;
      }
      *buffer = *it;
      waiting_.erase(it);
      return Status();
    }
  }
  buffer->size = std::max(bytes + bytes / 2, kSmallestBuffer);
  CAVS_RETURN_IF_ERROR(
      driver.Check(driver.MemHostAlloc(&buffer->data, buffer->size, 0),
                   "taking pinned memory"));
  if (on_device) {
    CAVS_RETURN_IF_ERROR(
        driver.Check(driver.MemAlloc(&buffer->on_device, buffer->size),
                     "taking memory for the arguments of kernels"));
  }
  return driver.Check(
      driver.EventCreate(&buffer->passed, kCudaEventDisableTiming),
      "making an event");
}

Status PinnedBuffers::GiveBack(Buffer buffer, CudaStreamHandle stream) {
  const Status status = context_->driver().Check(
      context_->driver().EventRecord(buffer.passed, stream),
      "recording an event");
  std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(buffer);
  return status;
}

}  // namespace cavs
