// How vertices are grouped into tasks: the policies of MakeSchedule. Internal
// to it; batches have been validated.
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
  // Into `vertices`; one value more than tasks.
  std::vector<int32_t> task_splits;
  std::vector<int32_t> task_type;  // Per task.
};

// The vertices of micro-batch m are [splits[m], splits[m + 1]): those of
// `micro_batch` consecutive graphs, of fewer in the last. The last split is V.
std::vector<int32_t> MicroBatchSplits(const GraphBatchView& batch,
                                      int32_t micro_batch);

// The level of every vertex: its depth (0 without children, else 1 + the
// deepest child's) plus the number of levels of all earlier micro-batches.
// Rejects a cycle.
Status VertexLevels(const GraphBatchView& batch,
                    Span<int32_t> micro_batch_splits,
                    std::vector<int32_t>* levels);

// One task of all vertices of a level and a type, sorted by level, then by
// type.
TaskPlan PlanByLevel(const GraphBatchView& batch,
                     const std::vector<int32_t>& levels);

// Policy `ratio`, one micro-batch after the other. `by_level` is what
// PlanByLevel returned for the same batch.
TaskPlan PlanByRatio(const GraphBatchView& batch,
                     Span<int32_t> micro_batch_splits, TaskPlan by_level);

// Sorts `vertices` by key_of[vertex], which is not negative; equal keys keep
// their order.
void CountingSort(Span<int32_t> key_of, std::vector<int32_t>* vertices);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_TASK_PLAN_H_
