#include "cc/schedule/task_plan.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace cavs {
namespace {

// One vertex on the way down from a root, in the search for depths.
struct Visit {
  int32_t vertex;
  int32_t edge;   // The next entry of child_ids to look at.
  int32_t depth;  // 1 + the deepest child seen so far.
};

// Returns the error for a cycle, with its vertices. The last vertex of `path`
// has the child `child`, which stands earlier on `path`.
Status CycleError(const GraphBatchView& batch, const std::vector<Visit>& path,
                  int32_t child) {
  constexpr int kHead = 6, kTail = 2;
  const int64_t graph = batch.GraphOf(child);
  const int32_t origin = batch.graph_splits[graph];
  int64_t begin = static_cast<int64_t>(path.size()) - 1;
  while (path[begin].vertex != child) --begin;
  const int64_t length = static_cast<int64_t>(path.size()) - begin;

  std::string cycle;
  for (int64_t i = 0; i < length; ++i) {
    if (length > kHead + kTail + 1 && i == kHead) {
      cycle += StrCat("(", length - kHead - kTail, " more) -> ");
      i = length - kTail;
    }
    cycle += StrCat(path[begin + i].vertex - origin, " -> ");
  }
  cycle += StrCat(child - origin);

  const Visit& last = path.back();
  const int32_t vertex = last.vertex - origin;
  return InvalidArgument(
      "children[", graph, "][", vertex, "][",
      last.edge - batch.child_splits[last.vertex], "]: got vertex ",
      child - origin, " of graph ", graph,
      " but expected a vertex that does not depend on vertex ", vertex,
      ". Break the cycle ", cycle,
      " (parent -> child, vertices counted within the graph), or make rounds "
      "of message passing of the graph: GraphBatch.from_rounds, or "
      "data.batch(..., rounds=...).");
}

// Finds the depth of every vertex: 0 without children, else 1 + the largest
// depth of its children. The search is depth-first with a stack of its own, so
// that only memory bounds the depth. It is one scan of the vertices if children
// precede their parents.
Status VertexDepths(const GraphBatchView& batch, std::vector<int32_t>* depths) {
  constexpr int32_t kUnknown = -1, kOnPath = -2;
  const int32_t num_vertices = batch.num_vertices();
  const int32_t* child_splits = batch.child_splits.data();
  depths->assign(num_vertices, kUnknown);
  int32_t* depth_of = depths->data();
  std::vector<Visit> path;
  for (int32_t start = 0; start < num_vertices; ++start) {
    if (depth_of[start] != kUnknown) continue;
    path.push_back({start, child_splits[start], 0});
    depth_of[start] = kOnPath;
    while (!path.empty()) {
      Visit& visit = path.back();
      const int32_t last_edge = child_splits[visit.vertex + 1];
      int32_t unknown_child = -1;
      for (; visit.edge < last_edge; ++visit.edge) {
        const int32_t child = batch.child_ids[visit.edge];
        if (child < 0) continue;
        if (depth_of[child] < 0) {
          unknown_child = child;
          break;
        }
        visit.depth = std::max(visit.depth, depth_of[child] + 1);
      }
      if (unknown_child < 0) {
        depth_of[visit.vertex] = visit.depth;
        path.pop_back();
      } else if (depth_of[unknown_child] == kOnPath) {
        return CycleError(batch, path, unknown_child);
      } else {
        depth_of[unknown_child] = kOnPath;
        path.push_back({unknown_child, child_splits[unknown_child], 0});
      }
    }
  }
  return Status();
}

}  // namespace

std::vector<int32_t> MicroBatchSplits(const GraphBatchView& batch,
                                      int32_t micro_batch) {
  std::vector<int32_t> splits;
  for (int64_t g = 0; g < batch.num_graphs(); g += micro_batch) {
    splits.push_back(batch.graph_splits[g]);
  }
  splits.push_back(static_cast<int32_t>(batch.num_vertices()));
  return splits;
}

Status VertexLevels(const GraphBatchView& batch,
                    Span<int32_t> micro_batch_splits,
                    std::vector<int32_t>* levels) {
  CAVS_RETURN_IF_ERROR(VertexDepths(batch, levels));
  int32_t first_level = 0;
  for (int64_t s = 0; s + 1 < micro_batch_splits.size(); ++s) {
    int32_t last_level = first_level - 1;
    for (int32_t v = micro_batch_splits[s]; v < micro_batch_splits[s + 1];
         ++v) {
      (*levels)[v] += first_level;
      last_level = std::max(last_level, (*levels)[v]);
    }
    first_level = last_level + 1;
  }
  return Status();
}

void CountingSort(Span<int32_t> key_of, std::vector<int32_t>* vertices) {
  if (vertices->empty()) return;
  const int32_t max_key = *std::max_element(key_of.begin(), key_of.end());
  std::vector<int32_t> next(static_cast<int64_t>(max_key) + 2, 0);
  for (int32_t key : key_of) ++next[key + 1];
  for (int64_t key = 0; key < max_key; ++key) next[key + 1] += next[key];
  std::vector<int32_t> sorted(vertices->size());
  for (int32_t vertex : *vertices) sorted[next[key_of[vertex]]++] = vertex;
  vertices->swap(sorted);
}

TaskPlan PlanByLevel(const GraphBatchView& batch,
                     const std::vector<int32_t>& levels) {
  const int32_t num_vertices = static_cast<int32_t>(batch.num_vertices());
  const Span<int32_t>& types = batch.vertex_type;
  TaskPlan plan;
  plan.task_of.resize(num_vertices);
  plan.vertices.resize(num_vertices);
  std::iota(plan.vertices.begin(), plan.vertices.end(), 0);
  if (!types.empty()) CountingSort(types, &plan.vertices);
  CountingSort(levels, &plan.vertices);

  int32_t level = -1, type = -1;
  for (int32_t i = 0; i < num_vertices; ++i) {
    const int32_t vertex = plan.vertices[i];
    const int32_t vertex_type = types.empty() ? 0 : types[vertex];
    if (levels[vertex] != level || vertex_type != type) {
      level = levels[vertex];
      type = vertex_type;
      plan.task_splits.push_back(i);
      plan.task_type.push_back(type);
    }
    plan.task_of[vertex] = static_cast<int32_t>(plan.task_type.size()) - 1;
  }
  plan.task_splits.push_back(num_vertices);
  return plan;
}

}  // namespace cavs
