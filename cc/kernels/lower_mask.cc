#include "cc/kernels/lower_mask.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorflow/core/graph/graph.h"

namespace cavs {
namespace {

struct Comparison {
  std::string_view op;  // The framework's name of it.
  Elementwise elementwise;
  bool swaps;  // Whether the operands are swapped.
};

constexpr std::array<Comparison, 6> kComparisons = {{
    {"Greater", Elementwise::kGreater, false},
    {"GreaterEqual", Elementwise::kGreaterEqual, false},
    {"Less", Elementwise::kGreater, true},
    {"LessEqual", Elementwise::kGreaterEqual, true},
    {"Equal", Elementwise::kEqual, false},
    {"NotEqual", Elementwise::kNotEqual, false},
}};

const Comparison* FindComparison(std::string_view op) {
  for (const Comparison& row : kComparisons) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

class MaskLowering {
 public:
  MaskLowering(DType dtype, ProgramBuilder* builder)
      : dtype_(dtype), builder_(*builder) {}

  int Mask(const tensorflow::Node& node, int output) {
    const int boolean = builder_.Find(node, output);
    if (boolean < 0 || builder_.symbol(boolean).kind != SymbolKind::kRows) {
      return -1;
    }
    Symbol like = builder_.symbol(boolean);
    like.dtype = dtype_;
    like.source = SymbolSource::kNode;
    like.parent = -1;
    like.offset = 0;
    const std::string& op = node.type_string();
    if (const Comparison* found = FindComparison(op)) {
      return Compare(node, *found, like);
    }
    if (op == "LogicalAnd") return Both(node, Elementwise::kMul, like);
    if (op == "LogicalOr") return Both(node, Elementwise::kMaximum, like);
    if (op == "LogicalNot") {
      const int mask = OfInput(node, 0);
      if (mask < 0) return -1;
      const int zero = builder_.AddScalar(dtype_, 0);
      return Add(node, Elementwise::kEqual, {mask, zero}, like);
    }
    if (op == "Cast") {
      const int number = Number(node, 0, like);
      if (number < 0) return -1;
      const int zero = builder_.AddScalar(dtype_, 0);
      return Add(node, Elementwise::kNotEqual, {number, zero}, like);
    }
    if (op == "OnesLike") {  // No mask is negative.
      const int mask = OfInput(node, 0);
      if (mask < 0) return -1;
      const int zero = builder_.AddScalar(dtype_, 0);
      return Add(node, Elementwise::kGreaterEqual, {mask, zero}, like);
    }
    const int seen = op == "ConcatV2" || op == "Pack"
                         ? Concat(node, like)
                         : View(node, boolean, like);
    return seen >= 0 ? seen : Converted(node, boolean, like);
  }

 private:
  const tensorflow::Edge* Input(const tensorflow::Node& node, int i) const {
    const tensorflow::Edge* edge = nullptr;
    return node.input_edge(i, &edge).ok() ? edge : nullptr;
  }

  int OfInput(const tensorflow::Node& node, int i) {
    const tensorflow::Edge* edge = Input(node, i);
    return edge == nullptr ? -1 : Mask(*edge->src(), edge->src_output());
  }

  // Returns the symbol of operand `i` if it is a number of type dtype_ that can
  // be read as `out` or is broadcast to it, else -1.
  int Number(const tensorflow::Node& node, int i, const Symbol& out) const {
    const tensorflow::Edge* edge = Input(node, i);
    if (edge == nullptr) return -1;
    const int id = builder_.Find(*edge->src(), edge->src_output());
    if (id < 0 || builder_.symbol(id).dtype != dtype_) return -1;
    return builder_.Broadcasts(id, out) ? id : -1;
  }

  int Add(const tensorflow::Node& node, Elementwise op, std::vector<int> inputs,
          const Symbol& like) {
    const int out = builder_.AddSymbol(like);
    builder_.AddNode(NodeKind::kElementwise, node, std::move(inputs), {out})
        .elementwise = op;
    return out;
  }

  int Compare(const tensorflow::Node& node, const Comparison& found,
              const Symbol& like) {
    int x = Number(node, 0, like), y = Number(node, 1, like);
    if (x < 0 || y < 0) return -1;
    if (found.swaps) std::swap(x, y);
    return Add(node, found.elementwise, {x, y}, like);
  }

  int Both(const tensorflow::Node& node, Elementwise op, const Symbol& like) {
    const int x = OfInput(node, 0);
    const int y = x < 0 ? -1 : OfInput(node, 1);
    if (y < 0 || !builder_.Broadcasts(x, like) ||
        !builder_.Broadcasts(y, like)) {
      return -1;
    }
    return Add(node, op, {x, y}, like);
  }

  // Lowers the mask of a concatenation of rows, which has a symbol of its own.
  int Concat(const tensorflow::Node& node, const Symbol& like) {
    const int values =
        node.num_inputs() - (node.type_string() == "Pack" ? 0 : 1);
    std::vector<int> masks;
    int64_t columns = 0;
    for (int i = 0; i < values; ++i) {
      masks.push_back(OfInput(node, i));
      if (masks.back() < 0) return -1;
      columns += builder_.symbol(masks.back()).columns();
    }
    if (columns != like.columns() || IsForeign(node)) return -1;
    const int out = builder_.AddSymbol(like);
    int64_t offset = 0;
    for (const int mask : masks) {
      const Symbol part = builder_.symbol(mask);
      const int copy = builder_.AddView(out, offset, part);
      builder_.AddNode(NodeKind::kCopy, node, {mask}, {copy});
      offset += part.columns();
    }
    return out;
  }

  // Lowers the mask of a boolean that is pulled or that the framework computes.
  int Converted(const tensorflow::Node& node, int boolean, const Symbol& like) {
    const int out = builder_.AddSymbol(like);
    builder_.AddNode(NodeKind::kToMask, node, {boolean}, {out}).op = "Cast";
    return out;
  }

  // Returns whether the framework computes the result of `node`, for example
  // because it concatenates along another axis than the columns.
  bool IsForeign(const tensorflow::Node& node) const {
    const int out = builder_.Find(node, 0);
    const std::vector<Node>& nodes = builder_.program().nodes;
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& added) {
      return added.kind == NodeKind::kForeign && added.outputs[0] == out;
    });
  }

  // Lowers the mask of a result that was lowered to columns of its operand.
  int View(const tensorflow::Node& node, int boolean, const Symbol& like) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      const tensorflow::Edge* edge = Input(node, i);
      if (edge == nullptr) return -1;
      const int operand = builder_.Find(*edge->src(), edge->src_output());
      if (operand < 0 || builder_.symbol(operand).dtype != DType::kBool) {
        continue;
      }
      const Symbol& view = builder_.symbol(boolean);
      if (boolean != operand && view.parent != operand) return -1;
      const int64_t offset = boolean == operand ? 0 : view.offset;
      const int mask = Mask(*edge->src(), edge->src_output());
      if (mask < 0 || boolean == operand) return mask;
      return builder_.AddView(mask, offset, like);
    }
    return -1;
  }

  const DType dtype_;
  ProgramBuilder& builder_;
};

}  // namespace

bool ComputesBooleans(const std::string& op) {
  return FindComparison(op) != nullptr || op == "LogicalAnd" ||
         op == "LogicalOr" || op == "LogicalNot" || op == "Cast" ||
         op == "OnesLike";
}

int LowerMask(const tensorflow::Node& node, int output, DType dtype,
              ProgramBuilder* builder) {
  return MaskLowering(dtype, builder).Mask(node, output);
}

}  // namespace cavs
