#include "cc/kernels/read_schedule.h"

#include <algorithm>

#include "cc/kernels/status_util.h"

namespace cavs {
namespace {

using ::tensorflow::Tensor;

Span<int32_t> ToSpan(const Tensor& tensor) {
  return {tensor.flat<int32_t>().data(), tensor.NumElements()};
}

int NumSlots(const Model& model) {
  int slots = 0;
  for (const Program& program : model.programs) {
    for (const Node& node : program.nodes) {
      if (node.kind == NodeKind::kGather) {
        slots = std::max(slots, node.index + 1);
      }
    }
  }
  return slots;
}

}  // namespace

absl::Status ReadSchedule(tensorflow::OpKernelContext* context,
                          const Model& model, ScheduleView* schedule) {
  const Tensor& child_row = context->input(3);
  if (child_row.dims() != 2) {
    return absl::InvalidArgumentError(
        StrCat("child_row: got shape ", child_row.shape().DebugString(),
               " but expected [arity, V]. Take it from a Schedule."));
  }
  schedule->order = ToSpan(context->input(0));
  schedule->task_splits = ToSpan(context->input(1));
  schedule->task_type = ToSpan(context->input(2));
  schedule->child_row = ToSpan(child_row);
  schedule->arity = static_cast<int>(child_row.dim_size(0));
  const int slots = NumSlots(model);
  if (schedule->arity < slots) {
    return absl::InvalidArgumentError(
        StrCat("schedule: got child rows of ", schedule->arity,
               " slots but expected at least ", slots,
               ", as the vertex function gathers from slot ", slots - 1,
               ". Make the schedule with the arity of the vertex function."));
  }
  const int num_types = static_cast<int>(model.programs.size());
  return ToAbsl(ValidateSchedule(*schedule, num_types));
}

}  // namespace cavs
