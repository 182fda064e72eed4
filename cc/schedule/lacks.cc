#include "cc/schedule/lacks.h"

#include <algorithm>

namespace cavs {
namespace {

bool IsChildless(const ScheduleView& schedule, int64_t task) {
  if (schedule.has_edges()) {
    const Span<int32_t>& splits = schedule.edge_splits;
    return splits[schedule.task_splits[task]] ==
           splits[schedule.task_splits[task + 1]];
  }
  for (int slot = 0; slot < schedule.arity; ++slot) {
    const Span<int32_t> children = schedule.children(slot);
    for (int32_t row = schedule.task_splits[task];
         row < schedule.task_splits[task + 1]; ++row) {
      if (children[row] >= 0) return false;
    }
  }
  return true;
}

bool HasNoRow(const ScheduleView& schedule, int64_t task, const RowMap& map) {
  if (map.row_of_vertex.empty()) return false;
  return std::all_of(
      schedule.order.data() + schedule.task_splits[task],
      schedule.order.data() + schedule.task_splits[task + 1],
      [&](int32_t vertex) { return map.row_of_vertex[vertex] == kZeroRow; });
}

}  // namespace

std::vector<int> LacksOfTasks(const ScheduleView& schedule,
                              const std::vector<const RowMap*>& partial) {
  std::vector<int> lacks(schedule.num_tasks(), kLacksNothing);
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    if (IsChildless(schedule, task)) lacks[task] |= kLacksChildren;
    const auto has_no_row = [&](const RowMap* map) {
      return HasNoRow(schedule, task, *map);
    };
    if (!partial.empty() &&
        std::all_of(partial.begin(), partial.end(), has_no_row)) {
      lacks[task] |= kLacksInputs;
    }
  }
  return lacks;
}

TaskCounts CountTasks(const ScheduleView& schedule,
                      const std::vector<int>& lacks, int num_types) {
  TaskCounts counts;
  counts.fill(std::vector<TaskCount>(num_types));
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    TaskCount& own = counts[lacks[task]][schedule.task_type[task]];
    const int32_t first = schedule.task_splits[task];
    const int32_t end = schedule.task_splits[task + 1];
    own.rows += end - first;
    if (schedule.has_edges()) {
      own.edges += schedule.edge_splits[end] - schedule.edge_splits[first];
    }
    ++own.tasks;
  }
  return counts;
}

}  // namespace cavs
