#include "cc/kernels/framework_memory.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cavs {

// Allocates at once, or returns null. TensorFlow would otherwise wait for other
// operators to free memory, although MayProvide() has told the step that there
// is enough.
void* FrameworkMemory::Allocate(size_t bytes) {
  tensorflow::AllocationAttributes attributes;
  attributes.retry_on_failure = false;
  return allocator_->AllocateRaw(kAlignment, std::max(bytes, kAlignment),
                                 attributes);
}

void FrameworkMemory::Free(void* data, size_t) {
  allocator_->DeallocateRaw(data);
}

size_t FrameworkMemory::Available() const {
  const std::optional<tensorflow::AllocatorStats> stats =
      allocator_->GetStats();
  if (!stats.has_value() || !stats->bytes_limit.has_value()) return SIZE_MAX;
  const int64_t left = *stats->bytes_limit - stats->bytes_in_use;
  return static_cast<size_t>(std::max<int64_t>(left, 0));
}

bool FrameworkMemory::MayProvide(size_t bytes) const {
  return bytes <= Available();
}

}  // namespace cavs
