// Extends a graph by new vertices, whose children are new vertices or vertices
// that were computed before.
#ifndef CAVS_CC_SCHEDULE_EXTENSION_H_
#define CAVS_CC_SCHEDULE_EXTENSION_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace cavs {

// A view of m new vertices and of n states of vertices that were computed
// before. The arrays belong to the caller.
struct ExtensionView {
  // New vertex i has the children child_ids[child_splits[i], child_splits[i +
  // 1]). An id below n is a row of the states, n + i is new vertex i, and -1 is
  // an explicitly missing child.
  Span<int32_t> child_splits, child_ids;
  // m values in [0, num_types), or none if all new vertices are of type 0.
  Span<int32_t> vertex_type;
  int32_t num_states = 0;

  int64_t num_new() const {
    return child_splits.empty() ? 0 : child_splits.size() - 1;
  }
};

// The extension as a graph of m + k vertices. The vertices [0, m) are the new
// ones. The vertices [m, m + k) have no children; they stand for the k states
// that the new vertices gather.
struct Extension {
  std::vector<int32_t> read;  // The k rows that are gathered, ascending.
  std::vector<int32_t> child_splits, child_ids, vertex_type;
};

// Makes the graph, in time that does not depend on the number of states.
// Vertices that stand for states are of type `num_types`. Returns
// kInvalidArgument, naming vertex and slot, for splits that do not ascend, for
// an id that is neither a state nor a new vertex, for more children than
// `arity` unless that is negative, and for a type outside [0, num_types).
// Cycles are found by MakeSchedule.
Status MakeExtension(const ExtensionView& view, int arity, int num_types,
                     Extension* extension);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_EXTENSION_H_
