#include "cc/core/schedule.h"

#include <algorithm>

namespace cavs {
namespace {

// One vertex on the way down from a root, in the search for depths.
struct Visit {
  int32_t vertex;
  int32_t edge;   // The next entry of child_ids to look at.
  int32_t depth;  // 1 + the deepest child seen so far.
};

// Names the cycle that closes where the last vertex of `path` has `child`,
// which stands earlier on `path`, as its child.
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
      " (parent -> child, vertices counted within the graph).");
}

// Depth of every vertex: 0 without children, else 1 + the deepest child's.
// Depth-first with a stack of its own, so that depth is bounded by memory only;
// where children come before their parents, one pass over the vertices.
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

// Sorts `vertices` by key_of[vertex], which is not negative; equal keys keep
// their order.
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

// The tasks of a schedule before their rows have an order.
struct TaskPlan {
  std::vector<int32_t> vertices;  // By task; within a task by id.
  std::vector<int32_t> task_of;   // Per vertex.
};

// Makes one task of all vertices of a depth and a type, by depth, then by type.
TaskPlan GroupByDepth(const GraphBatchView& batch,
                      const std::vector<int32_t>& depths, Schedule* schedule) {
  const int32_t num_vertices = batch.num_vertices();
  const Span<int32_t>& types = batch.vertex_type;
  TaskPlan plan;
  plan.task_of.resize(num_vertices);
  plan.vertices.resize(num_vertices);
  for (int32_t v = 0; v < num_vertices; ++v) plan.vertices[v] = v;
  if (!types.empty()) CountingSort(types, &plan.vertices);
  CountingSort(depths, &plan.vertices);

  schedule->task_splits.clear();
  schedule->task_type.clear();
  int32_t depth = -1, type = -1;
  for (int32_t i = 0; i < num_vertices; ++i) {
    const int32_t vertex = plan.vertices[i];
    const int32_t vertex_type = types.empty() ? 0 : types[vertex];
    if (depths[vertex] != depth || vertex_type != type) {
      depth = depths[vertex];
      type = vertex_type;
      schedule->task_splits.push_back(i);
      schedule->task_type.push_back(type);
    }
    plan.task_of[vertex] = static_cast<int32_t>(schedule->task_type.size()) - 1;
  }
  schedule->task_splits.push_back(num_vertices);
  return plan;
}

// Fills `order` and `child_row`. From the last task to the first, each task
// gives its children the next free rows of their own tasks, slot by slot.
void PlaceRows(const GraphBatchView& batch, const TaskPlan& plan,
               Schedule* schedule) {
  const int64_t num_vertices = batch.num_vertices();
  const std::vector<int32_t>& splits = schedule->task_splits;
  std::vector<int32_t>& order = schedule->order;
  std::vector<int32_t> next_row(splits.begin(), splits.end() - 1);
  std::vector<int32_t> row_of(num_vertices, -1);
  order.resize(num_vertices);
  schedule->child_row.resize(schedule->arity * num_vertices);

  const auto place = [&](int32_t vertex) {
    const int32_t row = next_row[plan.task_of[vertex]]++;
    order[row] = vertex;
    row_of[vertex] = row;
    return row;
  };
  for (int64_t task = static_cast<int64_t>(splits.size()) - 2; task >= 0;
       --task) {
    // All parents are placed by now: who has no row yet has no parent.
    for (int32_t i = splits[task];
         i < splits[task + 1] && next_row[task] < splits[task + 1]; ++i) {
      if (row_of[plan.vertices[i]] < 0) place(plan.vertices[i]);
    }
    for (int slot = 0; slot < schedule->arity; ++slot) {
      int32_t* child_row = schedule->child_row.data() + slot * num_vertices;
      for (int32_t row = splits[task]; row < splits[task + 1]; ++row) {
        const int32_t first_edge = batch.child_splits[order[row]];
        const int32_t count = batch.child_splits[order[row] + 1] - first_edge;
        const int32_t child =
            slot < count ? batch.child_ids[first_edge + slot] : -1;
        if (child < 0) {
          child_row[row] = kZeroRow;
        } else {
          child_row[row] = row_of[child] < 0 ? place(child) : row_of[child];
        }
      }
    }
  }
}

