#include "tests/cc/cuda/fake/memory.h"

#include <cstdlib>
#include <cstring>

extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void*,
                                                       size_t);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void*,
                                                         size_t);
}

namespace cavs_fake {
namespace {

constexpr size_t kAlignment = 256;

size_t RoundUp(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Memory::~Memory() {
  while (!blocks_.empty()) {
    Free(blocks_.begin()->second.kind,
         reinterpret_cast<void*>(blocks_.begin()->first));
  }
}

void* Memory::Allocate(MemoryKind kind, size_t bytes) {
  void* at = std::aligned_alloc(kAlignment, RoundUp(bytes));
  if (at == nullptr) return nullptr;
  std::memset(at, 0xff, bytes);
  if (__asan_poison_memory_region != nullptr) {
    __asan_poison_memory_region(static_cast<char*>(at) + bytes,
                                RoundUp(bytes) - bytes);
  }
  blocks_[reinterpret_cast<uintptr_t>(at)] = {bytes, kind, ++last_number_};
  bytes_in_use_[static_cast<int>(kind)] += bytes;
  return at;
}

bool Memory::Free(MemoryKind kind, void* at) {
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(at));
  if (found == blocks_.end() || found->second.kind != kind) return false;
  const size_t bytes = found->second.bytes;
  blocks_.erase(found);
  bytes_in_use_[static_cast<int>(kind)] -= bytes;
  std::memset(at, 0xff, bytes);
  if (__asan_unpoison_memory_region != nullptr) {
    __asan_unpoison_memory_region(at, RoundUp(bytes));
  }
  std::free(at);
  return true;
}

size_t Memory::BytesAt(void* at) const {
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(at));
  return found == blocks_.end() ? 0 : found->second.bytes;
}

const Memory::Block* Memory::Find(const void* at, size_t bytes) const {
  const uintptr_t address = reinterpret_cast<uintptr_t>(at);
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return nullptr;
  --found;
  const bool inside = address + bytes <= found->first + found->second.bytes;
  return inside ? &found->second : nullptr;
}

bool Memory::Inside(const void* at, size_t bytes) const {
  return Find(at, bytes) != nullptr;
}

bool Memory::IsHost(const void* at) const {
  const Block* block = Find(at, 1);
  return block != nullptr && block->kind != MemoryKind::kDevice;
}

uint64_t Memory::HostBlock(const void* at) const {
  const Block* block = Find(at, 1);
  if (block == nullptr || block->kind == MemoryKind::kDevice) return 0;
  return block->number;
}

}  // namespace cavs_fake
