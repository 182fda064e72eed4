#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/cuda_op_device.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/register_on_gpu.h"
#include "cc/kernels/team_of.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// LossArguments checks the arguments of CavsCrossEntropy and allocates its
// outputs.
template <typename Label>
class LossArguments {
 public:
  absl::Status Read(OpKernelContext* context) {
    const Tensor& logits = context->input(0);
    const Tensor& labels = context->input(1);
    TF_RETURN_IF_ERROR(CheckShapes(logits.shape(), labels.shape()));
    TF_RETURN_IF_ERROR(ReadLabels(labels, logits.dim_size(1)));
    TF_RETURN_IF_ERROR(
        AllocateOutput(context, "loss", 0, labels.shape(), &loss));
    return AllocateOutput(context, "gradient", 1, logits.shape(), &gradient);
  }

  std::vector<int32_t> columns;  // The labels.
  Tensor *loss = nullptr, *gradient = nullptr;

 private:
  static absl::Status CheckShapes(const TensorShape& logits,
                                  const TensorShape& labels) {
    if (logits.dims() == 2 && labels.dims() == 1 &&
        logits.dim_size(0) == labels.dim_size(0)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        StrCat("logits, labels: got shapes ", logits.DebugString(), " and ",
               labels.DebugString(),
               " but expected [rows, classes] and [rows]. Pass a label per "
               "row."));
  }

  absl::Status ReadLabels(const Tensor& labels, int64_t num_classes) {
    const auto flat = labels.flat<Label>();
    columns.resize(flat.size());
    for (int64_t i = 0; i < flat.size(); ++i) {
      if (flat(i) < 0 || flat(i) >= num_classes) {
        return absl::InvalidArgumentError(StrCat(
            "labels[", i, "]: got ", flat(i), " but expected a class in [0, ",
            num_classes, "). Correct it, or leave the row out."));
      }
      columns[i] = static_cast<int32_t>(flat(i));
    }
    return absl::OkStatus();
  }
};

template <typename Label>
class CrossEntropyOp {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
    LossArguments<Label> own;
    TF_RETURN_IF_ERROR(own.Read(context));
    if (own.columns.empty()) return absl::OkStatus();
    const Tensor& logits = context->input(0);
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get())
        .CrossEntropy(ToDType(logits.dtype()), ToBlock(logits),
                      own.columns.data(), own.loss->data(),
                      own.gradient->data());
    return absl::OkStatus();
  }
};

// The same on a GPU: the host checks the labels and copies them there.
template <typename Label>
class CrossEntropyOnGpuOp : public OpOnGpu {
 public:
  absl::Status Compute(OpKernelContext* context) const {
    LossArguments<Label> own;
    TF_RETURN_IF_ERROR(own.Read(context));
    if (own.columns.empty()) return absl::OkStatus();
    const Tensor& logits = context->input(0);
    return device().Enqueue(
        context, {own.columns}, [&](const CudaOpDevice::Work& work) {
          return work.training.CrossEntropy(
              ToDType(logits.dtype()), ToBlock(logits), work.lists[0],
              own.loss->data(), own.gradient->data(), work.stream->queue());
        });
  }
};

// ScaleArguments checks the arguments of CavsCrossEntropyGrad and allocates its
// output.
struct ScaleArguments {
  absl::Status Read(OpKernelContext* context) {
    const Tensor &gradient = context->input(0), &grad = context->input(1);
    if (gradient.dims() == 2 && grad.dims() == 1 &&
        gradient.dim_size(0) == grad.dim_size(0)) {
      return AllocateOutput(context, "product", 0, gradient.shape(), &product);
    }
    return absl::InvalidArgumentError(
        StrCat("gradient, grad: got shapes ", gradient.shape().DebugString(),
               " and ", grad.shape().DebugString(),
               " but expected [rows, classes] and [rows]. Pass a number per "
               "row."));
  }

  Tensor* product = nullptr;
};

// CrossEntropyGradOp multiplies each row by its number. If the number is the
// same for all rows, as in the gradient of a mean, it multiplies all elements
// at once.
template <typename T>
class CrossEntropyGradOp {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
    ScaleArguments own;
    TF_RETURN_IF_ERROR(own.Read(context));
    if (own.product->NumElements() == 0) return absl::OkStatus();
    const Tensor &gradient = context->input(0), &grad = context->input(1);
    const auto numbers = grad.vec<T>();
    const bool is_same = std::equal(
        numbers.data() + 1, numbers.data() + numbers.size(), numbers.data());
    ConstBlock rows = ToBlock(gradient), factors = {grad.data(), 0, 1, 1};
    Block to = ToBlock(*own.product);
    factors.rows = rows.rows;
    if (is_same) {
      const int64_t all = gradient.NumElements();
      rows = {gradient.data(), 1, all, all};
      to = {own.product->data(), 1, all, all};
      factors.rows = 1;
    }
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get())
        .Binary(Elementwise::kMul, ToDType(gradient.dtype()), rows, factors,
                to);
    return absl::OkStatus();
  }
};

// The same on a GPU, without a look at the numbers.
class CrossEntropyGradOnGpuOp : public OpOnGpu {
 public:
  absl::Status Compute(OpKernelContext* context) const {
    ScaleArguments own;
    TF_RETURN_IF_ERROR(own.Read(context));
    if (own.product->NumElements() == 0) return absl::OkStatus();
    const Tensor& gradient = context->input(0);
    return device().Enqueue(context, {}, [&](const CudaOpDevice::Work& work) {
      return work.training.ScaleRows(
          ToDType(gradient.dtype()), ToBlock(gradient),
          context->input(1).data(), own.product->data(), work.stream->queue());
    });
  }
};

[[maybe_unused]] const bool kOnGpu[] = {
    RegisterOnGpu<GuardedOp<CrossEntropyOnGpuOp<int32_t>>>(
        "CavsCrossEntropy", {"labels"}, {tensorflow::DT_INT32}, "Tlabels"),
    RegisterOnGpu<GuardedOp<CrossEntropyOnGpuOp<int64_t>>>(
        "CavsCrossEntropy", {"labels"}, {tensorflow::DT_INT64}, "Tlabels"),
    RegisterOnGpu<GuardedOp<CrossEntropyGradOnGpuOp>>("CavsCrossEntropyGrad",
                                                      {})};

REGISTER_KERNEL_BUILDER(Name("CavsCrossEntropyGrad")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<float>("T"),
                        GuardedSharedOp<CrossEntropyGradOp<float>>);
REGISTER_KERNEL_BUILDER(Name("CavsCrossEntropyGrad")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<double>("T"),
                        GuardedSharedOp<CrossEntropyGradOp<double>>);
REGISTER_KERNEL_BUILDER(Name("CavsCrossEntropy")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int32_t>("Tlabels"),
                        GuardedSharedOp<CrossEntropyOp<int32_t>>);
REGISTER_KERNEL_BUILDER(Name("CavsCrossEntropy")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int64_t>("Tlabels"),
                        GuardedSharedOp<CrossEntropyOp<int64_t>>);

}  // namespace
}  // namespace cavs
