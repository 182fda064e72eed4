#include "cc/schedule/schedule.h"

#include <utility>

#include "cc/base/byte_count.h"
#include "cc/base/machine.h"
#include "cc/schedule/policies.h"
#include "cc/schedule/task_plan.h"

namespace cavs {
namespace {

// Fills `order` and `child_row`. From the last task to the first, each task
// gives its children the next free rows of their own tasks, vertex by vertex.
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
    // All parents have rows by now: a vertex without a row has no parent.
    for (int32_t i = splits[task];
         i < splits[task + 1] && next_row[task] < splits[task + 1]; ++i) {
      if (row_of[plan.vertices[i]] < 0) place(plan.vertices[i]);
    }
    for (int32_t row = splits[task]; row < splits[task + 1]; ++row) {
      const int32_t first_edge = batch.child_splits[order[row]];
      const int32_t count = batch.child_splits[order[row] + 1] - first_edge;
      int32_t* child_row = schedule->child_row.data() + row;
      for (int slot = 0; slot < schedule->arity; ++slot) {
        const int32_t child =
            slot < count ? batch.child_ids[first_edge + slot] : -1;
        if (child < 0) {
          *child_row = kZeroRow;
        } else {
          *child_row = row_of[child] < 0 ? place(child) : row_of[child];
        }
        child_row += num_vertices;
      }
    }
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
  CAVS_RETURN_IF_ERROR(batch.Validate(arity, num_types));
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
