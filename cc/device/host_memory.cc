#include "cc/device/host_memory.h"

#include <cstdlib>

namespace cavs {

void* HostMemory::Allocate(size_t bytes) {
  return std::aligned_alloc(kAlignment, bytes);
}

void HostMemory::Free(void* data, size_t) { std::free(data); }

}  // namespace cavs
