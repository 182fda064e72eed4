#include <cstdint>
#include <string>
#include <vector>

#include "cc/kernels/allocate.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/read_schedule.h"
#include "cc/kernels/status_util.h"
#include "cc/schedule/schedule.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// ScheduleOp runs MakeSchedule(). It has no state, so any number of threads may
// run it at once.
class ScheduleOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("arity", &arity_));
    TF_RETURN_IF_ERROR(context->GetAttr("num_types", &num_types_));
    int lists;
    TF_RETURN_IF_ERROR(context->GetAttr("num_edge_lists", &lists));
    TF_RETURN_IF_ERROR(CheckEdgeLists(lists));
    edges_ = lists > 0;
    return context->GetAttr("policy", &policy_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    GraphBatchView batch;
    TF_RETURN_IF_ERROR(ReadGraphBatch(context, &batch));
    const Tensor& micro_batch = context->input(4);
    if (micro_batch.dims() != 0) {
      return ToAbsl(InvalidArgument("micro_batch: got shape ",
                                    micro_batch.shape().DebugString(),
                                    " but expected a scalar. Pass one "
                                    "number of graphs."));
    }
    ScheduleOptions options(policy_.c_str(), micro_batch.scalar<int32_t>()());
    options.edges = edges_;
    Schedule schedule;
    TF_RETURN_IF_ERROR(
        ToAbsl(MakeSchedule(batch, arity_, num_types_, options, &schedule)));
    const int64_t num_vertices = batch.num_vertices();
    const int64_t num_tasks = schedule.view().num_tasks();
    TF_RETURN_IF_ERROR(CopyToOutput(
        context, "schedule", 0, TensorShape({num_vertices}), schedule.order));
    TF_RETURN_IF_ERROR(CopyToOutput(context, "schedule", 1,
                                    TensorShape({num_tasks + 1}),
                                    schedule.task_splits));
    TF_RETURN_IF_ERROR(CopyToOutput(
        context, "schedule", 2, TensorShape({num_tasks}), schedule.task_type));
    TF_RETURN_IF_ERROR(CopyToOutput(context, "schedule", 3,
                                    TensorShape({arity_, num_vertices}),
                                    schedule.child_row));
    if (!edges_) return absl::OkStatus();
    int index = 4;
    for (const std::vector<int32_t>* list :
         {&schedule.edge_splits, &schedule.edge_child, &schedule.edge_number}) {
      const auto size = static_cast<int64_t>(list->size());
      TF_RETURN_IF_ERROR(CopyToOutput(context, "schedule", index++,
                                      TensorShape({size}), *list));
    }
    return absl::OkStatus();
  }

 private:
  int arity_ = 0;
  int num_types_ = 1;
  bool edges_ = false;
  std::string policy_;
};

REGISTER_KERNEL_BUILDER(Name("CavsSchedule").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<ScheduleOp>);

}  // namespace
}  // namespace cavs
