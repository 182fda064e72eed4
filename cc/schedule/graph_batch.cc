#include "cc/schedule/graph_batch.h"

#include <algorithm>

namespace cavs {
namespace {

// Returns, for example, "children[3][17]": the graph, and the vertex counted
// within the graph.
std::string VertexName(const GraphBatchView& batch, const char* array,
                       int64_t vertex) {
  const int64_t graph = batch.GraphOf(vertex);
  return StrCat(array, "[", graph, "][", vertex - batch.graph_splits[graph],
                "]");
}

Status BadChild(const GraphBatchView& batch, int64_t edge) {
  const int32_t* splits = batch.child_splits.begin();
  const int64_t vertex =
      std::upper_bound(splits, batch.child_splits.end(), edge) - splits - 1;
  const int64_t graph = batch.GraphOf(vertex);
  const int32_t child = batch.child_ids[edge];
  const int32_t first = batch.graph_splits[graph];
  const int32_t limit = batch.graph_splits[graph + 1];
  std::string owner;
  if (child >= 0 && child < batch.num_vertices()) {
    const int64_t other = batch.GraphOf(child);
    owner = StrCat(" ", child, " is vertex ", child - batch.graph_splits[other],
                   " of graph ", other, ".");
  }
  return InvalidArgument(
      VertexName(batch, "children", vertex), "[", edge - splits[vertex],
      "]: got ", child,
      " but expected -1 (no child) or a vertex of the same graph, [", first,
      ", ", limit, "). Graph ", graph, " has ", limit - first,
      " vertices; ids are absolute in the minibatch.", owner);
}

Status ValidateChildren(const GraphBatchView& batch) {
  // Without vertices the splits may be empty.
  if (batch.num_vertices() == 0) return Status();
  for (int64_t graph = 0; graph < batch.num_graphs(); ++graph) {
    const uint32_t first = batch.graph_splits[graph];
    const uint32_t limit = batch.graph_splits[graph + 1];
    const int64_t last_edge = batch.child_splits[limit];
    for (int64_t edge = batch.child_splits[first]; edge < last_edge; ++edge) {
      const int32_t child = batch.child_ids[edge];
      // Unsigned, so that ids below `first` wrap to large numbers.
      const bool inside = static_cast<uint32_t>(child) - first < limit - first;
      if (!inside && child != -1) return BadChild(batch, edge);
    }
  }
  return Status();
}

Status ValidateArity(const GraphBatchView& batch, int arity) {
  for (int64_t v = 0; v < batch.num_vertices(); ++v) {
    const int32_t count = batch.child_splits[v + 1] - batch.child_splits[v];
    if (count > arity) {
      return InvalidArgument(
          VertexName(batch, "children", v), ": got ", count,
          " children but expected at most ", arity,
          ", the arity of the vertex function. Raise its arity, or give the "
          "vertex fewer children.");
    }
  }
  return Status();
}

Status ValidateTypes(const GraphBatchView& batch, int num_types) {
  const Span<int32_t>& types = batch.vertex_type;
  if (types.empty()) return Status();
  if (types.size() != batch.num_vertices()) {
    return InvalidArgument("vertex_type: got ", types.size(),
                           " values but expected ", batch.num_vertices(),
                           ", one per vertex. Pass none if all vertices are "
                           "of type 0.");
  }
  for (int64_t v = 0; v < types.size(); ++v) {
    if (types[v] < 0 || types[v] >= num_types) {
      return InvalidArgument(
          VertexName(batch, "vertex_type", v), ": got ", types[v],
          " but expected a type with a vertex function, [0, ", num_types,
          "). Add a vertex function for it, or correct the type.");
    }
  }
  return Status();
}

}  // namespace

Status ValidateSplits(const char* name, Span<int32_t> splits, int64_t total,
                      const char* lists, const char* split_array) {
  if (splits.empty()) {
    if (total == 0) return Status();
    return InvalidArgument(name, ": got no values but expected at least one, ",
                           "one more than there are ", lists,
                           ". Pass [0] for no ", lists, ".");
  }
  if (splits[0] != 0) {
    return InvalidArgument(name, "[0]: got ", splits[0],
                           " but expected 0. The first list starts at the "
                           "beginning of ",
                           split_array, ".");
  }
  const int64_t last = splits.size() - 1;
  for (int64_t i = 1; i <= last; ++i) {
    if (splits[i] < splits[i - 1]) {
      return InvalidArgument(name, "[", i, "]: got ", splits[i],
                             " but expected at least ", name, "[", i - 1,
                             "] = ", splits[i - 1], ". Splits never descend.");
    }
  }
  if (splits[last] != total) {
    return InvalidArgument(
        name, "[", last, "]: got ", splits[last], " but expected ", total,
        ". The last list ends at the end of ", split_array, ".");
  }
  return Status();
}

int64_t GraphBatchView::GraphOf(int64_t vertex) const {
  // Returns the last graph that starts at or before `vertex`, so as to skip
  // empty graphs.
  return std::upper_bound(graph_splits.begin(), graph_splits.end(), vertex) -
         graph_splits.begin() - 1;
}

Status GraphBatchView::Validate(int arity, int num_types) const {
  if (arity < 0) {
    return InvalidArgument("arity: got ", arity,
                           " but expected at least 0. It is the number of "
                           "slots that the vertex function gathers from.");
  }
  if (num_types < 1) {
    return InvalidArgument("num_types: got ", num_types,
                           " but expected at least 1. It is the number of "
                           "vertex functions.");
  }
  CAVS_RETURN_IF_ERROR(ValidateSplits(
      "child_splits", child_splits, child_ids.size(), "vertices", "child_ids"));
  CAVS_RETURN_IF_ERROR(ValidateSplits(
      "graph_splits", graph_splits, num_vertices(), "graphs", "the vertices"));
  CAVS_RETURN_IF_ERROR(ValidateChildren(*this));
  CAVS_RETURN_IF_ERROR(ValidateArity(*this, arity));
  return ValidateTypes(*this, num_types);
}

}  // namespace cavs
