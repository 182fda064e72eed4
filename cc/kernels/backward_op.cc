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
#include "cc/kernels/program_builder.h"
#include "cc/kernels/status_util.h"
#include "cc/kernels/step.h"
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

// Replays a tape. As stateless as ForwardOp.
class BackwardOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(MakeStreams(context, &streams_));
    TF_RETURN_IF_ERROR(context->GetAttr("pulls", &pulls_));
    TF_RETURN_IF_ERROR(context->GetAttr("pull_shapes", &pull_shapes_));
    TF_RETURN_IF_ERROR(Compile(context, device_, "gradient",
                               FunctionKind::kDerivative,
                               /*keep_results=*/true, &compiled_));
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
          "keep_tape=True. Compute the gradient in the program that ran the "
          "forward pass, or call the model under a GradientTape.");
    }
    const Tape& tape = *handle->tape;
    TF_RETURN_IF_ERROR(CheckTape(tape));
    BackwardArguments arguments;
    arguments.pulls = pulls_;
    std::vector<Tensor> padded;
    TF_RETURN_IF_ERROR(ReadPushGrads(context, tape, &padded, &arguments));
    TF_RETURN_IF_ERROR(AllocatePullGrads(context, tape, &arguments));
    TF_RETURN_IF_ERROR(AllocateCaptureGrads(context, &arguments));

    const Step step(context, streams_.get(), handle->team, handle->pool);
    return ToAbsl(
        RunBackward(compiled_.model, tape, arguments, step.context()));
  }

 private:
  absl::Status ReadPushes(OpKernelConstruction* context) {
    std::vector<DataType> types;
    TF_RETURN_IF_ERROR(context->GetAttr("Tpushes", &types));
    return FindRowTypes(compiled_.model, NodeKind::kPushGrad, "push_grads",
                        types, &push_types_);
  }

  absl::Status CheckPulls(OpKernelConstruction* context) const {
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
    return CheckRowShapes("pull_shapes", pulls, pull_shapes_);
  }

  // Has every derivative the captures whose gradients it computes?
  absl::Status ReadCaptures(OpKernelConstruction* context) {
    std::vector<PartialTensorShape> shapes;
    std::vector<DataType> types;
    TF_RETURN_IF_ERROR(context->GetAttr("capture_shapes", &shapes));
    TF_RETURN_IF_ERROR(context->GetAttr("Tcaptures", &types));
    TF_RETURN_IF_ERROR(context->GetAttr("capture_counts", &capture_counts_));
    const std::vector<CompiledProgram>& programs = compiled_.model.programs;
    TF_RETURN_IF_ERROR(
        CheckCaptureCounts(capture_counts_, programs.size(), types.size()));
    TF_RETURN_IF_ERROR(CheckAreNumbers("Tcaptures", types));
    TF_RETURN_IF_ERROR(CheckRowShapes(
        "capture_shapes", std::vector<RowType>(types.size()), shapes));
    for (const PartialTensorShape& shape : shapes) {
      capture_shapes_.emplace_back();
      const auto sizes = shape.dim_sizes();
      const bool exists =
          CheckedProduct(sizes) >= 0 &&
          TensorShape::BuildTensorShape(sizes, &capture_shapes_.back()).ok();
      if (!exists) return BadCapture(capture_shapes_.size() - 1);
    }
    size_t first = 0;
    for (size_t type = 0; type < programs.size(); ++type) {
      for (size_t i = 0; i < compiled_.result_captures[type].size(); ++i) {
        const int capture = compiled_.result_captures[type][i];
        const Program& program = programs[type];
        const Symbol& sum = program.symbols[program.results[i]];
        if (capture >= capture_counts_[type] ||
            sum.dtype != ToDType(types[first + capture]) ||
            (sum.shape_known &&
             sum.columns() !=
                 capture_shapes_[first + capture].num_elements())) {
          return BadCapture(first + capture);
        }
      }
      first += capture_counts_[type];
    }
    return absl::OkStatus();
  }

  static absl::Status BadCapture(size_t i) {
    return absl::InvalidArgumentError(
        StrCat("capture_grads[", i,
               "]: got another number, type or shape than that of what is "
               "computed but expected the same. Give each the type and the "
               "shape of its capture."));
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
    bool fits = tape.saved.size() == compiled_.model.programs.size();
    for (int pull : pulls_) {
      fits =
          fits && pull >= 0 && pull < static_cast<int>(tape.pull_rows.size());
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "tape: got that of another model but expected that of the forward pass "
        "this is the gradient of.");
  }

  absl::Status ReadPushGrads(OpKernelContext* context, const Tape& tape,
                             std::vector<Tensor>* padded,
                             BackwardArguments* arguments) const {
    OpInputList grads;
    TF_RETURN_IF_ERROR(context->input_list("push_grads", &grads));
    const PassedRows& rows = tape.push_rows;
    for (int i = 0; i < grads.size(); ++i) {
      const Tensor& grad = grads[i];
      const std::string name = StrCat("push_grads[", i, "]");
      if (grad.dims() < 1 || grad.dim_size(0) != rows.count()) {
        return absl::InvalidArgumentError(
            StrCat(name, ": got shape ", grad.shape().DebugString(),
                   " but expected [", rows.count(), ", ...], as the push."));
      }
      TF_RETURN_IF_ERROR(CheckRows(name, push_types_[i], grad.shape()));
      arguments->push_grads.push_back(ToBlock(grad));
      // What no derivative reads needs no row of zeros.
      if (rows.all() || !push_types_[i].shape.has_value()) continue;
      padded->emplace_back();
      TF_RETURN_IF_ERROR(PutZerosBefore(context, name, grad, &padded->back(),
                                        &arguments->push_grads.back()));
      arguments->result_bytes += padded->back().TotalBytes();
    }
    return absl::OkStatus();
  }

  // Copies rows behind one of zeros, which vertices without a row read.
  static absl::Status PutZerosBefore(OpKernelContext* context,
                                     const std::string& name,
                                     const Tensor& grad, Tensor* padded,
                                     Block* block) {
    const auto sizes = grad.shape().dim_sizes();
    const std::vector<int64_t> row_sizes(sizes.begin() + 1, sizes.end());
    TensorShape shape;
    TF_RETURN_IF_ERROR(
        ShapeOfRows(name, sizes[0] + 1, PartialTensorShape(row_sizes), &shape));
    TF_RETURN_IF_ERROR(
        AllocateTemporary(context, name, grad.dtype(), shape, padded));
    char* data = static_cast<char*>(padded->data());
    const size_t bytes = grad.TotalBytes();
    const size_t row = padded->TotalBytes() - bytes;
    std::fill_n(data, row, 0);
    std::copy_n(static_cast<const char*>(grad.data()), bytes, data + row);
    block->data = data + row;
    return absl::OkStatus();
  }

  absl::Status AllocatePullGrads(OpKernelContext* context, const Tape& tape,
                                 BackwardArguments* arguments) const {
    for (size_t i = 0; i < pull_shapes_.size(); ++i) {
      const std::string name = StrCat("pull_grads[", i, "]");
      TensorShape shape;
      TF_RETURN_IF_ERROR(ShapeOfRows(name, tape.pull_rows[pulls_[i]].count(),
                                     pull_shapes_[i], &shape));
      Tensor* grad = nullptr;
      TF_RETURN_IF_ERROR(AllocateOutput(context, name, i, shape, &grad));
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
    for (int type = 0; type < tape.rows.num_types(); ++type) {
      if (Has(compiled_.model.programs[type], NodeKind::kPullGrad, i)) continue;
      for (int32_t row : rows.of_type(type)) {
        if (row != kZeroRow) std::fill_n(data + row * bytes, bytes, 0);
      }
    }
  }

  // Gradients of captures that a function does not use are zero.
  absl::Status AllocateCaptureGrads(OpKernelContext* context,
                                    BackwardArguments* arguments) const {
    size_t next = 0;
    for (size_t type = 0; type < capture_counts_.size(); ++type) {
      const std::vector<int>& captures = compiled_.result_captures[type];
      std::vector<TensorRef> grads(captures.size());
      for (int i = 0; i < capture_counts_[type]; ++i, ++next) {
        Tensor* grad = nullptr;
        TF_RETURN_IF_ERROR(
            AllocateOutput(context, StrCat("capture_grads[", next, "]"),
                           static_cast<int>(pull_shapes_.size() + next),
                           capture_shapes_[next], &grad));
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

  const CpuDevice device_;
  std::unique_ptr<engine::Engine> streams_;
  std::vector<int> capture_counts_;
  std::vector<int> pulls_;  // Those that are differentiated by.
  std::vector<PartialTensorShape> pull_shapes_;
  std::vector<TensorShape> capture_shapes_;
  std::vector<RowType> push_types_;
  CompiledModel compiled_;
};

REGISTER_KERNEL_BUILDER(Name("CavsBackward").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<BackwardOp>);

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
