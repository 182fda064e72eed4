#include "cc/kernels/read_schedule.h"

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "cc/exec/executor_checks.h"
#include "cc/kernels/status_util.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

constexpr int kEdgeLists = 3;

Span<int32_t> ToSpan(const Tensor& tensor) {
  return {tensor.flat<int32_t>().data(), tensor.NumElements()};
}

// Reads the first inputs of an op. `advice` says where to take them from.
absl::Status ReadVectors(
    OpKernelContext* context, const char* advice,
    std::initializer_list<std::pair<const char*, Span<int32_t>*>> vectors) {
  int index = 0;
  for (const auto& [name, values] : vectors) {
    const Tensor& tensor = context->input(index++);
    if (tensor.dims() != 1) {
      return absl::InvalidArgumentError(
          StrCat(name, ": got shape ", tensor.shape().DebugString(),
                 " but expected a vector. ", advice));
    }
    *values = ToSpan(tensor);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadGraphBatch(OpKernelContext* context, GraphBatchView* batch) {
  return ReadVectors(context, "Flatten it.",
                     {{"child_splits", &batch->child_splits},
                      {"child_ids", &batch->child_ids},
                      {"graph_splits", &batch->graph_splits},
                      {"vertex_type", &batch->vertex_type}});
}

absl::Status CheckEdgeLists(int count) {
  if (count == 0 || count == kEdgeLists) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("edges: got ", count, " lists but expected none, or ", kEdgeLists,
             ": edge_splits, edge_child, edge_number. Take them from a "
             "Schedule."));
}

absl::Status ReadSchedule(OpKernelContext* context, const Model& model,
                          ScheduleView* schedule) {
  TF_RETURN_IF_ERROR(ReadVectors(context, "Take it from a Schedule.",
                                 {{"order", &schedule->order},
                                  {"task_splits", &schedule->task_splits},
                                  {"task_type", &schedule->task_type}}));
  const Tensor& child_row = context->input(3);
  if (child_row.dims() != 2 || child_row.dim_size(0) > INT32_MAX) {
    return absl::InvalidArgumentError(
        StrCat("child_row: got shape ", child_row.shape().DebugString(),
               " but expected [arity, V]. Take it from a Schedule."));
  }
  schedule->child_row = ToSpan(child_row);
  schedule->arity = static_cast<int>(child_row.dim_size(0));
  tensorflow::OpInputList edges;
  TF_RETURN_IF_ERROR(context->input_list("edges", &edges));
  TF_RETURN_IF_ERROR(CheckEdgeLists(edges.size()));
  if (edges.size() > 0) {
    schedule->edge_splits = ToSpan(edges[0]);
    schedule->edge_child = ToSpan(edges[1]);
    schedule->edge_number = ToSpan(edges[2]);
  }
  TF_RETURN_IF_ERROR(ToAbsl(CheckSlots(model, *schedule)));
  const int num_types = model.num_types;
  return ToAbsl(ValidateSchedule(*schedule, num_types));
}

}  // namespace cavs
