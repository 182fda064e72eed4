#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/byte_count.h"
#include "cc/exec/executor.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/check_rows.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/op_device.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/read_result_sizes.h"
#include "cc/kernels/register_on_gpu.h"
#include "cc/kernels/status_util.h"
#include "cc/kernels/tape_variant.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/variant_op_registry.h"

namespace cavs {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::DataTypeString;
using ::tensorflow::OpInputList;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// BackwardOp runs a tape backward. Init() compiles its programs, which never
// change afterwards, so any number of threads may call Compute() at once.
class BackwardOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    int streams;
    TF_RETURN_IF_ERROR(ReadStreams(context, &streams));
    TF_RETURN_IF_ERROR(OpDevice::Make(context, streams, &device_));
    TF_RETURN_IF_ERROR(context->GetAttr("pulls", &pulls_));
    TF_RETURN_IF_ERROR(context->GetAttr("pull_shapes", &pull_shapes_));
    TF_RETURN_IF_ERROR(
        CompileTraining(context, device_->device(), &forward_, &compiled_));
    has_forward_ = MayBeDerivative(compiled_.model, forward_.model);
    TF_RETURN_IF_ERROR(ReadPushes(context));
    TF_RETURN_IF_ERROR(CheckPulls(context));
    return ReadCaptures(context);
  }

  absl::Status Compute(OpKernelContext* context) const {
    const Tensor& input = context->input(0);
    const TapeVariant* handle =
        input.dims() == 0
            ? input.scalar<tensorflow::Variant>()().get<TapeVariant>()
            : nullptr;
    if (handle == nullptr || handle->tape == nullptr) {
      return absl::InvalidArgumentError(
          "tape: got an empty one but expected that of a CavsForward with "
          "keep_tape=True. Compute the gradient in the program that ran "
          "CavsForward, or call the model under a GradientTape.");
    }
    if (handle->device != device_->NameOfMemory(context)) {
      return absl::InvalidArgumentError(
          StrCat("tape: got one in memory of ",
                 handle->device.empty() ? "the host" : handle->device,
                 " but expected one in that of ", context->device()->name(),
                 ", where its CavsBackward is. Compute gradients on the device "
                 "on which the model was called."));
    }
    const Tape& tape = *handle->tape;
    TF_RETURN_IF_ERROR(CheckTape(tape));
    BackwardArguments arguments;
    arguments.pulls = pulls_;
    arguments.sizes = &sizes_;
    if (has_forward_) arguments.model = &forward_.model;
    TF_RETURN_IF_ERROR(ReadPushGrads(context, tape, &arguments));
    TF_RETURN_IF_ERROR(AllocatePullGrads(context, tape, &arguments));
    TF_RETURN_IF_ERROR(AllocateCaptureGrads(context, &arguments));

    return device_->Run(context, handle->pool.get(), /*one_stream=*/false,
                        [&](const StepContext& step) {
                          return RunBackward(compiled_.model, tape, arguments,
                                             step);
                        });
  }

 private:
  absl::Status ReadPushes(OpKernelConstruction* context) {
    std::vector<DataType> types;
    TF_RETURN_IF_ERROR(context->GetAttr("Tpushes", &types));
    return FindRowTypes(compiled_.model, NodeKind::kPushGrad, "push_grads",
                        types, &push_types_);
  }

  absl::Status CheckPulls(OpKernelConstruction* context) {
    std::vector<DataType> types;
    TF_RETURN_IF_ERROR(context->GetAttr("Tpulls", &types));
    if (pulls_.size() != types.size()) {
      return absl::InvalidArgumentError(
          StrCat("pulls: got ", pulls_.size(), " numbers but expected ",
                 types.size(), ", one per gradient of a pull."));
    }
    TF_RETURN_IF_ERROR(CheckAreNumbers("Tpulls", types));
    std::vector<RowType> pulls;
    TF_RETURN_IF_ERROR(FindRowTypes(compiled_.model, NodeKind::kPullGrad,
                                    "pull_grads", types, &pulls));
    TF_RETURN_IF_ERROR(CheckRowShapes("pull_shapes", pulls, pull_shapes_));
    for (size_t i = 0; i < pulls_.size(); ++i) {
      sizes_.pull_grad_row.push_back(BytesOf(pull_shapes_[i], types[i]));
    }
    return absl::OkStatus();
  }

  absl::Status ReadCaptures(OpKernelConstruction* context) {
    std::vector<PartialTensorShape> shapes;
    std::vector<DataType> types;
    TF_RETURN_IF_ERROR(context->GetAttr("capture_shapes", &shapes));
    TF_RETURN_IF_ERROR(context->GetAttr("Tcaptures", &types));
    TF_RETURN_IF_ERROR(context->GetAttr("capture_counts", &capture_counts_));
    TF_RETURN_IF_ERROR(CheckCaptureCounts(
        capture_counts_, compiled_.model.num_types, types.size()));
    TF_RETURN_IF_ERROR(CheckAreNumbers("Tcaptures", types));
    TF_RETURN_IF_ERROR(CheckRowShapes(
        "capture_shapes", std::vector<RowType>(types.size()), shapes));
    for (size_t i = 0; i < shapes.size(); ++i) {
      capture_shapes_.emplace_back();
      const auto sizes = shapes[i].dim_sizes();
      const bool exists =
          CheckedProduct(sizes) >= 0 &&
          TensorShape::BuildTensorShape(sizes, &capture_shapes_.back()).ok();
      if (!exists) {
        return absl::InvalidArgumentError(
            StrCat("capture_shapes[", i, "]: got ", shapes[i].DebugString(),
                   " but expected one of at most 2^48 elements, the shape of "
                   "the capture."));
      }
      sizes_.capture_grads =
          SaturatingAdd(sizes_.capture_grads, BytesOf(shapes[i], types[i]));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckAreNumbers(const char* name,
                                      const std::vector<DataType>& types) {
    for (size_t i = 0; i < types.size(); ++i) {
      if (SizeOf(ToDType(types[i])) > 0) continue;
      return absl::InvalidArgumentError(
          StrCat(name, "[", i, "]: got ", DataTypeString(types[i]),
                 " but expected a numeric type. Only numbers have gradients."));
    }
    return absl::OkStatus();
  }

  absl::Status CheckTape(const Tape& tape) const {
    bool fits = tape.num_types == compiled_.model.num_types;
    for (int pull : pulls_) {
      fits =
          fits && pull >= 0 && pull < static_cast<int>(tape.pull_rows.size());
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "tape: got that of another model but expected that of the CavsForward "
        "of which this is the gradient.");
  }

  absl::Status ReadPushGrads(OpKernelContext* context, const Tape& tape,
                             BackwardArguments* arguments) const {
    OpInputList grads;
    TF_RETURN_IF_ERROR(context->input_list("push_grads", &grads));
    for (int i = 0; i < grads.size(); ++i) {
      const int64_t rows = tape.rows_of_push(i).count();
      const Tensor& grad = grads[i];
      const ArgumentName name("push_grads", i);
      if (grad.dims() < 1 || grad.dim_size(0) != rows) {
        return absl::InvalidArgumentError(
            StrCat(name, ": got shape ", grad.shape().DebugString(),
                   " but expected [", rows, ", ...], as the push."));
      }
      TF_RETURN_IF_ERROR(CheckRows(name, push_types_[i], grad.shape()));
      arguments->push_grads.push_back(ToBlock(grad));
    }
    return absl::OkStatus();
  }

  absl::Status AllocatePullGrads(OpKernelContext* context, const Tape& tape,
                                 BackwardArguments* arguments) const {
    for (size_t i = 0; i < pull_shapes_.size(); ++i) {
      const ArgumentName name("pull_grads", i);
      TensorShape shape;
      TF_RETURN_IF_ERROR(ShapeOfRows(name, tape.pull_rows[pulls_[i]].count(),
                                     pull_shapes_[i], &shape));
      Tensor* grad = nullptr;
      TF_RETURN_IF_ERROR(AllocateOutput(context, name, i, shape, &grad));
      arguments->pull_grads.push_back(ToBlock(*grad));
    }
    return absl::OkStatus();
  }

  absl::Status AllocateCaptureGrads(OpKernelContext* context,
                                    BackwardArguments* arguments) const {
    size_t next = 0;
    for (const int count : capture_counts_) {
      arguments->capture_grads.emplace_back();
      arguments->capture_grads.back().reserve(count);
      for (int i = 0; i < count; ++i, ++next) {
        Tensor* grad = nullptr;
        TF_RETURN_IF_ERROR(
            AllocateOutput(context, ArgumentName("capture_grads", next),
                           static_cast<int>(pull_shapes_.size() + next),
                           capture_shapes_[next], &grad));
        arguments->capture_grads.back().push_back(ReferTo(*grad));
      }
    }
    return absl::OkStatus();
  }

  std::unique_ptr<const OpDevice> device_;
  std::vector<int> capture_counts_;
  std::vector<int> pulls_;  // The pulls whose gradients are computed.
  std::vector<PartialTensorShape> pull_shapes_;
  std::vector<TensorShape> capture_shapes_;
  std::vector<RowType> push_types_;
  ResultSizes sizes_;
  CompiledModel forward_, compiled_;
  bool has_forward_ = false;  // Whether compiled_ may be its derivative.
};

REGISTER_KERNEL_BUILDER(Name("CavsBackward").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<BackwardOp>);

[[maybe_unused]] const bool kOnGpu =
    RegisterOnGpu<GuardedOp<BackwardOp>>("CavsBackward", {});

// TensorFlow asks for zeros in place of a gradient that is not computed. For a
// tape they are an empty tape.
absl::Status EmptyTape(OpKernelContext*, const TapeVariant&, TapeVariant* out) {
  *out = TapeVariant();
  return absl::OkStatus();
}

// The macros use unqualified names.
using ::tensorflow::TypeIndex;
namespace variant_op_registry_fn_registration =
    ::tensorflow::variant_op_registry_fn_registration;
REGISTER_UNARY_VARIANT_UNARY_OP_FUNCTION(
    ::tensorflow::ZEROS_LIKE_VARIANT_UNARY_OP, ::tensorflow::DEVICE_CPU,
    TapeVariant, EmptyTape);
REGISTER_UNARY_VARIANT_UNARY_OP_FUNCTION(
    ::tensorflow::ZEROS_LIKE_VARIANT_UNARY_OP, ::tensorflow::DEVICE_GPU,
    TapeVariant, EmptyTape);

// Loops keep the tapes of their iterations in lists, which may be on a GPU. A
// copy to or from a GPU is the same tape, which stays on the host.
absl::Status SameTape(
    const TapeVariant& from, TapeVariant* to,
    const tensorflow::UnaryVariantOpRegistry::AsyncTensorDeviceCopyFn&) {
  *to = from;
  return absl::OkStatus();
}

INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    TapeVariant, ::tensorflow::VariantDeviceCopyDirection::HOST_TO_DEVICE,
    SameTape);
INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    TapeVariant, ::tensorflow::VariantDeviceCopyDirection::DEVICE_TO_HOST,
    SameTape);
INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    TapeVariant, ::tensorflow::VariantDeviceCopyDirection::DEVICE_TO_DEVICE,
    SameTape);

}  // namespace
}  // namespace cavs
