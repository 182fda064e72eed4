#include "cc/kernels/lower.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "cc/core/status.h"
#include "cc/kernels/foreign_kernel.h"
#include "cc/kernels/program_builder.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/common_runtime/function_def_utils.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/algorithm.h"

namespace cavs {
namespace {

using tensorflow::Edge;
using tensorflow::Node;
using tensorflow::PartialTensorShape;

absl::Status ParseRoles(absl::string_view text, std::vector<Role>* roles) {
  for (absl::string_view name : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(name, ':');
    Role role;
    role.name = parts[0];
    if (parts.size() > 1 && !absl::SimpleAtoi(parts[1], &role.index)) {
      return absl::InternalError(StrCat("signature: bad role ", name));
    }
    roles->push_back(role);
  }
  return absl::OkStatus();
}

class Lowering {
 public:
  Lowering(tensorflow::FunctionLibraryRuntime* runtime,
           LoweredFunction* lowered)
      : runtime_(runtime), lowered_(*lowered) {}

  absl::Status Run(const std::string& name, const std::string& signature) {
    const tensorflow::FunctionLibraryDefinition* library =
        runtime_->GetFunctionLibraryDefinition();
    auto record = library->FindRecord(name);
    if (record == nullptr) {
      return absl::InternalError(
          StrCat("function ", name, " is not in the library"));
    }
    const std::vector<std::string> sides = absl::StrSplit(signature, "->");
    TF_RETURN_IF_ERROR(ParseRoles(sides.front(), &inputs_));
    TF_RETURN_IF_ERROR(ParseRoles(sides.back(), &outputs_));
    TF_RETURN_IF_ERROR(tensorflow::FunctionDefToBodyHelper(
        std::move(record), tensorflow::AttrSlice(), library, &body_));
    if (sides.size() != 2 || inputs_.size() != body_->arg_nodes.size() ||
        outputs_.size() != body_->ret_nodes.size()) {
      return absl::InternalError(
          StrCat("signature of ", name, " does not fit it: ", signature));
    }
    FindLive();
    std::vector<Node*> order;
    tensorflow::GetReversePostOrder(*body_->graph, &order,
                                    tensorflow::NodeComparatorName());
    for (const Node* node : order) {
      if (node->IsOp() && live_[node->id()] && !node->IsRetval()) {
        TF_RETURN_IF_ERROR(LowerNode(*node));
      }
    }
    for (const Node* node : body_->ret_nodes) {
      TF_RETURN_IF_ERROR(LowerResult(*node));
    }
    lowered_.program = std::move(builder_.program());
    return absl::OkStatus();
  }

 private:
  // What the results depend on. Control edges are not followed: a vertex
  // function has no effects.
  void FindLive() {
    live_.assign(body_->graph->num_node_ids(), false);
    row_dependent_ = live_;
    std::vector<const Node*> stack(body_->ret_nodes.begin(),
                                   body_->ret_nodes.end());
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      if (live_[node->id()]) continue;
      live_[node->id()] = true;
      for (const Edge* edge : node->in_edges()) {
        if (!edge->IsControlEdge()) stack.push_back(edge->src());
      }
    }
  }

  absl::Status LowerNode(const Node& node) {
    if (node.IsArg()) return LowerArgument(node);
    if (node.type_string() == "Const") return LowerConstant(node);
    TracedNode traced;
    traced.node = &node;
    traced.inputs.resize(node.num_inputs(), -1);
    bool rows = false;
    for (const Edge* edge : node.in_edges()) {
      if (edge->IsControlEdge()) continue;
      traced.inputs[edge->dst_input()] =
          builder_.Find(*edge->src(), edge->src_output());
      rows = rows || row_dependent_[edge->src()->id()];
    }
    if (std::count(traced.inputs.begin(), traced.inputs.end(), -1) > 0) {
      return absl::InternalError(
          StrCat("vertex function: ", node.name(),
                 " has an operand that was not lowered"));
    }
    ReadShapes(&traced);
    row_dependent_[node.id()] = rows;
    if (node.type_string() == "CavsRowCount") return LowerRowCount(traced);
    if (!rows && node.type_string() == "Identity") {
      builder_.Map(node, 0, traced.inputs[0]);
      return absl::OkStatus();
    }
    if (rows && LowerNative(traced, &builder_)) return absl::OkStatus();
    return LowerForeign(traced, rows);
  }

