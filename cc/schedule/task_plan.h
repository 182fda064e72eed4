// Groups vertices into tasks, for MakeSchedule and its policies only. Batches
// have been validated.
#ifndef CAVS_CC_SCHEDULE_TASK_PLAN_H_
#define CAVS_CC_SCHEDULE_TASK_PLAN_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/schedule/graph_batch.h"

namespace cavs {

// The tasks of a schedule, before the rows within each task are ordered.
struct TaskPlan {
  std::vector<int32_t> vertices;  // Sorted by task; within a task by id.
  std::vector<int32_t> task_of;   // Per vertex.
  // Task t has vertices[task_splits[t]] to vertices[task_splits[t + 1] - 1].
  std::vector<int32_t> task_splits;
  std::vector<int32_t> task_type;  // Per task.
};

// Returns the splits of micro-batches. The vertices of micro-batch m are
// [splits[m], splits[m + 1]). They are the vertices of `micro_batch`
// consecutive graphs, or of fewer graphs in the last micro-batch. The last
// split is V.
std::vector<int32_t> MicroBatchSplits(const GraphBatchView& batch,
                                      int32_t micro_batch);

// Finds the level of every vertex: its depth (0 without children, else 1 + the
// largest depth of its children) plus the number of levels of all earlier
// micro-batches. Returns kInvalidArgument for a cycle.
Status VertexLevels(const GraphBatchView& batch,
                    Span<int32_t> micro_batch_splits,
                    std::vector<int32_t>* levels);

// Returns a plan in which all vertices of one level and one type are a task.
// The tasks are sorted by level, then by type.
TaskPlan PlanByLevel(const GraphBatchView& batch,
                     const std::vector<int32_t>& levels);

// Plans by the policy `ratio`, one micro-batch after the other. `by_level` is
// the result of PlanByLevel for the same batch.
TaskPlan PlanByRatio(const GraphBatchView& batch,
                     Span<int32_t> micro_batch_splits, TaskPlan by_level);

// Sorts `vertices` by key_of[vertex], which is not negative; equal keys keep
// their order.
void CountingSort(Span<int32_t> key_of, std::vector<int32_t>* vertices);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_TASK_PLAN_H_
