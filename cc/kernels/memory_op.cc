#include <algorithm>
#include <cstdint>

#include "cc/base/machine.h"
#include "cc/device/cpu/cpu_device.h"
#include "cc/exec/executor.h"
#include "cc/exec/executor_checks.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/read_result_sizes.h"
#include "cc/kernels/read_schedule.h"
#include "cc/kernels/status_util.h"
#include "cc/kernels/step.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// What CavsForward and CavsBackward would take, without running them.
class MemoryOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(ReadStreams(context, &streams_));
    TF_RETURN_IF_ERROR(ReadResultSizes(context, &sizes_));
    TF_RETURN_IF_ERROR(Compile(context, device_, "vertex",
                               FunctionKind::kVertex,
                               /*keep_results=*/true, &forward_));
    TF_RETURN_IF_ERROR(Compile(context, device_, "vertex",
                               FunctionKind::kVertex,
                               /*keep_results=*/false, &inference_));
    TF_RETURN_IF_ERROR(Compile(context, device_, "gradient",
                               FunctionKind::kDerivative,
                               /*keep_results=*/true, &backward_));
    if (!has_backward() || MayBeDerivative(backward_.model, forward_.model)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        "gradient_functions: got those of other vertex functions but "
        "expected none, or the derivatives of vertex_functions.");
  }

  absl::Status Compute(OpKernelContext* context) const {
    ScheduleView schedule;
    TF_RETURN_IF_ERROR(ReadSchedule(context, forward_.model, &schedule));
    TF_RETURN_IF_ERROR(ToAbsl(CheckSlots(backward_.model, schedule)));
    ResultRows rows;
    TF_RETURN_IF_ERROR(ReadRows(context, schedule.num_vertices(), &rows));
    const bool two_streams = streams_ == 2;
    const MemoryNeed needs[] = {
        PredictMemory(forward_.model, schedule, sizes_, rows,
                      /*keep_tape=*/true, two_streams),
        has_backward()
            ? PredictBackwardMemory(backward_.model, forward_.model, schedule,
                                    sizes_, rows, two_streams)
            : MemoryNeed(),
        PredictMemory(inference_.model, schedule, sizes_, rows,
                      /*keep_tape=*/false, two_streams)};
    TF_RETURN_IF_ERROR(OutputNeeds(context, needs));
    Tensor* peak = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(1, TensorShape({}), &peak));
    peak->scalar<int64_t>()() = static_cast<int64_t>(
        has_backward() ? TrainingPeak(needs[0], needs[1]) : needs[0].total());
    return absl::OkStatus();
  }

 private:
  // How many rows come in, of each input, and go out.
  absl::Status ReadRows(OpKernelContext* context, int64_t num_vertices,
                        ResultRows* rows) const {
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
    return absl::OkStatus();
  }

  static absl::Status OutputNeeds(OpKernelContext* context,
                                  const MemoryNeed (&needs)[3]) {
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(
        context->allocate_output(0, TensorShape({3, 5}), &output));
    auto bytes = output->matrix<int64_t>();
    for (int pass = 0; pass < 3; ++pass) {
      const MemoryNeed& need = needs[pass];
      bytes(pass, 0) = static_cast<int64_t>(need.state);
      bytes(pass, 1) = static_cast<int64_t>(need.tape);
      bytes(pass, 2) = static_cast<int64_t>(need.temporaries);
      bytes(pass, 3) = static_cast<int64_t>(need.packed_weights);
      bytes(pass, 4) = static_cast<int64_t>(need.results);
    }
    return absl::OkStatus();
  }

  bool has_backward() const { return !backward_.model.programs.empty(); }

  const CpuDevice device_;
  int streams_ = 1;
  ResultSizes sizes_;
  CompiledModel forward_, inference_, backward_;
};

class AvailableMemoryOp {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({}), &output));
    output->scalar<int64_t>()() = static_cast<int64_t>(
        std::min(AvailableMemory(), static_cast<size_t>(INT64_MAX)));
    return absl::OkStatus();
  }
};

REGISTER_KERNEL_BUILDER(
    Name("CavsAvailableMemory").Device(tensorflow::DEVICE_CPU),
    GuardedOp<AvailableMemoryOp>);
REGISTER_KERNEL_BUILDER(Name("CavsMemory").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<MemoryOp>);

}  // namespace
}  // namespace cavs
