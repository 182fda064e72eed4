#include "cc/kernels/read_schedule.h"

#include <cstdint>

#include "cc/exec/executor_checks.h"
#include "cc/kernels/status_util.h"

namespace cavs {
namespace {

using ::tensorflow::Tensor;

Span<int32_t> ToSpan(const Tensor& tensor) {
  return {tensor.flat<int32_t>().data(), tensor.NumElements()};
}

}  // namespace

absl::Status ReadSchedule(tensorflow::OpKernelContext* context,
                          const Model& model, ScheduleView* schedule) {
  constexpr const char* kNames[] = {"order", "task_splits", "task_type"};
  Span<int32_t>* const vectors[] = {&schedule->order, &schedule->task_splits,
                                    &schedule->task_type};
  for (int i = 0; i < 3; ++i) {
    const Tensor& tensor = context->input(i);
    if (tensor.dims() != 1) {
      return absl::InvalidArgumentError(
          StrCat(kNames[i], ": got shape ", tensor.shape().DebugString(),
                 " but expected a vector. Take it from a Schedule."));
    }
    *vectors[i] = ToSpan(tensor);
  }
  const Tensor& child_row = context->input(3);
  if (child_row.dims() != 2 || child_row.dim_size(0) > INT32_MAX) {
    return absl::InvalidArgumentError(
        StrCat("child_row: got shape ", child_row.shape().DebugString(),
               " but expected [arity, V]. Take it from a Schedule."));
  }
  schedule->child_row = ToSpan(child_row);
  schedule->arity = static_cast<int>(child_row.dim_size(0));
  TF_RETURN_IF_ERROR(ToAbsl(CheckSlots(model, *schedule)));
  const int num_types = static_cast<int>(model.programs.size());
  return ToAbsl(ValidateSchedule(*schedule, num_types));
}

}  // namespace cavs
