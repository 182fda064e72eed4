#include "cc/schedule/schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/base/machine.h"
#include "cc/schedule/policies.h"
#include "cc/schedule/task_plan.h"

namespace cavs {
namespace {

// Fills `order` and `child_row`, and returns the row of each vertex. From the
// last task to the first, each task gives its children the next free rows of
// their own tasks, vertex by vertex.
std::vector<int32_t> PlaceRows(const GraphBatchView& batch,
                               const TaskPlan& plan, bool edges,
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
    // All parents have rows by now: a vertex without a row has no parent.
    for (int32_t i = splits[task];
         i < splits[task + 1] && next_row[task] < splits[task + 1]; ++i) {
      if (row_of[plan.vertices[i]] < 0) place(plan.vertices[i]);
    }
    for (int32_t row = splits[task]; row < splits[task + 1]; ++row) {
      const Span<int32_t> children = batch.children(order[row]);
      int32_t* child_row = schedule->child_row.data() + row;
      const int64_t slots =
          edges ? std::max<int64_t>(children.size(), schedule->arity)
                : schedule->arity;
      for (int64_t slot = 0; slot < slots; ++slot) {
        const int32_t child = slot < children.size() ? children[slot] : -1;
        int32_t own = kZeroRow;
        if (child >= 0) {
          own = row_of[child] < 0 ? place(child) : row_of[child];
        }
        if (slot < schedule->arity) child_row[slot * num_vertices] = own;
      }
    }
  }
  return row_of;
}

void PlaceEdges(const GraphBatchView& batch, bool edges,
                const std::vector<int32_t>& row_of, Schedule* schedule) {
  const int64_t num_vertices = batch.num_vertices();
  schedule->edge_splits.clear();
  schedule->edge_child.clear();
  schedule->edge_number.clear();
  if (!edges) return;
  // For each vertex, the number of edges of all vertices before it.
  std::vector<int32_t> first_number(num_vertices);
  int32_t count = 0;
  for (int64_t vertex = 0; vertex < num_vertices; ++vertex) {
    first_number[vertex] = count;
    for (const int32_t child : batch.children(vertex)) count += child >= 0;
  }
  schedule->edge_splits.reserve(num_vertices + 1);
  schedule->edge_child.reserve(count);
  schedule->edge_number.reserve(count);
  schedule->edge_splits.push_back(0);
  for (const int32_t vertex : schedule->order) {
    int32_t number = first_number[vertex];
    for (const int32_t child : batch.children(vertex)) {
      if (child < 0) continue;
      schedule->edge_child.push_back(row_of[child]);
      schedule->edge_number.push_back(number++);
    }
    schedule->edge_splits.push_back(
        static_cast<int32_t>(schedule->edge_child.size()));
  }
}

Status ValidateTaskSplits(const ScheduleView& schedule) {
  const Span<int32_t>& splits = schedule.task_splits;
  const bool is_idle = splits.empty() && schedule.num_tasks() == 0;
  if (is_idle && schedule.num_vertices() == 0) return Status();
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

Status ValidateEdges(const ScheduleView& schedule) {
  if (!schedule.has_edges()) return Status();
  const int64_t num_vertices = schedule.num_vertices();
  const int64_t num_edges = schedule.num_edges();
  const Span<int32_t>& splits = schedule.edge_splits;
  if (splits.size() != num_vertices + 1 || splits[0] != 0 ||
      splits[num_vertices] != num_edges ||
      schedule.edge_number.size() != num_edges) {
    return InvalidArgument(
        "edge_splits: got ", splits.size(), " values for ", num_vertices,
        " vertices, ", num_edges, " children and ", schedule.edge_number.size(),
        " numbers of edges but expected a value more than there are vertices, "
        "from 0 to the number of edges, and as many children as numbers. "
        "Schedule the graphs again.");
  }
  std::vector<bool> seen(num_edges, false);
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    const int32_t first = schedule.task_splits[task];
    for (int32_t row = first; row < schedule.task_splits[task + 1]; ++row) {
      if (splits[row + 1] < splits[row] || splits[row + 1] > num_edges) {
        return InvalidArgument("edge_splits[", row + 1, "]: got ",
                               splits[row + 1], " but expected a number in [",
                               splits[row], ", ", num_edges,
                               "]. Schedule the graphs again.");
      }
      for (int32_t edge = splits[row]; edge < splits[row + 1]; ++edge) {
        const int32_t child = schedule.edge_child[edge];
        const int32_t number = schedule.edge_number[edge];
        if (child < 0 || child >= first) {
          return InvalidArgument("edge_child[", edge, "]: got ", child,
                                 " but expected a row before task ", task,
                                 ", [0, ", first,
                                 "). Children are evaluated first.");
        }
        if (number < 0 || number >= num_edges || seen[number]) {
          return InvalidArgument(
              "edge_number[", edge, "]: got ", number,
              " but expected a number in [0, ", num_edges,
              ") that no earlier edge has. Schedule the graphs again.");
        }
        seen[number] = true;
      }
    }
  }
  return Status();
}

// Called before anything is allocated.
Status CheckArity(const GraphBatchView& batch, int arity) {
  const size_t bytes = ByteCount(batch.num_vertices(), arity, DType::kInt32);
  if (MayFit(bytes)) return Status();
  return Status(
      StatusCode::kResourceExhausted,
      StrCat("arity: got ", arity, " for ", batch.num_vertices(),
             " vertices, whose child rows take ", bytes,
             " bytes, but expected one for which they fit into the memory that "
             "is available. Pass the number of slots that the vertex function "
             "gathers from, or use a smaller minibatch."));
}

}  // namespace

Status MakeSchedule(const GraphBatchView& batch, int arity, int num_types,
                    ScheduleOptions options, Schedule* schedule) {
  const Policy* policy = nullptr;
  CAVS_RETURN_IF_ERROR(FindPolicy(options.policy, &policy));
  if (options.micro_batch < 1) {
    return InvalidArgument("micro_batch: got ", options.micro_batch,
                           " but expected at least 1, the number of graphs in "
                           "a micro-batch. Leave it out to plan the whole "
                           "minibatch at once.");
  }
  constexpr int kAnyNumber = std::numeric_limits<int>::max();
  CAVS_RETURN_IF_ERROR(
      batch.Validate(options.edges ? kAnyNumber : arity, num_types));
  CAVS_RETURN_IF_ERROR(CheckArity(batch, arity));
  const std::vector<int32_t> micro_batch_splits =
      MicroBatchSplits(batch, options.micro_batch);
  std::vector<int32_t> levels;
  CAVS_RETURN_IF_ERROR(VertexLevels(batch, micro_batch_splits, &levels));
  TaskPlan plan =
      policy->plan(batch, micro_batch_splits, PlanByLevel(batch, levels));
  schedule->arity = arity;
  schedule->task_splits = std::move(plan.task_splits);
  schedule->task_type = std::move(plan.task_type);
  const std::vector<int32_t> row_of =
      PlaceRows(batch, plan, options.edges, schedule);
  PlaceEdges(batch, options.edges, row_of, schedule);
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
  return ValidateEdges(schedule);
}

}  // namespace cavs
