#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/ir/label.h"
#include "cc/ir/overlaps.h"
#include "cc/ir/print.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/op_device.h"
#include "cc/kernels/register_on_gpu.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return quoted + "\"";
}

// Returns the items as text, for example "[1, 2]".
template <typename T>
std::string List(const std::vector<T>& items) {
  std::string text = "[";
  for (const T& item : items) text += StrCat(text.size() > 1 ? ", " : "", item);
  return text + "]";
}

// A Writer writes one program as JSON. It numbers the operators: nodes, and the
// members of a group in place of the group.
class Writer {
 public:
  Writer(const CompiledProgram& program, bool on_gpu)
      : program_(program),
        on_gpu_(on_gpu),
        overlaps_(program),
        writers_(program.symbols.size()) {}

  // Returns the fields of the program without braces, so that the caller may
  // add more fields.
  std::string Run() {
    std::vector<std::string> nodes;
    for (const Node& node : program_.nodes) nodes.push_back(Describe(node));
    return StrCat("\"nodes\": ", List(nodes),
                  ", \"program\": ", Quoted(Print(program_)));
  }

 private:
  std::string Describe(const Node& node) {
    const bool adds = AddsInPlace(node);
    // A group of one operator is shown as that operator.
    const bool is_group = node.members.size() > 1;
    const Node& shown = node.members.size() == 1 ? node.members[0] : node;
    std::vector<std::string> members;
    for (size_t i = 0; is_group && i < node.members.size(); ++i) {
      members.push_back(StrCat("{", Operator(node.members[i]), "}"));
    }
    std::vector<std::string> merged;
    for (const std::string& name : node.merged) merged.push_back(Quoted(name));
    const bool is_own = node.kind != NodeKind::kForeign;
    const bool gpus_run =
        is_own || MaskOf(program_, node) != nullptr || IsCast(program_, node);
    return StrCat(
        "{\"kind\": \"", RowOf(shown.kind).name, "\", \"stage\": \"",
        ToString(node.stage),
        "\", \"native\": ", (on_gpu_ ? gpus_run : is_own) ? "true" : "false",
        ", \"gpus_run\": ", gpus_run ? "true" : "false",
        ", \"index\": ", node.index, ", \"label\": ", Quoted(node.label),
        ", \"adds\": ", adds ? "true" : "false", ", \"merged\": ", List(merged),
        ", \"members\": ", List(members), ", ",
        is_group ? StrCat("\"name\": ", Quoted(node.name),
                          ", \"op\": ", Quoted(node.op))
                 : Operator(shown),
        "}");
  }

  // Returns whether the node adds to values that another node has written to
  // its output.
  bool AddsInPlace(const Node& node) const {
    return node.accumulate ||
           (SumsRows(node.kind) && !writers_[node.outputs[0]].empty());
  }

  // Writes one operator, and the numbers of the operators that it waits for.
  std::string Operator(const Node& node) {
    std::vector<int> after;
    for (int id : node.inputs) AddWriters(id, &after);
    if (AddsInPlace(node)) AddWriters(node.outputs[0], &after);
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    for (int id : node.outputs) writers_[id].push_back(count_);
    return StrCat("\"id\": ", count_++, ", \"name\": ", Quoted(node.name),
                  ", \"op\": ", Quoted(node.op), ", \"after\": ", List(after));
  }

  void AddWriters(int id, std::vector<int>* after) const {
    for (int other : overlaps_.of(id)) {
      after->insert(after->end(), writers_[other].begin(),
                    writers_[other].end());
    }
  }

  const CompiledProgram& program_;
  const bool on_gpu_;
  const Overlaps overlaps_;
  // writers_[s] are the numbers of the operators so far that write to symbol s.
  std::vector<std::vector<int>> writers_;
  int count_ = 0;
};

// Returns the variants of a type's program, each with the sum of the traits of
// its tasks.
std::vector<std::string> Variants(const Model& model, int type, bool on_gpu) {
  std::vector<std::string> variants;
  for (int traits = 1; traits < kNumTraitSets; ++traits) {
    const int variant = model.variants[type][traits];
    if (variant < 0) continue;
    variants.push_back(StrCat("{\"traits\": ", traits, ", ",
                              Writer(model.programs[variant], on_gpu).Run(),
                              "}"));
  }
  return variants;
}

// Adds the programs of a model, in the order of their types.
void Describe(const Model& model, bool on_gpu,
              std::vector<std::string>* described) {
  for (int type = 0; type < model.num_types; ++type) {
    described->push_back(
        StrCat("{", Writer(model.programs[type], on_gpu).Run(),
               ", \"variants\": ", List(Variants(model, type, on_gpu)), "}"));
  }
}

// DescribeOp describes the programs of its own device.
class DescribeOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    std::unique_ptr<const OpDevice> device;
    TF_RETURN_IF_ERROR(OpDevice::Make(context, /*streams=*/1, &device));
    CompiledModel forward, backward;
    std::vector<tensorflow::NameAttrList> gradients;
    TF_RETURN_IF_ERROR(context->GetAttr("gradient_functions", &gradients));
    if (gradients.empty()) {
      TF_RETURN_IF_ERROR(Compile(context, device->device(), "vertex",
                                 /*expected=*/std::nullopt, &forward));
    } else {
      TF_RETURN_IF_ERROR(
          CompileTraining(context, device->device(), &forward, &backward));
    }
    std::vector<std::string> described;
    const bool on_gpu = !device->device().memory()->is_host();
    Describe(forward.model, on_gpu, &described);
    Describe(backward.model, on_gpu, &described);
    description_ = List(described);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext* context) const {
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({}), &output));
    output->scalar<tensorflow::tstring>()() = description_;
    return absl::OkStatus();
  }

 private:
  std::string description_;
};

REGISTER_KERNEL_BUILDER(Name("CavsDescribe").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<DescribeOp>);

[[maybe_unused]] const bool kOnGpu =
    RegisterOnGpu<GuardedOp<DescribeOp>>("CavsDescribe", {"description"});

}  // namespace
}  // namespace cavs
