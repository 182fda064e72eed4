#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/schedule.h"
#include "cc/kernels/status_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Adapts MakeSchedule. Stateless, so any number of threads may run it at once.
class ScheduleOp : public OpKernel {
 public:
  explicit ScheduleOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("arity", &arity_));
    OP_REQUIRES_OK(context, context->GetAttr("num_types", &num_types_));
    std::string policy;
    OP_REQUIRES_OK(context, context->GetAttr("policy", &policy));
    policy_ = policy == "ratio" ? Policy::kRatio : Policy::kDepth;
  }

  void Compute(OpKernelContext* context) override {
    GraphBatchView batch;
    const std::pair<const char*, Span<int32_t>*> inputs[] = {
        {"child_splits", &batch.child_splits},
        {"child_ids", &batch.child_ids},
        {"graph_splits", &batch.graph_splits},
        {"vertex_type", &batch.vertex_type}};
    for (int i = 0; i < 4; ++i) {
      const auto& [name, values] = inputs[i];
      OP_REQUIRES_OK(context, ReadVector(name, context->input(i), values));
    }
    const Tensor& micro_batch = context->input(4);
    OP_REQUIRES(context, micro_batch.dims() == 0,
                ToAbsl(InvalidArgument("micro_batch: got shape ",
                                       micro_batch.shape().DebugString(),
                                       " but expected a scalar. Pass one "
                                       "number of graphs.")));
    const ScheduleOptions options(policy_, micro_batch.scalar<int32_t>()());
    Schedule schedule;
    OP_REQUIRES_OK(context, ToAbsl(MakeSchedule(batch, arity_, num_types_,
                                                options, &schedule)));
    const int64_t num_vertices = batch.num_vertices();
    const int64_t num_tasks = schedule.view().num_tasks();
    Output(context, 0, TensorShape({num_vertices}), schedule.order);
    Output(context, 1, TensorShape({num_tasks + 1}), schedule.task_splits);
    Output(context, 2, TensorShape({num_tasks}), schedule.task_type);
    Output(context, 3, TensorShape({arity_, num_vertices}), schedule.child_row);
  }

 private:
  static absl::Status ReadVector(const char* name, const Tensor& tensor,
                                 Span<int32_t>* values) {
    if (tensor.dims() != 1) {
      return ToAbsl(InvalidArgument(name, ": got shape ",
                                    tensor.shape().DebugString(),
                                    " but expected a vector. Flatten it."));
    }
    *values = {tensor.flat<int32_t>().data(), tensor.NumElements()};
    return absl::OkStatus();
  }

  static void Output(OpKernelContext* context, int index,
                     const TensorShape& shape,
                     const std::vector<int32_t>& values) {
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(index, shape, &output));
    std::copy(values.begin(), values.end(), output->flat<int32_t>().data());
  }

  int arity_ = 0;
  int num_types_ = 1;
  Policy policy_ = Policy::kDepth;
};

REGISTER_KERNEL_BUILDER(Name("CavsSchedule").Device(tensorflow::DEVICE_CPU),
                        ScheduleOp);

}  // namespace
}  // namespace cavs
