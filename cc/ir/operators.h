// The table of operators: all that passes need to know, one row each.
#ifndef CAVS_CC_IR_OPERATORS_H_
#define CAVS_CC_IR_OPERATORS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cavs {

enum class NodeKind : uint8_t {
  // Operators that move rows in and out of a program. In a derivative the
  // directions swap: state gradients enter by scatter's gradient and leave by
  // gather's.
  kGather,       // out <- state[child_row[index]]
  kScatter,      // state <- in
  kPull,         // out <- external input `index`, in execution order
  kPush,         // external output `index` <- in, in vertex order
  kScatterGrad,  // out <- state gradient
  kGatherGrad,   // state gradient[child_row[index]] += in
  kPullGrad,     // gradient of external input `index` <- in
  kPushGrad,     // out <- gradient of external output `index`
  kVertexIds,    // out <- the vertex of each row
  // Operators that compute.
  // out = in[0] * in[1], or += if `accumulate`; in[1] is invariant, transposed
  // if `transpose`. Further inputs are more invariants, whose columns stand
  // side by side with those of in[1].
  kMatMul,
  kWeightGrad,   // out (+)= transpose(in[0]) * in[1], a sum over rows
  kSumRows,      // out (+)= sum over rows
  kSumColumns,   // out = sum within each row
  kElementwise,  // out = op(in[0]) or op(in[0], in[1]), broadcasting
  kCopy,         // out = in[0]
  kZero,         // out = 0
  kGroup,        // `members`, all of them elementwise, as one kernel
  kForeign,      // any other operator, by the framework's own kernel
};

// Elementwise operators, named as TensorFlow names them. Gradients of
// activations are written in terms of the activation's *output* y and dy:
// kSigmoidGrad(y, dy) = dy * y * (1 - y), kTanhGrad(y, dy) = dy * (1 - y * y).
// kReluGrad(dy, x) = x > 0 ? dy : 0 and kSoftplusGrad(dy, x) = dy * sigmoid(x)
// keep TensorFlow's operand order.
enum class Elementwise : uint8_t {
  kIdentity,
  kNeg,
  kAbs,
  kSquare,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kExp,
  kLog,
  kSigmoid,
  kTanh,
  kRelu,
  kSoftplus,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
  kSquaredDifference,
  kSigmoidGrad,
  kTanhGrad,
  kReluGrad,
  kSoftplusGrad,
};

// Where the rows that a node moves into a program come from, or where the rows
// that it moves out go.
enum class Outside : uint8_t {
  kNone,         // The node moves no rows.
  kOwnState,     // The state of the node's vertices, or its gradient.
  kChildStates,  // The state of their children in slot `index`.
  kExternal,     // External input or output number `index`, or its gradient.
  kVertices,     // The ids of the vertices.
};

// Whether the output of a node is zero in rows of vertices without children.
enum class Zero : uint8_t {
  kNever,  // Not that the table could tell.
  kAlways,
  kKeeps,  // If all rows that the node reads are zero.
};

struct Operator {
  NodeKind kind;
  const char* name;  // In printed programs, and as the role of an argument.
  Outside outside = Outside::kNone;
  bool brings_in = false;  // Direction, if the node moves rows.
  Zero zero = Zero::kNever;
  bool sums_rows = false;  // Whether the result is a sum over all rows.
};

// Row i describes the kind with number i.
inline constexpr Operator kOperators[] = {
    {NodeKind::kGather, "gather", Outside::kChildStates, true, Zero::kAlways},
    {NodeKind::kScatter, "scatter", Outside::kOwnState},
    {NodeKind::kPull, "pull", Outside::kExternal, true},
    {NodeKind::kPush, "push", Outside::kExternal},
    {NodeKind::kScatterGrad, "scatter_grad", Outside::kOwnState, true},
    {NodeKind::kGatherGrad, "gather_grad", Outside::kChildStates},
    {NodeKind::kPullGrad, "pull_grad", Outside::kExternal},
    {NodeKind::kPushGrad, "push_grad", Outside::kExternal, true},
    {NodeKind::kVertexIds, "vertex_ids", Outside::kVertices, true},
    {NodeKind::kMatMul, "matmul", Outside::kNone, false, Zero::kKeeps},
    {NodeKind::kWeightGrad, "weight_grad", Outside::kNone, false, Zero::kNever,
     true},
    {NodeKind::kSumRows, "sum_rows", Outside::kNone, false, Zero::kNever, true},
    {NodeKind::kSumColumns, "sum_columns", Outside::kNone, false, Zero::kKeeps},
    // See kElementwiseOperators.
    {NodeKind::kElementwise, "elementwise"},
    {NodeKind::kCopy, "copy", Outside::kNone, false, Zero::kKeeps},
    {NodeKind::kZero, "zero", Outside::kNone, false, Zero::kAlways},
    {NodeKind::kGroup, "group"},
    {NodeKind::kForeign, "foreign"},
};

constexpr const Operator& RowOf(NodeKind kind) {
  return kOperators[static_cast<size_t>(kind)];
}

