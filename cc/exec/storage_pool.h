// Memory for dynamic tensors that is kept between steps.
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

// Lends buffers and takes them back: a training step uses the memory of the
// step before, because fresh pages from the system each step cost more than the
// computation at small sizes.
//
// Thread safety: Acquire() and the return of buffers may happen on any thread.
// Buffers may outlive the pool; they are then freed on return.
//
// Example:
//   auto pool = std::make_shared<StoragePool>(device.memory());
//   std::shared_ptr<void> buffer = pool->Acquire(bytes);
//   ... // when the last copy of `buffer` goes, the pool has it back
class StoragePool : public std::enable_shared_from_this<StoragePool> {
 public:
  // Any floating-point number of such bytes is NaN.
  static constexpr int kNanByte = 0xFF;

  // Of `memory`. If `guarded`, for which it must be the host's, those who use
  // its memory are to put guard zones around their buffers, and what it lends
  // is full of NaN.
  explicit StoragePool(std::shared_ptr<Memory> memory, bool guarded = false)
      : memory_(std::move(memory)), guarded_(guarded) {}
  ~StoragePool();
  StoragePool(const StoragePool&) = delete;
  StoragePool& operator=(const StoragePool&) = delete;

  bool guarded() const { return guarded_; }

  // At least `bytes` of uninitialised memory, or nullptr if the system has
  // none. As many buffers are kept for later as were ever lent at once, or a
  // few more, and no more bytes than that, or an eighth more.
  std::shared_ptr<void> Acquire(size_t bytes);

  // What could be lent without asking the system.
  size_t waiting_bytes() const;

  // The most that was ever lent at once, as large as the buffers are.
  size_t peak_bytes() const;

  // The same, as large as was asked for, rounded up to Memory::kAlignment.
  size_t peak_asked_bytes() const;

  // Could as much be lent? Asks the system only if the pool has to grow.
  bool MayLend(size_t bytes) const;

  // How often Acquire() had to ask the system: constant in steady state.
  int64_t num_allocations() const;

 private:
  struct Buffer {
    void* data;
    size_t size;
    size_t asked;
  };

  void Return(Buffer buffer);
  // Waiting buffers to be freed, for `bytes` more to be taken from the system.
  // REQUIRES(mutex_), and so does the next.
  std::vector<Buffer> MakeRoom(size_t bytes);
  size_t WaitingBytes() const;

  const std::shared_ptr<Memory> memory_;
  const bool guarded_;
  mutable std::mutex mutex_;
  std::vector<Buffer> free_;  // GUARDED_BY(mutex_), the last used last.
  size_t num_lent_ = 0;       // GUARDED_BY(mutex_)
  size_t most_lent_ = 0;      // GUARDED_BY(mutex_)
  size_t lent_bytes_ = 0;     // GUARDED_BY(mutex_)
  size_t peak_bytes_ = 0;     // GUARDED_BY(mutex_)
  size_t asked_bytes_ = 0, peak_asked_bytes_ = 0;  // GUARDED_BY(mutex_)
  int64_t num_allocations_ = 0;                    // GUARDED_BY(mutex_)
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_STORAGE_POOL_H_
