// The memory that one direction of a step needs.
#ifndef CAVS_CC_EXEC_MEMORY_NEED_H_
#define CAVS_CC_EXEC_MEMORY_NEED_H_

#include <cstddef>
#include <string>

#include "cc/base/status.h"

namespace cavs {

// Numbers of bytes, which saturate at the largest number. Memory that the
// framework's own kernels allocate is not counted, nor are integers that
// describe the schedule in memory of the host. What is copied of them to a
// device, and constants there, count as tape, or as temporaries in directions
// without one.
struct MemoryNeed {
  size_t state = 0;  // In a derivative, the gradient of the state.
  size_t tape = 0;   // Values that the derivative reads, except the state.
  size_t temporaries = 0;  // All other values that operators write.
  // What executables ask for beside their values: weights in the layout of the
  // product kernels, or where sums over rows are formed and where arguments of
  // kernels lie.
  size_t packed_weights = 0;
  // Not from the pool: outputs for the caller.
  size_t results = 0;

  // Bytes from the pool, and of constants.
  size_t workspace() const;
  size_t total() const;
  MemoryNeed& operator+=(const MemoryNeed& other);
};

// "16 bytes (8 state, 0 tape, 4 temporaries, 4 packed weights, 0 results)".
std::string ToString(const MemoryNeed& need);

// The peak of a training step whose two directions share a pool: while it runs
// backward, the state, the tape and the results of the forward direction still
// exist, and the gradient of the results.
size_t TrainingPeak(const MemoryNeed& forward, const MemoryNeed& backward);

// The error of one direction for which there is not enough memory.
Status DoesNotFit(const MemoryNeed& need);
// The error of a training step for which there is not enough memory.
Status DoesNotFit(const MemoryNeed& forward, const MemoryNeed& backward);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_MEMORY_NEED_H_
