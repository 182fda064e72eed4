// How much memory a pass over a minibatch takes.
#ifndef CAVS_CC_EXEC_MEMORY_NEED_H_
#define CAVS_CC_EXEC_MEMORY_NEED_H_

#include <cstddef>
#include <string>

#include "cc/base/status.h"

namespace cavs {

// Bytes; they stop at the largest number instead of wrapping around. Not
// counted: integers that describe the schedule, and what the framework's own
// kernels allocate.
struct MemoryNeed {
  size_t state = 0;           // Derivative: the gradient of the state.
  size_t tape = 0;            // What the derivative reads, beside the state.
  size_t temporaries = 0;     // Whatever else the operators write.
  size_t packed_weights = 0;  // Weights as the product kernel reads them.
  // Not from the pool: what the caller gets, and copies of what it gave.
  size_t results = 0;

  // From the pool.
  size_t workspace() const;
  size_t total() const;
  MemoryNeed& operator+=(const MemoryNeed& other);
};

// "16 bytes (8 state, 0 tape, 4 temporaries, 4 packed weights, 0 results)".
std::string ToString(const MemoryNeed& need);

// Of a training step whose two passes share a pool: in the backward pass, the
// state and the tape of the forward pass are there still, and its results and
// their gradient.
size_t TrainingPeak(const MemoryNeed& forward, const MemoryNeed& backward);

// The error of a pass for which there is no memory.
Status DoesNotFit(const MemoryNeed& need);
// That of a training step.
Status DoesNotFit(const MemoryNeed& forward, const MemoryNeed& backward);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_MEMORY_NEED_H_
