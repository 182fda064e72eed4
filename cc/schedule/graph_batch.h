// The input graphs of one minibatch.
#ifndef CAVS_CC_SCHEDULE_GRAPH_BATCH_H_
#define CAVS_CC_SCHEDULE_GRAPH_BATCH_H_

#include <cstdint>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace cavs {

// A view of B graphs with V vertices in total, as child lists in compressed
// form. The arrays belong to the caller.
struct GraphBatchView {
  // V + 1 values. The children of vertex v are child_ids[child_splits[v],
  // child_splits[v + 1]). The position of a child in this list is its slot k.
  Span<int32_t> child_splits;
  // Absolute vertex ids in [0, V), or -1 for an explicitly missing child.
  Span<int32_t> child_ids;
  // Graph g owns the vertices [graph_splits[g], graph_splits[g + 1]). B + 1
  // values.
  Span<int32_t> graph_splits;
  // V values in [0, num_types), or none if all vertices are of type 0.
  Span<int32_t> vertex_type;

  // Both are 0 if the splits are empty.
  int64_t num_vertices() const { return NumLists(child_splits); }
  int64_t num_graphs() const { return NumLists(graph_splits); }

  // REQUIRES: valid splits.
  Span<int32_t> children(int64_t vertex) const {
    const int32_t first = child_splits[vertex];
    return child_ids.subspan(first, child_splits[vertex + 1] - first);
  }

  // Returns the graph that owns `vertex`, by binary search. REQUIRES: valid
  // splits.
  int64_t GraphOf(int64_t vertex) const;

  // Returns kInvalidArgument, naming graph, vertex and slot, for splits that do
  // not ascend from 0 to the size of the array that they split, for an id out
  // of range, for a child in another graph, for more children than `arity`, and
  // for a type outside [0, num_types). Empty splits are as good as [0], because
  // replicas without work pass them. Cycles are found by MakeSchedule. Takes
  // linear time and never reads outside the arrays.
  Status Validate(int arity, int num_types) const;

 private:
  static int64_t NumLists(const Span<int32_t>& splits) {
    return splits.empty() ? 0 : splits.size() - 1;
  }
};

// Returns kInvalidArgument unless `splits`, called `name`, ascend from 0 to
// `total`, the number of values in `split_array` that they split into `lists`.
// Empty splits are as good as [0].
Status ValidateSplits(const char* name, Span<int32_t> splits, int64_t total,
                      const char* lists, const char* split_array);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_GRAPH_BATCH_H_
