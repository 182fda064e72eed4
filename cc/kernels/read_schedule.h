// Reads a minibatch, or the schedule of one, from the inputs of an op.
#ifndef CAVS_CC_KERNELS_READ_SCHEDULE_H_
#define CAVS_CC_KERNELS_READ_SCHEDULE_H_

#include "absl/status/status.h"
#include "cc/exec/model.h"
#include "cc/schedule/schedule.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// Reads inputs 0 to 3: child_splits, child_ids, graph_splits, vertex_type. They
// must outlive `batch`. Returns kInvalidArgument unless they are vectors.
absl::Status ReadGraphBatch(tensorflow::OpKernelContext* context,
                            GraphBatchView* batch);

// Returns kInvalidArgument unless an op has all lists of edges or none.
absl::Status CheckEdgeLists(int count);

// Reads inputs 0 to 3: order, task_splits, task_type, child_row, and the list
// "edges": edge_splits, edge_child, edge_number, or nothing. They must outlive
// `schedule`. Returns kInvalidArgument unless the schedule is valid and has all
// slots and edges that the model reads.
absl::Status ReadSchedule(tensorflow::OpKernelContext* context,
                          const Model& model, ScheduleView* schedule);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_READ_SCHEDULE_H_
