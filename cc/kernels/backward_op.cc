#include <algorithm>
#include <memory>
#include <vector>

#include "cc/core/executor.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/status_util.h"
#include "cc/kernels/step.h"
#include "cc/kernels/tape_variant.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/variant_op_registry.h"

namespace cavs {
namespace {

using ::tensorflow::OpInputList;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Replays a tape. As stateless as ForwardOp.
class BackwardOp : public OpKernel {
 public:
  explicit BackwardOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, MakeStreams(context, &streams_));
    OP_REQUIRES_OK(context,
                   context->GetAttr("capture_counts", &capture_counts_));
    OP_REQUIRES_OK(context, context->GetAttr("pulls", &pulls_));
    OP_REQUIRES_OK(context, context->GetAttr("pull_shapes", &pull_shapes_));
    OP_REQUIRES_OK(context,
                   context->GetAttr("capture_shapes", &capture_shapes_));
    OP_REQUIRES_OK(context, Compile(context, "gradient",
                                    /*keep_results=*/true, &compiled_));
  }

  void Compute(OpKernelContext* context) override {
    const auto* handle =
        context->input(0).scalar<tensorflow::Variant>()().get<TapeVariant>();
    OP_REQUIRES(
        context, handle != nullptr && handle->tape != nullptr,
        absl::InvalidArgumentError(
            "tape: got an empty one but expected that of a CavsForward with "
            "keep_tape=True. Compute the gradient in the program that ran the "
            "forward pass, or call the model under a GradientTape."));
    const Tape& tape = *handle->tape;
    OP_REQUIRES_OK(context, CheckTape(tape));
    BackwardArguments arguments;
    arguments.pulls = pulls_;
    std::vector<Tensor> padded;
    OP_REQUIRES_OK(context, ReadPushGrads(context, tape, &padded, &arguments));
    OP_REQUIRES_OK(context, AllocatePullGrads(context, tape, &arguments));
    OP_REQUIRES_OK(context, AllocateCaptureGrads(context, &arguments));

    const Step step(context, streams_.get(), handle->team, handle->pool);
    OP_REQUIRES_OK(context, ToAbsl(RunBackward(compiled_.model, tape, arguments,
                                               step.environment())));
  }

 private:
  absl::Status CheckTape(const Tape& tape) const {
    bool fits = tape.rows.size() == compiled_.model.programs.size() &&
                pulls_.size() == pull_shapes_.size();
    for (int pull : pulls_) {
      fits =
          fits && pull >= 0 && pull < static_cast<int>(tape.pull_rows.size());
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "tape: got that of another model but expected that of the forward pass "
        "this is the gradient of.");
  }

  static absl::Status ReadPushGrads(OpKernelContext* context, const Tape& tape,
                                    std::vector<Tensor>* padded,
                                    BackwardArguments* arguments) {
    OpInputList grads;
    TF_RETURN_IF_ERROR(context->input_list("push_grads", &grads));
    const PassedRows& rows = tape.push_rows;
    for (const Tensor& grad : grads) {
      if (grad.dims() < 1 || grad.dim_size(0) != rows.count()) {
        return absl::InvalidArgumentError(
            StrCat("push_grads[", arguments->push_grads.size(), "]: got shape ",
                   grad.shape().DebugString(), " but expected [", rows.count(),
                   ", ...], as the push."));
      }
      arguments->push_grads.push_back(ToBlock(grad));
      if (rows.all()) continue;
      padded->emplace_back();
      TF_RETURN_IF_ERROR(PutZerosBefore(context, grad, &padded->back(),
                                        &arguments->push_grads.back()));
      arguments->result_bytes += padded->back().TotalBytes();
    }
    return absl::OkStatus();
  }

  // Copies rows behind one of zeros, which vertices without a row read.
  static absl::Status PutZerosBefore(OpKernelContext* context,
                                     const Tensor& grad, Tensor* padded,
                                     Block* block) {
    TensorShape shape = grad.shape();
    shape.set_dim(0, shape.dim_size(0) + 1);
    TF_RETURN_IF_ERROR(context->allocate_temp(grad.dtype(), shape, padded));
    char* data = static_cast<char*>(padded->data());
    const size_t bytes = grad.TotalBytes();
    const size_t row = padded->TotalBytes() - bytes;
    std::fill_n(data, row, 0);
    std::copy_n(static_cast<const char*>(grad.data()), bytes, data + row);
    block->data = data + row;
    return absl::OkStatus();
  }

