// Memory for dynamic tensors that is kept between steps.
#ifndef CAVS_CC_EXEC_STORAGE_POOL_H_
#define CAVS_CC_EXEC_STORAGE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "cc/exec/guards.h"

namespace cavs {

// One stretch of 64-byte aligned memory, carved front to back. Not thread safe.
class Arena {
 public:
  static constexpr size_t kAlignment = 64;

  // Bytes that Take(bytes) uses up.
  static constexpr size_t Padded(size_t bytes) {
    const size_t whole = bytes / kAlignment * kAlignment;
    if (whole == bytes || whole > SIZE_MAX - kAlignment) return whole;
    return whole + kAlignment;
  }

  // With `guards`, a zone of Guards::kZone bytes follows every buffer.
  Arena(void* data, size_t size, Guards* guards = nullptr)
      : next_(static_cast<char*>(data)), end_(next_ + size), guards_(guards) {}

  // The next `bytes`, or nullptr if they are not left. `name` says whose they
  // are where someone writes behind them.
  void* Take(size_t bytes, std::string_view name = {}) {
    const size_t left = end_ - next_;
    const size_t zone = guards_ == nullptr ? 0 : Guards::kZone;
    if (zone > left || bytes > left - zone || Padded(bytes) > left - zone) {
      return nullptr;
    }
    char* taken = next_;
    next_ += Padded(bytes) + zone;
    if (guards_ != nullptr) guards_->Add(taken + bytes, next_, name);
    return taken;
  }

 private:
  char* next_;
  char* end_;
  Guards* guards_;
};

// Lends buffers and takes them back: a training step uses the memory of the
// step before, because fresh pages from the system each step cost more than the
// computation at small sizes.
//
// Thread safety: Acquire() and the return of buffers may happen on any thread.
// Buffers may outlive the pool; they are then freed on return.
//
// Example:
//   auto pool = std::make_shared<StoragePool>();
//   std::shared_ptr<void> buffer = pool->Acquire(bytes);
//   Arena arena(buffer.get(), bytes);
//   ... // when the last copy of `buffer` goes, the pool has it back
class StoragePool : public std::enable_shared_from_this<StoragePool> {
 public:
  // Any floating-point number of such bytes is NaN.
  static constexpr int kNanByte = 0xFF;

  // If `guarded`, those who use its memory are to put guard zones around their
  // buffers, and what it lends is full of NaN.
  explicit StoragePool(bool guarded = false) : guarded_(guarded) {}
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

  // How often Acquire() had to ask the system: constant in steady state.
  int64_t num_allocations() const;

 private:
  struct Buffer {
    void* data;
    size_t size;
  };

  void Return(Buffer buffer);
  // Waiting buffers to be freed, for `bytes` more to be taken from the system.
  // REQUIRES(mutex_), and so does the next.
  std::vector<Buffer> MakeRoom(size_t bytes);
  size_t WaitingBytes() const;

  const bool guarded_;
  mutable std::mutex mutex_;
  std::vector<Buffer> free_;     // GUARDED_BY(mutex_), the last used last.
  size_t num_lent_ = 0;          // GUARDED_BY(mutex_)
  size_t most_lent_ = 0;         // GUARDED_BY(mutex_)
  size_t lent_bytes_ = 0;        // GUARDED_BY(mutex_)
  size_t peak_bytes_ = 0;        // GUARDED_BY(mutex_)
  int64_t num_allocations_ = 0;  // GUARDED_BY(mutex_)
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_STORAGE_POOL_H_
