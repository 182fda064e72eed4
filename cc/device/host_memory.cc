#include "cc/device/host_memory.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdlib>

namespace cavs {
namespace {

#if defined(__linux__)

constexpr size_t kLargePage = size_t{2} << 20;
// Buffers of fewer bytes have too few whole large pages.
constexpr size_t kFewestBytes = 2 * kLargePage;

// A group of operators reads and writes a dozen values side by side, each in
// pages of its own, so large pages are asked for; small ones do as well. The
// last eighth stays in small pages: a step may not need all of its buffer (see
// StoragePool), and pages that it does not touch should take no memory.
void* AllocateLarge(size_t bytes) {
  void* data = nullptr;
  if (posix_memalign(&data, kLargePage, bytes) != 0) return nullptr;
  const size_t large = (bytes - bytes / 8) / kLargePage * kLargePage;
  (void)madvise(data, large, MADV_HUGEPAGE);
  return data;
}

#endif

}  // namespace

void* HostMemory::Allocate(size_t bytes) {
#if defined(__linux__)
  if (bytes >= kFewestBytes) return AllocateLarge(bytes);
#endif
  return std::aligned_alloc(kAlignment, bytes);
}

void HostMemory::Free(void* data, size_t) { std::free(data); }

std::vector<const int32_t*> ListsOfHost(
    const std::vector<Span<int32_t>>& lists) {
  static constexpr int32_t kNoNumbers[] = {0};
  std::vector<const int32_t*> addresses;
  addresses.reserve(lists.size());
  for (const Span<int32_t>& list : lists) {
    addresses.push_back(list.data() == nullptr ? kNoNumbers : list.data());
  }
  return addresses;
}

}  // namespace cavs