  absl::Status AllocatePullGrads(OpKernelContext* context, const Tape& tape,
                                 BackwardArguments* arguments) {
    for (size_t i = 0; i < pull_shapes_.size(); ++i) {
      TensorShape shape;
      if (!pull_shapes_[i].AsTensorShape(&shape)) {
        return absl::InvalidArgumentError("pull_shapes: not fully known");
      }
      shape.InsertDim(0, tape.pull_rows[pulls_[i]].count());
      Tensor* grad = nullptr;
      TF_RETURN_IF_ERROR(context->allocate_output(i, shape, &grad));
      ZeroUnwritten(tape, i, grad);
      arguments->result_bytes += grad->TotalBytes();
      arguments->pull_grads.push_back(ToBlock(*grad));
    }
    return absl::OkStatus();
  }

  // Of vertices whose input nothing was computed from.
  void ZeroUnwritten(const Tape& tape, size_t i, Tensor* grad) const {
    const PassedRows& rows = tape.pull_rows[pulls_[i]];
    const size_t bytes =
        grad->TotalBytes() / std::max<int64_t>(1, rows.count());
    char* data = static_cast<char*>(grad->data());
    for (size_t type = 0; type < tape.rows.size(); ++type) {
      if (Has(compiled_.model.programs[type], NodeKind::kPullGrad, i)) continue;
      const int32_t* row = rows.of_type(type);
      for (int64_t k = 0; k < tape.rows[type].size(); ++k) {
        if (row[k] != kZeroRow) std::fill_n(data + row[k] * bytes, bytes, 0);
      }
    }
  }

  // Gradients of captures that a function does not use are zero.
  absl::Status AllocateCaptureGrads(OpKernelContext* context,
                                    BackwardArguments* arguments) {
    size_t next = 0;
    for (size_t type = 0; type < capture_counts_.size(); ++type) {
      const std::vector<int>& captures = compiled_.result_captures[type];
      std::vector<TensorRef> grads(captures.size());
      for (int i = 0; i < capture_counts_[type]; ++i, ++next) {
        TensorShape shape;
        if (next >= capture_shapes_.size() ||
            !capture_shapes_[next].AsTensorShape(&shape)) {
          return absl::InvalidArgumentError("capture_shapes: not fully known");
        }
        Tensor* grad = nullptr;
        TF_RETURN_IF_ERROR(
            context->allocate_output(pull_shapes_.size() + next, shape, &grad));
        arguments->result_bytes += grad->TotalBytes();
        const auto found = std::find(captures.begin(), captures.end(), i);
        if (found == captures.end()) {
          Zero(grad);
        } else {
          grads[found - captures.begin()] = ToTensorRef(*grad);
        }
      }
      arguments->capture_grads.push_back(std::move(grads));
    }
    return absl::OkStatus();
  }

  static void Zero(Tensor* tensor) {
    std::fill_n(static_cast<char*>(tensor->data()), tensor->TotalBytes(), 0);
  }

  std::unique_ptr<engine::Engine> streams_;
  std::vector<int> capture_counts_;
  std::vector<int> pulls_;  // Those that are differentiated by.
  std::vector<PartialTensorShape> pull_shapes_, capture_shapes_;
  CompiledModel compiled_;
};

REGISTER_KERNEL_BUILDER(Name("CavsBackward").Device(tensorflow::DEVICE_CPU),
                        BackwardOp);

// TensorFlow asks for zeros in place of the gradient that no one computes.
absl::Status EmptyTape(OpKernelContext*, const TapeVariant&, TapeVariant* out) {
  *out = TapeVariant();
  return absl::OkStatus();
}

using ::tensorflow::TypeIndex;  // The macro names it unqualified.
REGISTER_UNARY_VARIANT_UNARY_OP_FUNCTION(
    ::tensorflow::ZEROS_LIKE_VARIANT_UNARY_OP, ::tensorflow::DEVICE_CPU,
    TapeVariant, EmptyTape);

}  // namespace
}  // namespace cavs