  static void ReadShapes(TracedNode* traced) {
    const Node& node = *traced->node;
    if (!tensorflow::GetNodeAttr(node.attrs(), "_cavs_shapes", &traced->shapes)
             .ok()) {
      traced->shapes.clear();
    }
    traced->shapes.resize(node.num_outputs());
  }

  absl::Status LowerArgument(const Node& node) {
    int index;
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "index", &index));
    const Role& role = inputs_[index];
    TracedNode traced;
    traced.node = &node;
    ReadShapes(&traced);
    if (role.name == "capture") return LowerCapture(traced, role);
    if (role.name == "saved") return LowerSaved(traced, role);
    static const auto* const kinds = new std::map<std::string, NodeKind>{
        {"vertex_ids", NodeKind::kVertexIds},
        {"gather", NodeKind::kGather},
        {"pull", NodeKind::kPull},
        {"scatter_grad", NodeKind::kScatterGrad},
        {"push_grad", NodeKind::kPushGrad},
    };
    const auto kind = kinds->find(role.name);
    const int symbol = builder_.AddRowSymbol(traced, 0);
    if (kind == kinds->end() ||
        builder_.symbol(symbol).kind != SymbolKind::kRows) {
      return absl::InternalError(
          StrCat("vertex function: bad argument ", node.name()));
    }
    row_dependent_[node.id()] = true;
    builder_.AddNode(kind->second, node, {}, {symbol}).index = role.index;
    builder_.Map(node, 0, symbol);
    return absl::OkStatus();
  }

  Symbol InvariantSymbol(const TracedNode& traced, int output) const {
    Symbol symbol;
    symbol.name = traced.node->name();
    symbol.dtype = ToDType(traced.node->output_type(output));
    symbol.kind = SymbolKind::kInvariant;
    symbol.shape_known = traced.shapes[output].IsFullyDefined();
    if (symbol.shape_known) {
      const auto dims = traced.shapes[output].dim_sizes();
      symbol.shape.assign(dims.begin(), dims.end());
    }
    return symbol;
  }

  absl::Status LowerCapture(const TracedNode& traced, const Role& role) {
    Symbol symbol = InvariantSymbol(traced, 0);
    symbol.source = SymbolSource::kCapture;
    symbol.index = role.index;
    builder_.Map(*traced.node, 0, builder_.AddSymbol(symbol));
    return absl::OkStatus();
  }

  // A forward symbol: rows or opaque if it depended on rows there, which its
  // shape shows.
  absl::Status LowerSaved(const TracedNode& traced, const Role& role) {
    const bool rows = !traced.shapes[0].IsFullyDefined();
    Symbol symbol =
        rows ? builder_.RowSymbol(traced, 0) : InvariantSymbol(traced, 0);
    symbol.source = SymbolSource::kSaved;
    symbol.index = role.index;
    row_dependent_[traced.node->id()] = rows;
    builder_.Map(*traced.node, 0, builder_.AddSymbol(symbol));
    return absl::OkStatus();
  }

  absl::Status LowerConstant(const Node& node) {
    const tensorflow::TensorProto* proto;
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "value", &proto));
    tensorflow::Tensor value;
    if (!value.FromProto(*proto)) {
      return absl::InternalError(
          StrCat("vertex function: bad constant ", node.name()));
    }
    Symbol symbol;
    symbol.name = node.name();
    symbol.source = SymbolSource::kConstant;
    symbol.kind = SymbolKind::kInvariant;
    symbol.constant = std::make_shared<const TensorRef>(ToTensorRef(value));
    symbol.dtype = symbol.constant->dtype;
    symbol.shape = symbol.constant->shape;
    builder_.Map(node, 0, builder_.AddSymbol(symbol));
    return absl::OkStatus();
  }

  absl::Status LowerRowCount(const TracedNode& traced) {
    Symbol symbol = InvariantSymbol(traced, 0);
    symbol.kind = SymbolKind::kRowCount;
    TF_RETURN_IF_ERROR(
        tensorflow::GetNodeAttr(traced.node->attrs(), "scale", &symbol.scale));
    TF_RETURN_IF_ERROR(
        tensorflow::GetNodeAttr(traced.node->attrs(), "bias", &symbol.bias));
    PartialTensorShape shape;
    TF_RETURN_IF_ERROR(
        tensorflow::GetNodeAttr(traced.node->attrs(), "shape", &shape));
    const auto dims = shape.dim_sizes();
    symbol.shape.assign(dims.begin(), dims.end());
    row_dependent_[traced.node->id()] = true;
    builder_.Map(*traced.node, 0, builder_.AddSymbol(symbol));
    return absl::OkStatus();
  }

  absl::Status LowerForeign(const TracedNode& traced, bool rows) {
    std::vector<int> outputs;
    for (int i = 0; i < traced.node->num_outputs(); ++i) {
      outputs.push_back(rows ? builder_.AddRowSymbol(traced, i)
                             : builder_.AddSymbol(InvariantSymbol(traced, i)));
      builder_.Map(*traced.node, i, outputs.back());
    }
    cavs::Node& node = builder_.AddNode(NodeKind::kForeign, *traced.node,
                                        traced.inputs, outputs);
    const std::string& op = traced.node->type_string();
    node.adds = op == "AddN" || op == "Add" || op == "AddV2";
    return MakeForeignKernel(runtime_, *traced.node, &node.foreign);
  }

  absl::Status LowerResult(const Node& node) {
    int index;
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "index", &index));
    const Edge* edge;
    TF_RETURN_IF_ERROR(node.input_edge(0, &edge));
    const int symbol = builder_.Find(*edge->src(), edge->src_output());
    const Role& role = outputs_[index];
    if (role.name == "saved" || role.name == "capture_grad") {
      builder_.program().results.push_back(symbol);
      if (role.name == "capture_grad") {
        lowered_.result_captures.push_back(role.index);
      }
      return absl::OkStatus();
    }
    static const auto* const kinds = new std::map<std::string, NodeKind>{
        {"scatter", NodeKind::kScatter},
        {"push", NodeKind::kPush},
        {"gather_grad", NodeKind::kGatherGrad},
        {"pull_grad", NodeKind::kPullGrad},
    };
    const auto kind = kinds->find(role.name);
    if (kind == kinds->end() ||
        builder_.symbol(symbol).kind != SymbolKind::kRows) {
      return absl::InvalidArgumentError(StrCat(
          "vertex function: ", role.name, " ", role.index,
          " got a tensor without a row per vertex but expected [None, ...]. "
          "Compute it from a pulled or gathered tensor."));
    }
    builder_.AddNode(kind->second, node, {symbol}, {}).index = role.index;
    return absl::OkStatus();
  }

  tensorflow::FunctionLibraryRuntime* const runtime_;
  LoweredFunction& lowered_;
  std::vector<Role> inputs_, outputs_;
  std::unique_ptr<tensorflow::FunctionBody> body_;
  ProgramBuilder builder_;
  // By node id.
  std::vector<bool> live_, row_dependent_;
};

}  // namespace

absl::Status Lower(tensorflow::FunctionLibraryRuntime* runtime,
                   const std::string& name, const std::string& signature,
                   LoweredFunction* lowered) {
  return Lowering(runtime, lowered).Run(name, signature);
}

}  // namespace cavs
