#include <cstdint>
#include <vector>

#include "cc/base/status.h"
#include "cc/kernels/guarded_op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

template <typename T>
class RowCountOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("scale", &scale_));
    TF_RETURN_IF_ERROR(context->GetAttr("bias", &bias_));
    TF_RETURN_IF_ERROR(context->GetAttr("shape", &shape_));
    const int64_t n = shape_.num_elements();
    if (static_cast<int64_t>(scale_.size()) == n &&
        static_cast<int64_t>(bias_.size()) == n) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        StrCat("scale, bias: got ", scale_.size(), " and ", bias_.size(),
               " values but expected ", n,
               ", as many as `shape` has. Give one of each per element."));
  }

  absl::Status Compute(OpKernelContext* context) const {
    const Tensor& like = context->input(0);
    if (like.dims() == 0) {
      return absl::InvalidArgumentError(
          "like: got a scalar but expected [rows, ...]. Pass what has rows.");
    }
    Tensor* value = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, shape_, &value));
    auto flat = value->flat<T>();
    for (int64_t i = 0; i < flat.size(); ++i) {
      // Unsigned numbers, because their overflow is defined.
      flat(i) = static_cast<T>(static_cast<uint64_t>(scale_[i]) *
                                   static_cast<uint64_t>(like.dim_size(0)) +
                               static_cast<uint64_t>(bias_[i]));
    }
    return absl::OkStatus();
  }

 private:
  std::vector<int64_t> scale_, bias_;
  tensorflow::TensorShape shape_;
};

REGISTER_KERNEL_BUILDER(Name("CavsRowCount")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int32_t>("out_type"),
                        GuardedOp<RowCountOp<int32_t>>);
REGISTER_KERNEL_BUILDER(Name("CavsRowCount")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int64_t>("out_type"),
                        GuardedOp<RowCountOp<int64_t>>);

}  // namespace
}  // namespace cavs
