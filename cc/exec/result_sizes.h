// The sizes of the values that a model returns to its caller.
#ifndef CAVS_CC_EXEC_RESULT_SIZES_H_
#define CAVS_CC_EXEC_RESULT_SIZES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace cavs {

// Bytes per row of what a model and its derivative return.
struct ResultSizes {
  std::vector<size_t> push_row;  // Indexed by push.
  // Indexed by pull; 0 if it has no gradient.
  std::vector<size_t> pull_grad_row;
  size_t capture_grads = 0;  // Bytes of the gradients of all captures.
};

// The number of these rows in one step.
struct ResultRows {
  int64_t pushed = 0;           // Rows of every push of vertices.
  bool all_push = true;         // Whether every vertex has a row of the pushes.
  std::vector<int64_t> pulled;  // Indexed by pull.
  int64_t edges = 0;            // Rows of every push of edges.
  std::set<int> edge_pushes = {};

  bool is_of_edges(int push) const { return edge_pushes.count(push) > 0; }
  int64_t rows_of_push(int push) const {
    return is_of_edges(push) ? edges : pushed;
  }
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_RESULT_SIZES_H_
