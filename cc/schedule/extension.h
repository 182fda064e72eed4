// A graph that grows: new vertices, whose children are new too or were computed
// before.
#ifndef CAVS_CC_SCHEDULE_EXTENSION_H_
#define CAVS_CC_SCHEDULE_EXTENSION_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace cavs {

// m new vertices, over n states of vertices that were computed before. A view.
struct ExtensionView {
  // New vertex i has the children child_ids[child_splits[i], child_splits[i +
  // 1]). An id below n is a row of the states, n + i is new vertex i, and -1 is
  // an explicitly missing child.
  Span<int32_t> child_splits, child_ids;
  // m values in [0, num_types), or empty: all are of type 0.
  Span<int32_t> vertex_type;
  int32_t num_states = 0;

  int64_t num_new() const {
    return child_splits.empty() ? 0 : child_splits.size() - 1;
  }
};

// The extension as a graph of m + k vertices: the new ones, [0, m), and without
// children the k whose states the new ones gather, [m, m + k).
struct Extension {
  std::vector<int32_t> read;  // k rows of the states, ascending.
  std::vector<int32_t> child_splits, child_ids, vertex_type;
};

// Makes the graph, in time that does not depend on the number of states.
// Vertices with given states are of type `num_types`. Rejects, naming vertex
// and slot: splits that do not ascend, an id that is neither a state nor a new
// vertex, more children than `arity` unless that is negative, a type that there
// is not. Cycles are found by MakeSchedule.
Status MakeExtension(const ExtensionView& view, int arity, int num_types,
                     Extension* extension);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_EXTENSION_H_
