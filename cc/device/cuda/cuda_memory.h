// Memory of a GPU, and memory of the host that a GPU can copy from.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_MEMORY_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_MEMORY_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/device/cuda/cuda_context.h"
#include "cc/device/memory.h"

namespace cavs {

// Memory that the driver allocates. A framework that has taken the GPU's memory
// passes its own instead.
class CudaMemory : public Memory {
 public:
  explicit CudaMemory(std::shared_ptr<const CudaContext> context)
      : context_(std::move(context)) {}

  void* Allocate(size_t bytes) override;
  void Free(void* data, size_t bytes) override;
  bool MayProvide(size_t bytes) const override;
  bool is_host() const override { return false; }

 private:
  const std::shared_ptr<const CudaContext> context_;
};

// Buffers of pinned memory of the host. A buffer that is given back is lent
// again when the stream that copies from it has passed.
//
// Thread safety: any thread may call any method at any time.
class PinnedBuffers {
 public:
  explicit PinnedBuffers(std::shared_ptr<const CudaContext> context)
      : context_(std::move(context)) {}

  struct Buffer {
    explicit Buffer(const CudaContext& context) : context(context) {}
    Buffer(const Buffer&) = delete;
    ~Buffer();

    const CudaContext& context;
    void* data = nullptr;
    size_t size = 0;
    CudaEventHandle passed = nullptr;
  };
  // Lends at least `bytes` bytes. The context must be current.
  Status Take(size_t bytes, std::unique_ptr<Buffer>* buffer);
  // Work in the stream up to this point may still read the buffer.
  Status GiveBack(std::unique_ptr<Buffer> buffer, CudaStreamHandle stream);

 private:
  const std::shared_ptr<const CudaContext> context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> waiting_;  // GUARDED_BY(mutex_)
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_MEMORY_H_
