#include "cc/kernels/lower.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "cc/base/byte_count.h"
#include "cc/base/status.h"
#include "cc/ir/verify.h"
#include "cc/kernels/foreign_kernel.h"
#include "cc/kernels/lower_mask.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/status_util.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/common_runtime/function_def_utils.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/algorithm.h"

namespace cavs {
namespace {

// The largest number in a signature.
constexpr int kMostNumbers = 1 << 20;

using tensorflow::Edge;
using tensorflow::Node;
using tensorflow::PartialTensorShape;

absl::Status BadSignature(absl::string_view got, const char* expected) {
  return absl::InvalidArgumentError(
      StrCat("signature: got \"", got, "\" but expected ", expected,
             ". Leave the signature as GraphSupport writes it."));
}

// The kind of function that may have a role, and whether the role is numbered.
struct RoleRule {
  FunctionKind kind;
  bool is_numbered;
};

// The argument that tells to which row each edge belongs.
constexpr char kEdgeRows[] = "edge_rows";

// Returns the operator that moves the rows of a role in or out, or null if
// there is none.
const Operator* OperatorOf(const Role& role) {
  if (role.name == "children") return &RowOf(NodeKind::kGather);
  if (role.name == "children_grad") return &RowOf(NodeKind::kGatherGrad);
  return FindOperator(role.name);
}

const std::map<std::string, RoleRule>& InputRoles() {
  static const auto* const rules = new std::map<std::string, RoleRule>{
      {"vertex_ids", {FunctionKind::kVertex, false}},
      {"gather", {FunctionKind::kVertex, true}},
      {"children", {FunctionKind::kVertex, false}},
      {"pull", {FunctionKind::kVertex, true}},
      {"capture", {FunctionKind::kVertex, true}},
      {"scatter_grad", {FunctionKind::kDerivative, false}},
      {"push_grad", {FunctionKind::kDerivative, true}},
      {"saved", {FunctionKind::kDerivative, true}},
  };
  return *rules;
}

const std::map<std::string, RoleRule>& OutputRoles() {
  static const auto* const rules = new std::map<std::string, RoleRule>{
      {"scatter", {FunctionKind::kVertex, false}},
      {"push", {FunctionKind::kVertex, true}},
      {"saved", {FunctionKind::kVertex, true}},
      {"gather_grad", {FunctionKind::kDerivative, true}},
      {"children_grad", {FunctionKind::kDerivative, false}},
      {"pull_grad", {FunctionKind::kDerivative, true}},
      {"capture_grad", {FunctionKind::kDerivative, true}},
  };
  return *rules;
}

// Parses roles, each of which may occur once. All must belong to one kind of
// function. The first role sets `kind` unless it is set.
absl::Status ParseRoles(absl::string_view text,
                        const std::map<std::string, RoleRule>& rules,
                        std::optional<FunctionKind>* kind,
                        std::vector<Role>* roles) {
  std::set<absl::string_view> names;
  for (absl::string_view name : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (!names.insert(name).second) {
      return BadSignature(name, "every role once");
    }
    if (name == kEdgeRows) {  // Both kinds may have it.
      roles->push_back({kEdgeRows, -1});
      continue;
    }
    const std::vector<std::string> words = absl::StrSplit(name, ':');
    const auto rule = rules.find(words[0]);
    if (rule == rules.end()) return BadSignature(name, "the name of a role");
    if (!kind->has_value()) *kind = rule->second.kind;
    if (*kind != rule->second.kind) {
      return BadSignature(
          name, "roles of a vertex function, or of a derivative, but not both");
    }
    Role role;
    role.name = words[0];
    const bool is_numbered = words.size() == 2 &&
                             absl::SimpleAtoi(words[1], &role.index) &&
                             role.index >= 0 && role.index < kMostNumbers &&
                             words[1] == StrCat(role.index);
    if (rule->second.is_numbered ? !is_numbered : words.size() != 1) {
      return BadSignature(name, rule->second.is_numbered
                                    ? "a role with a number of at least 0"
                                    : "a role without a number");
    }
    // Edges have no slots.
    if (role.name == "children" || role.name == "children_grad") {
      role.index = -1;
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
      return absl::InvalidArgumentError(
          StrCat("vertex function: got ", name,
                 " but expected a function that the library has. Save and load "
                 "the functions of a model with it."));
    }
    const std::vector<std::string> sides = absl::StrSplit(signature, "->");
    if (sides.size() != 2) {
      return BadSignature(signature, "arguments, an arrow, results");
    }
    std::optional<FunctionKind> kind;
    TF_RETURN_IF_ERROR(ParseRoles(sides[0], InputRoles(), &kind, &inputs_));
    TF_RETURN_IF_ERROR(ParseRoles(sides[1], OutputRoles(), &kind, &outputs_));
    lowered_.kind = kind.value_or(FunctionKind::kDerivative);
    TF_RETURN_IF_ERROR(CheckResults(signature));
    TF_RETURN_IF_ERROR(tensorflow::FunctionDefToBodyHelper(
        std::move(record), tensorflow::AttrSlice(), library, &body_));
    if (inputs_.size() != body_->arg_nodes.size() ||
        outputs_.size() != body_->ret_nodes.size()) {
      return BadSignature(signature,
                          "a role per argument and result of the function");
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
  // Checks that a state is scattered, and that saved results are numbered in
  // order.
  absl::Status CheckResults(const std::string& signature) const {
    int scattered = 0, saved = 0;
    for (const Role& role : outputs_) {
      scattered += role.name == "scatter" ? 1 : 0;
      if (role.name == "saved" && role.index != saved++) {
        return BadSignature(signature, "saved results in order");
      }
    }
    if (lowered_.kind == FunctionKind::kVertex && scattered != 1) {
      return BadSignature(signature, "one scatter");
    }
    return absl::OkStatus();
  }

  // Finds the nodes on which results depend. Control edges are not followed: a
  // vertex function has no side effects.
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
      return NotLowered(node);
    }
    ReadShapes(&traced);
    row_dependent_[node.id()] = rows;
    if (node.type_string() == "CavsRowCount") return LowerRowCount(traced);
    if (!rows && node.type_string() == "Identity") {
      builder_.Map(node, 0, traced.inputs[0]);
      return absl::OkStatus();
    }
    if (rows ? LowerNative(traced, &builder_) : LowerReshape(traced)) {
      return absl::OkStatus();
    }
    return LowerForeign(traced, rows);
  }

  // Maps another shape of a capture or constant to a view of it. Returns false
  // if the operator does something else.
  bool LowerReshape(const TracedNode& traced) {
    const std::string& op = traced.node->type_string();
    if (op != "Reshape" && op != "ExpandDims" && op != "Squeeze") return false;
    const Symbol out = builder_.InvariantSymbol(traced, 0);
    const Symbol& in = builder_.symbol(traced.inputs[0]);
    int64_t offset;
    const int root = builder_.program().Root(traced.inputs[0], &offset);
    if (!IsNative(in.dtype) || in.kind != SymbolKind::kInvariant ||
        !in.shape_known || !out.shape_known || in.columns() != out.columns() ||
        builder_.symbol(root).source == SymbolSource::kNode) {
      return false;
    }
    builder_.Map(*traced.node, 0, builder_.AddView(traced.inputs[0], 0, out));
    return true;
  }

  // Returns the error for an operand that is not lowered yet, which means that
  // the graph has a cycle.
  static absl::Status NotLowered(const Node& node) {
    return absl::InvalidArgumentError(
        StrCat("vertex function: ", node.name(),
               " got an operand that depends on itself but expected one that "
               "is computed before. Use tf.while_loop for loops."));
  }

  static void ReadShapes(TracedNode* traced) {
    const Node& node = *traced->node;
    if (!tensorflow::GetNodeAttr(node.attrs(), "_cavs_shapes", &traced->shapes)
             .ok()) {
      traced->shapes.clear();
    }
    traced->shapes.resize(node.num_outputs());
    std::vector<bool> edges;
    if (!tensorflow::GetNodeAttr(node.attrs(), "_cavs_edges", &edges).ok()) {
      edges.clear();
    }
    edges.resize(node.num_outputs());
    traced->spaces.clear();
    for (const bool of_edges : edges) {
      traced->spaces.push_back(of_edges ? RowSpace::kEdges
                                        : RowSpace::kVertices);
    }
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
    const int symbol = builder_.AddRowSymbol(traced, 0);
    if (role.name == kEdgeRows) {
      row_dependent_[node.id()] = true;
      builder_.edge_rows = symbol;
      builder_.Map(node, 0, symbol);
      return absl::OkStatus();
    }
    const Operator* const found = OperatorOf(role);
    if (found == nullptr || builder_.symbol(symbol).kind != SymbolKind::kRows) {
      return absl::InvalidArgumentError(
          StrCat("vertex function: argument ", node.name(), " (", role.name,
                 ") got a tensor without a row per vertex but expected "
                 "[None, ...]. Trace the vertex function again."));
    }
    row_dependent_[node.id()] = true;
    builder_.AddNode(found->kind, node, {}, {symbol}).index = role.index;
    builder_.Map(node, 0, symbol);
    return absl::OkStatus();
  }

  absl::Status LowerCapture(const TracedNode& traced, const Role& role) {
    lowered_.capture_types[role.index] = traced.node->output_type(0);
    Symbol symbol = builder_.InvariantSymbol(traced, 0);
    symbol.source = SymbolSource::kCapture;
    symbol.index = role.index;
    builder_.Map(*traced.node, 0, builder_.AddSymbol(symbol));
    return absl::OkStatus();
  }

  // Lowers a symbol of the forward program. If its shape is not fully known, it
  // depended on rows there, and has rows or is opaque.
  absl::Status LowerSaved(const TracedNode& traced, const Role& role) {
    const bool rows = !traced.shapes[0].IsFullyDefined();
    Symbol symbol = rows ? builder_.RowSymbol(traced, 0)
                         : builder_.InvariantSymbol(traced, 0);
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
      return absl::InvalidArgumentError(
          StrCat("vertex function: constant ", node.name(),
                 " got a value that cannot be read but expected a tensor. "
                 "Trace the vertex function again."));
    }
    if (value.dtype() != node.output_type(0)) {
      return absl::InvalidArgumentError(
          StrCat("vertex function: constant ", node.name(), " got a value of ",
                 DataTypeString(value.dtype()), " but expected ",
                 DataTypeString(node.output_type(0)),
                 ". Trace the vertex function again."));
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
    Symbol symbol = builder_.InvariantSymbol(traced, 0);
    symbol.kind = SymbolKind::kRowCount;
    symbol.space = traced.spaces[0];
    TF_RETURN_IF_ERROR(
        tensorflow::GetNodeAttr(traced.node->attrs(), "scale", &symbol.scale));
    TF_RETURN_IF_ERROR(
        tensorflow::GetNodeAttr(traced.node->attrs(), "bias", &symbol.bias));
    PartialTensorShape shape;
    TF_RETURN_IF_ERROR(
        tensorflow::GetNodeAttr(traced.node->attrs(), "shape", &shape));
    if (shape.unknown_rank()) {
      return absl::InvalidArgumentError(
          StrCat("vertex function: ", traced.node->name(),
                 " got an unknown shape but expected a known one. Trace the "
                 "vertex function again."));
    }
    const auto dims = shape.dim_sizes();
    symbol.shape.assign(dims.begin(), dims.end());
    row_dependent_[traced.node->id()] = true;
    builder_.Map(*traced.node, 0, builder_.AddSymbol(symbol));
    return absl::OkStatus();
  }

  // Returns whether any operand is computed for the rows of a run. A sum over
  // rows does not count, because it is finished before any node reads it.
  bool ReadsRows(const TracedNode& traced) const {
    return std::any_of(traced.inputs.begin(), traced.inputs.end(), [&](int id) {
      const SymbolKind kind = builder_.symbol(id).kind;
      return kind != SymbolKind::kInvariant && kind != SymbolKind::kReduced;
    });
  }

  absl::Status LowerForeign(const TracedNode& traced, bool rows) {
    const bool reads_rows = ReadsRows(traced);
    std::vector<int> outputs;
    for (int i = 0; i < traced.node->num_outputs(); ++i) {
      const bool is_float =
          tensorflow::DataTypeIsFloating(traced.node->output_type(i));
      // A value that is computed from finished sums alone is a sum itself if
      // its shape is known and its type is floating-point. Otherwise it is
      // lowered as an invariant, which is computed once.
      const bool once =
          !rows ||
          (!reads_rows && (!is_float || !traced.shapes[i].IsFullyDefined()));
      outputs.push_back(
          once ? builder_.AddSymbol(builder_.InvariantSymbol(traced, i))
               : builder_.AddRowSymbol(traced, i));
      builder_.Map(*traced.node, i, outputs.back());
    }
    cavs::Node& node = builder_.AddNode(NodeKind::kForeign, *traced.node,
                                        traced.inputs, outputs);
    const std::string& op = traced.node->type_string();
    node.adds = op == "AddN" || op == "Add" || op == "AddV2";
    node.pure = ComputesBooleans(op);
    return MakeForeignKernel(runtime_, *traced.node, &node.foreign);
  }

  absl::Status LowerResult(const Node& node) {
    int index;
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "index", &index));
    const Edge* edge;
    TF_RETURN_IF_ERROR(node.input_edge(0, &edge));
    const int symbol = builder_.Find(*edge->src(), edge->src_output());
    if (symbol < 0) return NotLowered(node);
    const Role& role = outputs_[index];
    if (role.name == "saved" || role.name == "capture_grad") {
      builder_.program().results.push_back(symbol);
      if (role.name == "capture_grad") {
        lowered_.result_captures.push_back(role.index);
      }
      return absl::OkStatus();
    }
    const Operator* const found = OperatorOf(role);
    if (found == nullptr || builder_.symbol(symbol).kind != SymbolKind::kRows) {
      return absl::InvalidArgumentError(StrCat(
          "vertex function: ", role.name, " ", role.index,
          " got a tensor without a row per vertex but expected [None, ...]. "
          "Compute it from a pulled or gathered tensor."));
    }
    builder_.AddNode(found->kind, node, {symbol}, {}).index = role.index;
    return absl::OkStatus();
  }

  tensorflow::FunctionLibraryRuntime* const runtime_;
  LoweredFunction& lowered_;
  std::vector<Role> inputs_, outputs_;
  std::unique_ptr<tensorflow::FunctionBody> body_;
  ProgramBuilder builder_;
  // Both are indexed by the id of a node.
  std::vector<bool> live_, row_dependent_;
};

}  // namespace

absl::Status Lower(tensorflow::FunctionLibraryRuntime* runtime,
                   const std::string& name, const std::string& signature,
                   LoweredFunction* lowered) {
  TF_RETURN_IF_ERROR(Lowering(runtime, lowered).Run(name, signature));
  return ToAbsl(VerifyProgram(lowered->program));
}

}  // namespace cavs
