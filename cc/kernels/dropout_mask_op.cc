#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/workers.h"
#include "cc/ir/foreign_op.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// DropoutMaskOp draws a mask of dropout on the CPU (see DrawnMask).
class DropoutMaskOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("rate", &mask_.rate));
    TF_RETURN_IF_ERROR(context->GetAttr("shape", &shape_));
    columns_ = shape_.num_elements();
    int number = 0;
    TF_RETURN_IF_ERROR(context->GetAttr("number", &number));
    mask_.number = static_cast<uint32_t>(number);
    if (mask_.rate >= 0 && mask_.rate < 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("rate: got ", mask_.rate,
               " but expected one in [0, 1), the share that is dropped."));
  }

  absl::Status Compute(OpKernelContext* context) const {
    const Tensor& rows = context->input(0);
    const Tensor& seed = context->input(1);
    if (rows.dims() != 1 || seed.dims() != 1 || seed.NumElements() != 2) {
      return absl::InvalidArgumentError(
          StrCat("rows, seed: got shapes ", rows.shape().DebugString(), " and ",
                 seed.shape().DebugString(), " but expected [rows] and [2]."));
    }
    Tensor* mask = nullptr;
    tensorflow::TensorShape shape({rows.dim_size(0)});
    TF_RETURN_IF_ERROR(shape.AppendShapeWithStatus(shape_));
    TF_RETURN_IF_ERROR(context->allocate_output(0, shape, &mask));
    const auto numbers = rows.vec<int32_t>();
    const auto keys = seed.vec<int64_t>();
    const RandomMask drawn = {
        {static_cast<uint32_t>(keys(0)), static_cast<uint32_t>(keys(1))},
        mask_.number,
        mask_.threshold()};
    SerialWorkers workers;
    CpuBackend(&workers).DrawMasks(
        ToDType(mask->dtype()), drawn, numbers.data(), mask_.kept(),
        {mask->data(), numbers.size(), columns_, columns_});
    return absl::OkStatus();
  }

 private:
  DrawnMask mask_;
  tensorflow::TensorShape shape_;  // The shape of a row.
  int64_t columns_ = 0;
};

REGISTER_KERNEL_BUILDER(Name("CavsDropoutMask").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<DropoutMaskOp>);

}  // namespace
}  // namespace cavs
