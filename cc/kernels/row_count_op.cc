#include <cstdint>
#include <vector>

#include "cc/core/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

template <typename T>
class RowCountOp : public OpKernel {
 public:
  explicit RowCountOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("scale", &scale_));
    OP_REQUIRES_OK(context, context->GetAttr("bias", &bias_));
    OP_REQUIRES_OK(context, context->GetAttr("shape", &shape_));
    const int64_t n = shape_.num_elements();
    OP_REQUIRES(context,
                static_cast<int64_t>(scale_.size()) == n &&
                    static_cast<int64_t>(bias_.size()) == n,
                absl::InvalidArgumentError(StrCat(
                    "scale, bias: got ", scale_.size(), " and ", bias_.size(),
                    " values but expected ", n, ", as many as `shape` has.")));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& like = context->input(0);
    OP_REQUIRES(context, like.dims() >= 1,
                absl::InvalidArgumentError(
                    "like: got a scalar but expected [rows, ...]."));
    Tensor* value = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape_, &value));
    auto flat = value->flat<T>();
    for (int64_t i = 0; i < flat.size(); ++i) {
      flat(i) = static_cast<T>(scale_[i] * like.dim_size(0) + bias_[i]);
    }
  }

 private:
  std::vector<int64_t> scale_, bias_;
  tensorflow::TensorShape shape_;
};

REGISTER_KERNEL_BUILDER(Name("CavsRowCount")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int32_t>("out_type"),
                        RowCountOp<int32_t>);
REGISTER_KERNEL_BUILDER(Name("CavsRowCount")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int64_t>("out_type"),
                        RowCountOp<int64_t>);

}  // namespace
}  // namespace cavs
