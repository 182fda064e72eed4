#include <algorithm>
#include <cstdint>

#include "cc/base/machine.h"
#include "cc/device/cpu/cpu_device.h"
#include "cc/exec/executor.h"
#include "cc/exec/executor_checks.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/guarded_op.h"
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
    const bool two_streams = streams_ == 2;
    const MemoryNeed needs[] = {
        PredictMemory(forward_.model, schedule, /*keep_tape=*/true,
                      two_streams),
        has_backward() ? PredictBackwardMemory(backward_.model, forward_.model,
                                               schedule, two_streams)
                       : MemoryNeed(),
        PredictMemory(inference_.model, schedule, /*keep_tape=*/false,
                      two_streams)};
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(
        context->allocate_output(0, TensorShape({3, 4}), &output));
    auto bytes = output->matrix<int64_t>();
    for (int pass = 0; pass < 3; ++pass) {
      const MemoryNeed& need = needs[pass];
      bytes(pass, 0) = static_cast<int64_t>(need.state);
      bytes(pass, 1) = static_cast<int64_t>(need.tape);
      bytes(pass, 2) = static_cast<int64_t>(need.temporaries);
      bytes(pass, 3) = static_cast<int64_t>(need.packed_weights);
    }
    return absl::OkStatus();
  }

 private:
  bool has_backward() const { return !backward_.model.programs.empty(); }

  const CpuDevice device_;
  int streams_ = 1;
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
