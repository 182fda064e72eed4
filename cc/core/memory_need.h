// How much memory a pass over a minibatch takes.
#ifndef CAVS_CC_CORE_MEMORY_NEED_H_
#define CAVS_CC_CORE_MEMORY_NEED_H_

#include <cstddef>
#include <string>

#include "cc/core/status.h"

namespace cavs {

// Bytes from the pool; they stop at the largest number instead of wrapping
// around. Not counted: integers that describe the schedule, and what the
// framework's own kernels allocate.
struct MemoryNeed {
  size_t state = 0;           // Derivative: the gradient of the state.
  size_t tape = 0;            // What the derivative reads, beside the state.
  size_t temporaries = 0;     // Whatever else the operators write.
  size_t packed_weights = 0;  // Weights as the product kernel reads them.

  size_t total() const;
  MemoryNeed& operator+=(const MemoryNeed& other);
};

// "16 bytes (8 state, 0 tape, 4 temporaries, 4 packed weights)".
std::string ToString(const MemoryNeed& need);

// The error of a minibatch for which there is no memory.
Status DoesNotFit(const MemoryNeed& need);

// What the system, or the container that the process is in, could still give;
// SIZE_MAX where that cannot be found out.
size_t AvailableMemory();

// Of the cache that a processor has to itself; 1 MiB where that cannot be found
// out.
size_t CacheBytes();

}  // namespace cavs

#endif  // CAVS_CC_CORE_MEMORY_NEED_H_
