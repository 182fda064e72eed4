#include "cc/exec/storage_pool.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace cavs {
namespace {

// A buffer that is more than so many times larger than needed is left for a
// larger step.
constexpr size_t kMaxSlack = 8;
// So many more buffers may wait than were ever lent at once.
constexpr size_t kSpare = 4;
// More than any system has, with room to round up.
constexpr size_t kMaxBytes = SIZE_MAX / 4;

}  // namespace

StoragePool::~StoragePool() {
  for (const Buffer& buffer : free_) memory_->Free(buffer.data, buffer.size);
}

std::shared_ptr<void> StoragePool::Acquire(size_t bytes) {
  if (bytes > kMaxBytes) return nullptr;
  const size_t asked = Memory::Padded(bytes);
  bytes = std::max(asked, Memory::kAlignment);
  Buffer found{nullptr, 0, 0};
  std::vector<Buffer> evicted;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // Find the smallest buffer that fits.
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const bool fits = it->size >= bytes && it->size / kMaxSlack <= bytes;
      if (fits && (best == free_.end() || it->size < best->size)) best = it;
    }
    if (best != free_.end()) {
      found = *best;
      free_.erase(best);
    } else {
      ++num_allocations_;
      // Slightly larger than asked for, so that minibatches of similar size
      // reuse it.
      found.size = Memory::Padded(bytes + bytes / 8);
      evicted = MakeRoom(found.size);
    }
  }
  for (const Buffer& buffer : evicted) {
    memory_->Free(buffer.data, buffer.size);
  }
  found.asked = asked;
  if (found.data == nullptr) {
    found.data = memory_->Allocate(found.size);
    if (found.data == nullptr) return nullptr;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    most_lent_ = std::max(most_lent_, ++num_lent_);
    lent_bytes_ += found.size;
    peak_bytes_ = std::max(peak_bytes_, lent_bytes_);
    asked_bytes_ += found.asked;
    peak_asked_bytes_ = std::max(peak_asked_bytes_, asked_bytes_);
  }
  if (guarded_) std::memset(found.data, kNanByte, found.size);
  std::weak_ptr<StoragePool> pool = weak_from_this();
  return std::shared_ptr<void>(
      found.data, [pool, found, memory = memory_](void*) {
        if (std::shared_ptr<StoragePool> alive = pool.lock()) {
          alive->Return(found);
        } else {
          memory->Free(found.data, found.size);
        }
      });
}

std::vector<StoragePool::Buffer> StoragePool::MakeRoom(size_t bytes) {
  const size_t lent = lent_bytes_ + bytes;
  const size_t most = std::max(peak_bytes_, lent);
  size_t held = lent + WaitingBytes();
  std::vector<Buffer> evicted;
  while (!free_.empty() && held > most + most / kMaxSlack) {
    evicted.push_back(free_.front());  // The least recently used buffer.
    free_.erase(free_.begin());
    held -= evicted.back().size;
  }
  return evicted;
}

size_t StoragePool::WaitingBytes() const {
  size_t bytes = 0;
  for (const Buffer& buffer : free_) bytes += buffer.size;
  return bytes;
}

void StoragePool::Return(Buffer buffer) {
  Buffer evicted{nullptr, 0, 0};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    --num_lent_;
    lent_bytes_ -= buffer.size;
    asked_bytes_ -= buffer.asked;
    try {
      free_.push_back(buffer);
    } catch (const std::bad_alloc&) {
      evicted = buffer;  // Returning memory must not fail.
    }
    if (free_.size() > most_lent_ + kSpare) {
      evicted = free_.front();  // The least recently used buffer.
      free_.erase(free_.begin());
    }
  }
  if (evicted.data != nullptr) memory_->Free(evicted.data, evicted.size);
}

size_t StoragePool::waiting_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return WaitingBytes();
}

size_t StoragePool::peak_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return peak_bytes_;
}

size_t StoragePool::peak_asked_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return peak_asked_bytes_;
}

bool StoragePool::MayLend(size_t bytes) const {
  const size_t waiting = waiting_bytes();
  return bytes <= waiting || memory_->MayProvide(bytes - waiting);
}

int64_t StoragePool::num_allocations() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return num_allocations_;
}

}  // namespace cavs
