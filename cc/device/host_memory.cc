#include "cc/device/host_memory.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <cstdlib>

namespace cavs {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;
// Buffers of fewer bytes have too few whole large pages.
constexpr size_t kFewestBytes = 2 * kLargePage;

// Asks for large pages. An operator that is fused reads and writes a dozen
// values side by side, each in pages of its own.
void AskForLargePages(void* data, size_t bytes) {
#if defined(__linux__)
  (void)madvise(data, bytes, MADV_HUGEPAGE);  // Small pages will do as well.
#else
  (void)data, (void)bytes;
#endif
}

}  // namespace

void* HostMemory::Allocate(size_t bytes) {
  if (bytes < kFewestBytes || bytes > SIZE_MAX - kLargePage) {
    return std::aligned_alloc(kAlignment, bytes);
  }
  const size_t whole = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  void* const data = std::aligned_alloc(kLargePage, whole);
  if (data != nullptr) AskForLargePages(data, whole);
  return data;
}

void HostMemory::Free(void* data, size_t) { std::free(data); }

}  // namespace cavs
