#include "cc/device/cpu/isa.h"
#include "cc/kernels/guarded_op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

class InstructionSetOp {
 public:
  absl::Status Init(tensorflow::OpKernelConstruction*) {
    return absl::OkStatus();
  }

  absl::Status Compute(tensorflow::OpKernelContext* context) const {
    tensorflow::Tensor* name = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, {}, &name));
    name->scalar<tensorflow::tstring>()() = IsaName(BestIsa());
    return absl::OkStatus();
  }
};

REGISTER_KERNEL_BUILDER(
    Name("CavsInstructionSet").Device(tensorflow::DEVICE_CPU),
    GuardedOp<InstructionSetOp>);

}  // namespace
}  // namespace cavs
