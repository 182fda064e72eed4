#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/workers.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// Each row is drawn by itself, by a counter-based generator that has the seed
// as its key, and row number, operator and column as its counter.
class DropoutMaskOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("rate", &rate_));
    TF_RETURN_IF_ERROR(context->GetAttr("shape", &shape_));
    columns_ = shape_.num_elements();
    int number = 0;
    TF_RETURN_IF_ERROR(context->GetAttr("number", &number));
    number_ = static_cast<uint32_t>(number);
    if (rate_ >= 0 && rate_ < 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("rate: got ", rate_,
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
        number_,
        static_cast<uint32_t>(double{rate_} * 4294967296.0)};
    SerialWorkers workers;
    CpuBackend(&workers).DrawMasks(
        ToDType(mask->dtype()), drawn, numbers.data(), 1 / (1 - double{rate_}),
        {mask->data(), numbers.size(), columns_, columns_});
    return absl::OkStatus();
  }

 private:
  float rate_ = 0;
  tensorflow::TensorShape shape_;  // Of a row.
  int64_t columns_ = 0;
  uint32_t number_ = 0;
};

REGISTER_KERNEL_BUILDER(Name("CavsDropoutMask").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<DropoutMaskOp>);

}  // namespace
}  // namespace cavs