constexpr bool MovesRows(NodeKind kind) {
  return RowOf(kind).outside != Outside::kNone;
}
constexpr bool MovesState(NodeKind kind) {
  return RowOf(kind).outside == Outside::kOwnState ||
         RowOf(kind).outside == Outside::kChildStates;
}
// Whether Node::index is the number of a slot, input or output.
constexpr bool IsNumbered(NodeKind kind) {
  return RowOf(kind).outside == Outside::kChildStates ||
         RowOf(kind).outside == Outside::kExternal;
}
constexpr bool SumsRows(NodeKind kind) { return RowOf(kind).sums_rows; }

// Properties of an elementwise operator.
enum ElementwiseFlags : uint8_t {
  kKeepsZero = 1,  // op(0) = 0, or op(0, 0) = 0.
  kCommutes = 2,   // op(x, y) = op(y, x).
  // An operator with kBeginsPair may hand its result on in a register, to one
  // with kEndsPair: see CanPair().
  kBeginsPair = 4,
  kEndsPair = 8,
  kIsSeries = 16,  // Computed by a series: three times the time of others.
};

struct ElementwiseOperator {
  Elementwise op;
  const char* name;  // In printed programs.
  int operands;
  int flags;
  // The framework's names. There are several where operators differ only in
  // what they broadcast.
  std::array<std::string_view, 3> framework_names;
};

// Row i describes the operator with number i.
inline constexpr ElementwiseOperator kElementwiseOperators[] = {
    {Elementwise::kIdentity, "identity", 1, kKeepsZero, {}},
    {Elementwise::kNeg, "neg", 1, kKeepsZero, {"Neg"}},
    {Elementwise::kAbs, "abs", 1, kKeepsZero, {"Abs"}},
    {Elementwise::kSquare, "square", 1, kKeepsZero, {"Square"}},
    {Elementwise::kSqrt, "sqrt", 1, kKeepsZero, {"Sqrt"}},
    {Elementwise::kRsqrt, "rsqrt", 1, 0, {"Rsqrt"}},
    {Elementwise::kReciprocal, "reciprocal", 1, 0, {"Reciprocal", "Inv"}},
    {Elementwise::kExp, "exp", 1, kIsSeries, {"Exp"}},
    {Elementwise::kLog, "log", 1, kIsSeries, {"Log"}},
    {Elementwise::kSigmoid, "sigmoid", 1, kEndsPair | kIsSeries, {"Sigmoid"}},
    {Elementwise::kTanh,
     "tanh",
     1,
     kKeepsZero | kEndsPair | kIsSeries,
     {"Tanh"}},
    {Elementwise::kRelu, "relu", 1, kKeepsZero | kEndsPair, {"Relu"}},
    {Elementwise::kSoftplus, "softplus", 1, kIsSeries, {"Softplus"}},
    {Elementwise::kAdd,
     "add",
     2,
     kKeepsZero | kCommutes | kBeginsPair | kEndsPair,
     {"AddV2", "Add", "BiasAdd"}},
    {Elementwise::kSub, "sub", 2, kKeepsZero, {"Sub"}},
    {Elementwise::kMul,
     "mul",
     2,
     kKeepsZero | kCommutes | kBeginsPair | kEndsPair,
     {"Mul"}},
    {Elementwise::kDiv, "div", 2, 0, {"RealDiv"}},
    {Elementwise::kMaximum, "maximum", 2, kKeepsZero, {"Maximum"}},
    {Elementwise::kMinimum, "minimum", 2, kKeepsZero, {"Minimum"}},
    {Elementwise::kSquaredDifference,
     "squared_difference",
     2,
     kKeepsZero,
     {"SquaredDifference"}},
    {Elementwise::kSigmoidGrad,
     "sigmoid_grad",
     2,
     kKeepsZero | kEndsPair,
     {"SigmoidGrad"}},
    {Elementwise::kTanhGrad,
     "tanh_grad",
     2,
     kKeepsZero | kEndsPair,
     {"TanhGrad"}},
    {Elementwise::kReluGrad, "relu_grad", 2, kKeepsZero, {"ReluGrad"}},
    {Elementwise::kSoftplusGrad,
     "softplus_grad",
     2,
     kKeepsZero | kIsSeries,
     {"SoftplusGrad"}},
};

constexpr int kNumElementwise =
    static_cast<int>(std::size(kElementwiseOperators));

constexpr const ElementwiseOperator& RowOf(Elementwise op) {
  return kElementwiseOperators[static_cast<size_t>(op)];
}

constexpr bool IsBinary(Elementwise op) { return RowOf(op).operands == 2; }
constexpr bool KeepsZero(Elementwise op) {
  return (RowOf(op).flags & kKeepsZero) != 0;
}
constexpr bool Commutes(Elementwise op) {
  return (RowOf(op).flags & kCommutes) != 0;
}

// Whether one instruction of a group can apply `then` to the result of `op`
// without storing that. If `then` has two operands, the result is the second.
constexpr bool CanPair(Elementwise op, Elementwise then) {
  return (RowOf(op).flags & kBeginsPair) != 0 &&
         (RowOf(then).flags & kEndsPair) != 0;
}

// Both look up by name and return null if there is none.
const Operator* FindOperator(std::string_view name);
const ElementwiseOperator* FindElementwise(std::string_view name);
// Looks up by one of the framework's names; null if there is none.
const ElementwiseOperator* FindFrameworkElementwise(std::string_view name);

}  // namespace cavs

#endif  // CAVS_CC_IR_OPERATORS_H_
