// Which vertices make one task: the policies of MakeSchedule. Internal to it;
// batches are valid here.
#ifndef CAVS_CC_SCHEDULE_TASK_PLAN_H_
#define CAVS_CC_SCHEDULE_TASK_PLAN_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/schedule/graph_batch.h"

namespace cavs {

// The tasks of a schedule before their rows have an order.
struct TaskPlan {
  std::vector<int32_t> vertices;     // By task; within a task by id.
  std::vector<int32_t> task_of;      // Per vertex.
  std::vector<int32_t> task_splits;  // Of `vertices`. One more than tasks.
  std::vector<int32_t> task_type;    // Per task.
};

// The vertices of sub-batch s are [splits[s], splits[s + 1]): those of
// `micro_batch` consecutive graphs, of fewer in the last. The last split is V.
std::vector<int32_t> SubBatchSplits(const GraphBatchView& batch,
                                    int32_t micro_batch);

// Step of every vertex: its depth (0 without children, else 1 + the deepest
// child's) plus the steps of all earlier sub-batches. Rejects a cycle.
Status VertexSteps(const GraphBatchView& batch, Span<int32_t> sub_batch_splits,
                   std::vector<int32_t>* steps);

// One task of all vertices of a step and a type, by step, then
// by type.
TaskPlan PlanByStep(const GraphBatchView& batch,
                    const std::vector<int32_t>& steps);

// Policy `ratio`, sub-batch by sub-batch. `by_step` is what PlanByStep returned
// for the same batch.
TaskPlan PlanByRatio(const GraphBatchView& batch,
                     Span<int32_t> sub_batch_splits, TaskPlan by_step);

// Sorts `vertices` by key_of[vertex], which is not negative; equal keys keep
// their order.
void CountingSort(Span<int32_t> key_of, std::vector<int32_t>* vertices);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_TASK_PLAN_H_
