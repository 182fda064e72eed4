#include "cc/schedule/traits.h"

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

bool HasAllChildren(const ScheduleView& schedule, int64_t task) {
  const int32_t first = schedule.task_splits[task];
  const int32_t end = schedule.task_splits[task + 1];
  bool all = schedule.arity > 0 && end > first;
  for (int slot = 0; all && slot < schedule.arity; ++slot) {
    const Span<int32_t> children = schedule.children(slot);
    for (int32_t row = first; row < end; ++row) all &= children[row] >= 0;
  }
  return all;
}

bool HasNoRow(const ScheduleView& schedule, int64_t task, const RowMap& map) {
  if (map.row_of_vertex.empty()) return false;
  return std::all_of(
      schedule.order.data() + schedule.task_splits[task],
      schedule.order.data() + schedule.task_splits[task + 1],
      [&](int32_t vertex) { return map.row_of_vertex[vertex] == kZeroRow; });
}

}  // namespace

std::vector<int> TraitsOfTasks(const ScheduleView& schedule,
                               const std::vector<const RowMap*>& partial) {
  std::vector<int> traits(schedule.num_tasks(), kNoTraits);
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    if (IsChildless(schedule, task)) traits[task] |= kChildless;
    if (HasAllChildren(schedule, task)) traits[task] |= kAllChildren;
    const auto has_no_row = [&](const RowMap* map) {
      return HasNoRow(schedule, task, *map);
    };
    if (!partial.empty() &&
        std::all_of(partial.begin(), partial.end(), has_no_row)) {
      traits[task] |= kWithoutInputs;
    }
  }
  return traits;
}

TaskCounts CountTasks(const ScheduleView& schedule,
                      const std::vector<int>& traits, int num_types) {
  TaskCounts counts(num_types);
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    TaskCount& own = counts[schedule.task_type[task]][traits[task]];
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
