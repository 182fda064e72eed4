// Device memory that is kept between steps.
#ifndef CAVS_CC_EXEC_STORAGE_POOL_H_
#define CAVS_CC_EXEC_STORAGE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "cc/device/memory.h"

namespace cavs {

// Lends buffers and takes them back, so that a training step reuses the memory
// of the step before: at small sizes, fresh pages from the system would cost
// more than the computation.
//
// Thread safety: Acquire() and the return of buffers may happen on any thread.
// Buffers may outlive the pool; they are then freed on return.
//
// Example:
//   auto pool = std::make_shared<StoragePool>(device.memory());
//   std::shared_ptr<void> buffer = pool->Acquire(bytes);
//   ... // The pool gets the buffer back with its last copy.
class StoragePool : public std::enable_shared_from_this<StoragePool> {
 public:
  // A floating-point number is NaN if all its bytes are this one.
  static constexpr int kNanByte = 0xFF;

  // A pool of `memory`. If `guarded`, for which it must be host memory, users
  // are to put guard zones around their buffers, and buffers are lent full of
  // NaN.
  explicit StoragePool(std::shared_ptr<Memory> memory, bool guarded = false)
      : memory_(std::move(memory)), guarded_(guarded) {}
  ~StoragePool();
  StoragePool(const StoragePool&) = delete;
  StoragePool& operator=(const StoragePool&) = delete;

  bool guarded() const { return guarded_; }

  // At least `bytes` of uninitialised memory, or nullptr if the system has
  // none. The pool keeps at most kSpare buffers more than were ever lent at
  // once, and at most an eighth more bytes.
  std::shared_ptr<void> Acquire(size_t bytes);

  // Bytes that could be lent without asking the system.
  size_t waiting_bytes() const;

  // The most bytes that were ever lent at once, counting whole buffers.
  size_t peak_bytes() const;

  // The same, counting the bytes that were asked for, rounded up to
  // Memory::kAlignment.
  size_t peak_asked_bytes() const;

  // Whether so many bytes could be lent. Asks the system only if the pool has
  // to grow.
  bool MayLend(size_t bytes) const;

  // How often Acquire() had to ask the system; constant in steady state.
  int64_t num_allocations() const;

 private:
  struct Buffer {
    void* data;
    size_t size;
    size_t asked;
  };

  void Return(Buffer buffer);
  // Removes the buffers to be freed before `bytes` more are taken from the
  // system. This and the next method REQUIRE that mutex_ is held.
  std::vector<Buffer> MakeRoom(size_t bytes);
  size_t WaitingBytes() const;

  const std::shared_ptr<Memory> memory_;
  const bool guarded_;
  mutable std::mutex mutex_;
  std::vector<Buffer> free_;  // GUARDED_BY(mutex_); the last used is last.
  size_t num_lent_ = 0;       // GUARDED_BY(mutex_)
  size_t most_lent_ = 0;      // GUARDED_BY(mutex_)
  size_t lent_bytes_ = 0;     // GUARDED_BY(mutex_)
  size_t peak_bytes_ = 0;     // GUARDED_BY(mutex_)
  size_t asked_bytes_ = 0, peak_asked_bytes_ = 0;  // GUARDED_BY(mutex_)
  int64_t num_allocations_ = 0;                    // GUARDED_BY(mutex_)
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_STORAGE_POOL_H_
