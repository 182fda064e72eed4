#include "cc/kernels/framework_memory.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cavs {

// At once, or not at all: TensorFlow would wait for other operators to free
// memory, which the step has been told by MayProvide() that it need not.
void* FrameworkMemory::Allocate(size_t bytes) {
  tensorflow::AllocationAttributes attributes;
  attributes.retry_on_failure = false;
  return allocator_->AllocateRaw(kAlignment, std::max(bytes, kAlignment),
                                 attributes);
}

void FrameworkMemory::Free(void* data, size_t) {
  allocator_->DeallocateRaw(data);
}

bool FrameworkMemory::MayProvide(size_t bytes) const {
  const std::optional<tensorflow::AllocatorStats> stats =
      allocator_->GetStats();
  if (!stats.has_value() || !stats->bytes_limit.has_value()) return true;
  const int64_t left = *stats->bytes_limit - stats->bytes_in_use;
  return left > 0 && bytes <= static_cast<size_t>(left);
}

}  // namespace cavs
