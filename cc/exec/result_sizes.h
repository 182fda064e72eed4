// What a model gives its caller.
#ifndef CAVS_CC_EXEC_RESULT_SIZES_H_
#define CAVS_CC_EXEC_RESULT_SIZES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cavs {

// Bytes of what a model gives its caller, and its derivative: of one row.
struct ResultSizes {
  std::vector<size_t> push_row;       // By push.
  std::vector<size_t> pull_grad_row;  // By pull; 0: it has no gradient.
  size_t capture_grads = 0;           // Of the gradients of all captures.
};

// How many rows of them there are in one step.
struct ResultRows {
  int64_t pushed = 0;           // Of every push.
  bool all_push = true;         // Has every vertex a row of the pushes?
  std::vector<int64_t> pulled;  // By pull.
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_RESULT_SIZES_H_