Status ValidateTaskSplits(const ScheduleView& schedule) {
  const Span<int32_t>& splits = schedule.task_splits;
  if (splits.size() != schedule.num_tasks() + 1) {
    return InvalidArgument("task_splits: got ", splits.size(),
                           " values but expected ", schedule.num_tasks() + 1,
                           ", one more than there are values in task_type. "
                           "Schedule the graphs again.");
  }
  if (splits[0] != 0) {
    return InvalidArgument("task_splits[0]: got ", splits[0],
                           " but expected 0. Schedule the graphs again.");
  }
  for (int64_t i = 1; i < splits.size(); ++i) {
    if (splits[i] <= splits[i - 1]) {
      return InvalidArgument("task_splits[", i, "]: got ", splits[i],
                             " but expected more than task_splits[", i - 1,
                             "] = ", splits[i - 1],
                             ". A task has at least one row.");
    }
  }
  const int32_t last = splits[schedule.num_tasks()];
  if (last != schedule.num_vertices()) {
    return InvalidArgument("task_splits[", schedule.num_tasks(), "]: got ",
                           last, " but expected ", schedule.num_vertices(),
                           ", the number of vertices in order. Schedule the "
                           "graphs again.");
  }
  return Status();
}

Status ValidateOrder(const ScheduleView& schedule) {
  const int64_t num_vertices = schedule.num_vertices();
  std::vector<bool> seen(num_vertices, false);
  for (int64_t row = 0; row < num_vertices; ++row) {
    const int32_t vertex = schedule.order[row];
    if (vertex < 0 || vertex >= num_vertices) {
      return InvalidArgument("order[", row, "]: got ", vertex,
                             " but expected a vertex in [0, ", num_vertices,
                             "). Schedule the graphs again.");
    }
    if (seen[vertex]) {
      return InvalidArgument("order[", row, "]: got ", vertex,
                             " but expected a vertex that stands in no earlier "
                             "row. Each vertex is evaluated once.");
    }
    seen[vertex] = true;
  }
  return Status();
}

Status ValidateTask(const ScheduleView& schedule, int num_types, int64_t task) {
  const int32_t type = schedule.task_type[task];
  if (type < 0 || type >= num_types) {
    return InvalidArgument("task_type[", task, "]: got ", type,
                           " but expected a type with a vertex function, [0, ",
                           num_types,
                           "). Add a vertex function for it, or "
                           "correct the type.");
  }
  const int32_t first = schedule.task_splits[task];
  const int32_t limit = schedule.task_splits[task + 1];
  for (int slot = 0; slot < schedule.arity; ++slot) {
    const Span<int32_t> children = schedule.children(slot);
    for (int32_t row = first; row < limit; ++row) {
      if (children[row] < kZeroRow || children[row] >= first) {
        return InvalidArgument(
            "child_row[", slot, "][", row, "]: got ", children[row],
            " but expected ", kZeroRow, " (no child) or a row before task ",
            task, ", [0, ", first, "). Children are evaluated first.");
      }
    }
  }
  return Status();
}

}  // namespace

Status MakeSchedule(const GraphBatchView& batch, int arity, int num_types,
                    Policy policy, Schedule* schedule) {
  CAVS_RETURN_IF_ERROR(batch.Validate(arity, num_types));
  std::vector<int32_t> depths;
  CAVS_RETURN_IF_ERROR(VertexDepths(batch, &depths));
  schedule->arity = arity;
  TaskPlan plan;
  switch (policy) {
    case Policy::kDepth:
      plan = GroupByDepth(batch, depths, schedule);
      break;
  }
  PlaceRows(batch, plan, schedule);
  return Status();
}

Status ValidateSchedule(const ScheduleView& schedule, int num_types) {
  const int64_t num_vertices = schedule.num_vertices();
  if (schedule.arity < 0) {
    return InvalidArgument("arity: got ", schedule.arity,
                           " but expected at least 0. It is the number of "
                           "slots that the vertex function gathers from.");
  }
  if (schedule.child_row.size() != schedule.arity * num_vertices) {
    return InvalidArgument(
        "child_row: got ", schedule.child_row.size(), " values but expected ",
        schedule.arity * num_vertices, ", one per slot and vertex (arity ",
        schedule.arity, ", ", num_vertices,
        " vertices). Schedule the graphs again.");
  }
  CAVS_RETURN_IF_ERROR(ValidateTaskSplits(schedule));
  CAVS_RETURN_IF_ERROR(ValidateOrder(schedule));
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    CAVS_RETURN_IF_ERROR(ValidateTask(schedule, num_types, task));
  }
  return Status();
}

}  // namespace cavs
