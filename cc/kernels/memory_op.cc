#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cc/base/machine.h"
#include "cc/exec/choose_programs.h"
#include "cc/exec/executor.h"
#include "cc/exec/executor_checks.h"
#include "cc/exec/micro_batch.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/framework_memory.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/op_device.h"
#include "cc/kernels/partial_pulls.h"
#include "cc/kernels/read_result_sizes.h"
#include "cc/kernels/read_schedule.h"
#include "cc/kernels/register_on_gpu.h"
#include "cc/kernels/status_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// A TrainingStep compiles the functions of CavsForward and CavsBackward for an
// op that predicts their memory on its own device and does not run them. It
// never changes after Init().
class TrainingStep {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(ReadStreams(context, &streams_));
    TF_RETURN_IF_ERROR(ReadResultSizes(context, &sizes_));
    TF_RETURN_IF_ERROR(ReadPartialPulls(context, &partial_));
    TF_RETURN_IF_ERROR(OpDevice::Make(context, /*streams=*/1, &device_));
    TF_RETURN_IF_ERROR(
        CompileTraining(context, device_->device(), &forward_, &backward_));
    if (!has_backward() || MayBeDerivative(backward_.model, forward_.model)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        "gradient_functions: got those of other vertex functions but "
        "expected none, or the derivatives of vertex_functions.");
  }

  const Device& device() const { return device_->device(); }
  const Model& forward() const { return forward_.model; }
  // The model has no programs if there are no derivatives.
  const Model& backward() const { return backward_.model; }
  const ResultSizes& sizes() const { return sizes_; }
  const std::set<int>& partial_pulls() const { return partial_.pulls; }

  // The schedule must be valid, with a slot for every gather of the functions.
  TrainingNeed Predict(const ScheduleView& schedule,
                       const std::vector<RowMap>& pull_rows,
                       const ResultRows& rows) const {
    return PredictTraining(forward_.model,
                           has_backward() ? &backward_.model : nullptr,
                           schedule, pull_rows, sizes_, rows, streams_ == 2);
  }

 private:
  bool has_backward() const { return !backward_.model.programs.empty(); }

  int streams_ = 1;
  std::unique_ptr<const OpDevice> device_;
  ResultSizes sizes_;
  PartialPulls partial_;
  CompiledModel forward_, backward_;
};

// Reads inputs 4 and 5: the number of rows of each pull, and the number of
// vertices whose pushes are wanted. Reads the rows of the pulls in `partial`
// too.
absl::Status ReadResultRows(OpKernelContext* context,
                            const std::set<int>& partial, int64_t num_vertices,
                            ResultRows* rows, std::vector<RowMap>* pull_rows) {
  const Tensor& pulled = context->input(4);
  const Tensor& pushed = context->input(5);
  if (pulled.dims() != 1 || pushed.dims() != 0) {
    return absl::InvalidArgumentError(StrCat(
        "pulled_rows, pushed_rows: got shapes ", pulled.shape().DebugString(),
        " and ", pushed.shape().DebugString(),
        " but expected a vector and a scalar. Give one number per "
        "pull, and one for all pushes."));
  }
  const auto numbers = pulled.flat<int64_t>();
  rows->pulled.assign(numbers.data(), numbers.data() + numbers.size());
  rows->pushed = pushed.scalar<int64_t>()();
  rows->all_push = rows->pushed < 0;
  if (rows->all_push) rows->pushed = num_vertices;
  for (int64_t& n : rows->pulled) {
    if (n < 0) n = num_vertices;
  }
  pull_rows->resize(rows->pulled.size());
  TF_RETURN_IF_ERROR(
      ReadPartialRows(context, partial, num_vertices, pull_rows));
  for (const int pull : partial) rows->pulled[pull] = (*pull_rows)[pull].count;
  return absl::OkStatus();
}

// Sets the numbers of rows of inputs and outputs with a row per edge, which is
// the number of edges of the schedule.
void CountEdges(const Model& model, const ScheduleView& schedule,
                ResultRows* rows, std::vector<RowMap>* pull_rows) {
  for (const int pull : model.edge_pulls) {
    if (pull >= static_cast<int>(pull_rows->size())) continue;
    (*pull_rows)[pull] = AllEdges(schedule);
    rows->pulled[pull] = schedule.num_edges();
  }
  rows->edges = schedule.num_edges();
  rows->edge_pushes = model.edge_pushes;
}

template <typename T>
absl::Status OutputScalar(OpKernelContext* context, int index, T value) {
  Tensor* output = nullptr;
  TF_RETURN_IF_ERROR(context->allocate_output(index, TensorShape({}), &output));
  output->scalar<T>()() = value;
  return absl::OkStatus();
}

absl::Status OutputBytes(OpKernelContext* context, int index, size_t bytes) {
  return OutputScalar(
      context, index,
      static_cast<int64_t>(std::min(bytes, static_cast<size_t>(INT64_MAX))));
}

class MemoryOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(step_.Init(context));
    return CompileInference(context, step_.device(), &inference_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    ScheduleView schedule;
    TF_RETURN_IF_ERROR(ReadSchedule(context, step_.forward(), &schedule));
    TF_RETURN_IF_ERROR(ToAbsl(CheckSlots(step_.backward(), schedule)));
    ResultRows rows;
    std::vector<RowMap> pull_rows;
    TF_RETURN_IF_ERROR(ReadResultRows(context, step_.partial_pulls(),
                                      schedule.num_vertices(), &rows,
                                      &pull_rows));
    CountEdges(step_.forward(), schedule, &rows, &pull_rows);
    const TrainingNeed training = step_.Predict(schedule, pull_rows, rows);
    TF_RETURN_IF_ERROR(OutputNeeds(
        context, {training.forward, training.backward,
                  PredictInference(inference_.model, schedule, pull_rows,
                                   step_.sizes(), rows)}));
    TF_RETURN_IF_ERROR(OutputBytes(context, 1, training.peak));
    return OutputTraits(context,
                        TraitsOfPrograms(step_.forward(), schedule, pull_rows));
  }

 private:
  static absl::Status OutputTraits(OpKernelContext* context,
                                   const std::vector<int>& traits) {
    Tensor* output = nullptr;
    const int64_t tasks = static_cast<int64_t>(traits.size());
    TF_RETURN_IF_ERROR(
        context->allocate_output(2, TensorShape({tasks}), &output));
    std::copy(traits.begin(), traits.end(), output->flat<int32_t>().data());
    return absl::OkStatus();
  }

  static absl::Status OutputNeeds(OpKernelContext* context,
                                  const MemoryNeed (&needs)[3]) {
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(
        context->allocate_output(0, TensorShape({3, 5}), &output));
    auto bytes = output->matrix<int64_t>();
    for (int direction = 0; direction < 3; ++direction) {
      const MemoryNeed& need = needs[direction];
      bytes(direction, 0) = static_cast<int64_t>(need.state);
      bytes(direction, 1) = static_cast<int64_t>(need.tape);
      bytes(direction, 2) = static_cast<int64_t>(need.temporaries);
      bytes(direction, 3) = static_cast<int64_t>(need.packed_weights);
      bytes(direction, 4) = static_cast<int64_t>(need.results);
    }
    return absl::OkStatus();
  }

  TrainingStep step_;
  CompiledModel inference_;
};

// MicroBatchOp runs ChooseMicroBatch().
class MicroBatchOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("arity", &arity_));
    TF_RETURN_IF_ERROR(context->GetAttr("policy", &policy_));
    TF_RETURN_IF_ERROR(step_.Init(context));
    const int slots =
        std::max(step_.forward().num_slots, step_.backward().num_slots);
    if (arity_ >= slots) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("arity: got ", arity_, " but expected at least ", slots,
               ", as the functions gather from slot ", slots - 1,
               ". Pass the arity of the vertex function."));
  }

  absl::Status Compute(OpKernelContext* context) const {
    GraphBatchView batch;
    TF_RETURN_IF_ERROR(ReadGraphBatch(context, &batch));
    ResultRows rows;
    std::vector<RowMap> pull_rows;
    TF_RETURN_IF_ERROR(ReadResultRows(context, step_.partial_pulls(),
                                      batch.num_vertices(), &rows, &pull_rows));
    const Tensor& available = context->input(6);
    if (available.dims() != 0) {
      return absl::InvalidArgumentError(
          StrCat("available: got shape ", available.shape().DebugString(),
                 " but expected a scalar. Pass one number of bytes."));
    }
    MicroBatch chosen;
    ScheduleOptions options(policy_.c_str());
    options.edges = step_.forward().reads_edges;
    TF_RETURN_IF_ERROR(ToAbsl(ChooseMicroBatch(
        batch, arity_, step_.forward().num_types, options,
        std::max<int64_t>(0, available.scalar<int64_t>()()),
        [&](const ScheduleView& schedule) {
          CountEdges(step_.forward(), schedule, &rows, &pull_rows);
          return step_.Predict(schedule, pull_rows, rows).peak;
        },
        &chosen)));
    TF_RETURN_IF_ERROR(OutputScalar(context, 0, chosen.graphs));
    return OutputBytes(context, 1, chosen.whole_bytes);
  }

 private:
  int arity_ = 0;
  std::string policy_;
  TrainingStep step_;
};

// AvailableMemoryOp reports the memory that its device can still provide.
class AvailableMemoryOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    if (context->device_type() == tensorflow::DEVICE_CPU) {
      return absl::OkStatus();
    }
    of_device_.emplace(
        context->device()->GetAllocator(tensorflow::AllocatorAttributes()));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext* context) const {
    return OutputBytes(
        context, 0,
        of_device_.has_value() ? of_device_->Available() : AvailableMemory());
  }

 private:
  std::optional<FrameworkMemory> of_device_;  // Of a GPU.
};

REGISTER_KERNEL_BUILDER(
    Name("CavsAvailableMemory").Device(tensorflow::DEVICE_CPU),
    GuardedOp<AvailableMemoryOp>);
REGISTER_KERNEL_BUILDER(Name("CavsMemory").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<MemoryOp>);
REGISTER_KERNEL_BUILDER(Name("CavsMicroBatch").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<MicroBatchOp>);

[[maybe_unused]] const bool kOnGpu[] = {
    RegisterOnGpu<GuardedOp<AvailableMemoryOp>>("CavsAvailableMemory",
                                                {"bytes"}),
    RegisterOnGpu<GuardedOp<MemoryOp>>(
        "CavsMemory", {"order", "task_splits", "task_type", "child_row",
                       "pulled_rows", "pushed_rows", "partial_vertices",
                       "edges", "bytes", "training", "task_traits"}),
    RegisterOnGpu<GuardedOp<MicroBatchOp>>(
        "CavsMicroBatch",
        {"child_splits", "child_ids", "graph_splits", "vertex_type",
         "pulled_rows", "pushed_rows", "available", "partial_vertices",
         "micro_batch", "whole_bytes"})};

}  // namespace
}  // namespace cavs
