#include "cc/kernels/compile.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cc/base/byte_count.h"
#include "cc/ir/passes/run_passes.h"
#include "cc/kernels/lower.h"
#include "cc/kernels/partial_pulls.h"
#include "cc/kernels/status_util.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"

namespace cavs {
namespace {

// Returns the name that the user knows, for example "Cell.vertex" for
// "__inference_Cell.vertex_42".
std::string Title(absl::string_view function) {
  absl::ConsumePrefix(&function, "__inference_");
  const size_t number = function.rfind('_');
  return std::string(function.substr(0, number));
}

struct Lowered {
  std::vector<Program> programs;
  std::vector<std::vector<int>> result_captures;
  std::vector<std::map<int, tensorflow::DataType>> capture_types;
};

// Lowers the functions in attribute <which>_functions, one per vertex type,
// whose signatures are in attribute <which>_signatures. Returns
// kInvalidArgument if `expected` is given and a function is of another kind.
absl::Status LowerAll(tensorflow::OpKernelConstruction* context,
                      const std::string& which,
                      std::optional<FunctionKind> expected, Lowered* all) {
  std::vector<tensorflow::NameAttrList> names;
  std::vector<std::string> signatures;
  TF_RETURN_IF_ERROR(context->GetAttr(which + "_functions", &names));
  TF_RETURN_IF_ERROR(context->GetAttr(which + "_signatures", &signatures));
  if (signatures.size() != names.size()) {
    return absl::InvalidArgumentError(
        StrCat(which, "_signatures: got ", signatures.size(), " but expected ",
               names.size(), ", one per function."));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    LoweredFunction lowered;
    TF_RETURN_IF_ERROR(Lower(context->function_library(), names[i].name(),
                             signatures[i], &lowered));
    if (expected.has_value() && lowered.kind != *expected) {
      return absl::InvalidArgumentError(StrCat(
          which, "_signatures[", i, "]: got \"", signatures[i],
          "\" but expected that of a ",
          *expected == FunctionKind::kVertex ? "vertex function" : "derivative",
          ". Leave the signature as GraphSupport writes it."));
    }
    lowered.program.name = Title(names[i].name());
    lowered.program.is_derivative = lowered.kind == FunctionKind::kDerivative;
    all->programs.push_back(std::move(lowered.program));
    all->result_captures.push_back(std::move(lowered.result_captures));
    all->capture_types.push_back(std::move(lowered.capture_types));
  }
  return absl::OkStatus();
}

absl::Status ReadPassOptions(tensorflow::OpKernelConstruction* context,
                             PassOptions* options) {
  TF_RETURN_IF_ERROR(context->GetAttr("merge", &options->merge));
  TF_RETURN_IF_ERROR(context->GetAttr("fuse", &options->fuse));
  TF_RETURN_IF_ERROR(context->GetAttr("split", &options->split));
  TF_RETURN_IF_ERROR(context->GetAttr("share", &options->share));
  TF_RETURN_IF_ERROR(context->GetAttr("skip_zeros", &options->skip_zeros));
  TF_RETURN_IF_ERROR(context->GetAttr("specialize", &options->specialize));
  TF_RETURN_IF_ERROR(context->GetAttr("views", &options->views));
  TF_RETURN_IF_ERROR(context->GetAttr("eager", &options->eager));
  return context->GetAttr("lazy", &options->lazy);
}

void Name(Lowered lowered, CompiledModel* compiled) {
  compiled->capture_types = std::move(lowered.capture_types);
  if (compiled->model.programs.empty()) return;
  compiled->model.result_captures = std::move(lowered.result_captures);
}

}  // namespace

absl::Status Compile(tensorflow::OpKernelConstruction* context,
                     const Device& device, const std::string& which,
                     std::optional<FunctionKind> expected,
                     CompiledModel* compiled) {
  PassOptions options;
  TF_RETURN_IF_ERROR(ReadPassOptions(context, &options));
  Lowered lowered;
  TF_RETURN_IF_ERROR(LowerAll(context, which, expected, &lowered));
  TF_RETURN_IF_ERROR(ToAbsl(
      CompileModel(lowered.programs, options, &device, &compiled->model)));
  Name(std::move(lowered), compiled);
  return absl::OkStatus();
}

absl::Status CompileInference(tensorflow::OpKernelConstruction* context,
                              const Device& device, CompiledModel* compiled) {
  PassOptions options;
  TF_RETURN_IF_ERROR(ReadPassOptions(context, &options));
  Lowered lowered;
  TF_RETURN_IF_ERROR(
      LowerAll(context, "vertex", FunctionKind::kVertex, &lowered));
  for (Program& program : lowered.programs) program.results.clear();
  PartialPulls partial;
  TF_RETURN_IF_ERROR(ReadPartialPulls(context, &partial));
  TF_RETURN_IF_ERROR(ToAbsl(CompileModel(lowered.programs, {}, partial, options,
                                         &device, &compiled->model, nullptr)));
  Name(std::move(lowered), compiled);
  return absl::OkStatus();
}

absl::Status CompileTraining(tensorflow::OpKernelConstruction* context,
                             const Device& device, CompiledModel* forward,
                             CompiledModel* backward) {
  PassOptions options;
  TF_RETURN_IF_ERROR(ReadPassOptions(context, &options));
  Lowered functions, derivatives;
  TF_RETURN_IF_ERROR(
      LowerAll(context, "vertex", FunctionKind::kVertex, &functions));
  TF_RETURN_IF_ERROR(
      LowerAll(context, "gradient", FunctionKind::kDerivative, &derivatives));
  PartialPulls partial;
  TF_RETURN_IF_ERROR(ReadPartialPulls(context, &partial));
  TF_RETURN_IF_ERROR(ToAbsl(
      CompileModel(functions.programs, derivatives.programs, partial, options,
                   &device, &forward->model, &backward->model)));
  Name(std::move(functions), forward);
  Name(std::move(derivatives), backward);
  return absl::OkStatus();
}

Block ToBlock(const tensorflow::Tensor& tensor) {
  const int64_t rows = tensor.dim_size(0);
  const auto sizes = tensor.shape().dim_sizes();
  // If there are no rows, the product of the other sizes may overflow.
  // CheckedProduct() is negative then.
  const int64_t columns = std::max<int64_t>(
      0, CheckedProduct(Span<int64_t>(sizes.data() + 1, tensor.dims() - 1)));
  return {tensor.data(), rows, columns, columns};
}

}  // namespace cavs
