// The table of elementwise operators: the properties that passes need, and a
// simple implementation of each.
#ifndef CAVS_CC_IR_ELEMENTWISE_H_
#define CAVS_CC_IR_ELEMENTWISE_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace cavs {

// Elementwise operators, named as TensorFlow names them. Gradients of
// activations are written in terms of the activation's *output* y and dy:
// kSigmoidGrad(y, dy) = dy * y * (1 - y), kTanhGrad(y, dy) = dy * (1 - y * y),
// kSqrtGrad(y, dy) = dy / (2 * y), kRsqrtGrad(y, dy) = -dy * y * y * y / 2,
// both 0 where dy is, and kReciprocalGrad(y, dy) = -dy * y * y. kReluGrad(dy,
// x) = x > 0 ? dy : 0 and kSoftplusGrad(dy, x) = dy * sigmoid(x) keep
// TensorFlow's operand order, as does kEluGrad(dy, y) = y < 0 ? dy * (y + 1) :
// dy. A comparison is 1 where it holds, else 0: a mask, by which kKeep(x, mask)
// is x where that is not 0 and 0 elsewhere, even of NaN, and kDrop is the rest.
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
  kElu,
  kErf,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
  kSquaredDifference,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kKeep,
  kDrop,
  kSigmoidGrad,
  kTanhGrad,
  kReluGrad,
  kSoftplusGrad,
  kEluGrad,
  kSqrtGrad,
  kRsqrtGrad,
  kReciprocalGrad,
};

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
  // The framework's names of the operator. Operators that differ only in which
  // operand they broadcast have one row.
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
    {Elementwise::kElu, "elu", 1, kKeepsZero | kIsSeries, {"Elu"}},
    {Elementwise::kErf, "erf", 1, kKeepsZero | kIsSeries, {"Erf"}},
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
    {Elementwise::kGreater, "greater", 2, kKeepsZero, {}},
    {Elementwise::kGreaterEqual, "greater_equal", 2, 0, {}},
    {Elementwise::kEqual, "equal", 2, kCommutes, {}},
    {Elementwise::kNotEqual, "not_equal", 2, kKeepsZero | kCommutes, {}},
    {Elementwise::kKeep, "keep", 2, kKeepsZero, {}},
    {Elementwise::kDrop, "drop", 2, kKeepsZero, {}},
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
    {Elementwise::kEluGrad, "elu_grad", 2, kKeepsZero, {"EluGrad"}},
    {Elementwise::kSqrtGrad, "sqrt_grad", 2, kKeepsZero, {"SqrtGrad"}},
    {Elementwise::kRsqrtGrad, "rsqrt_grad", 2, kKeepsZero, {"RsqrtGrad"}},
    {Elementwise::kReciprocalGrad,
     "reciprocal_grad",
     2,
     kKeepsZero,
     {"ReciprocalGrad", "InvGrad"}},
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

// Looks up by the name in printed programs; null if there is none.
const ElementwiseOperator* FindElementwise(std::string_view name);
// Looks up by one of the framework's names; null if there is none.
const ElementwiseOperator* FindFrameworkElementwise(std::string_view name);

// Computes an operator on single numbers, as simply as possible: the oracle for
// the kernels of all devices. Operators of one operand ignore `y`.
template <typename T>
T Evaluate(Elementwise op, T x, T y) {
  const T nan = std::isnan(x) ? x : y;
  const bool is_nan = std::isnan(x) || std::isnan(y);
  switch (op) {
    case Elementwise::kIdentity:
      return x;
    case Elementwise::kNeg:
      return -x;
    case Elementwise::kAbs:
      return std::abs(x);
    case Elementwise::kSquare:
      return x * x;
    case Elementwise::kSqrt:
      return std::sqrt(x);
    case Elementwise::kRsqrt:
      return 1 / std::sqrt(x);
    case Elementwise::kReciprocal:
      return 1 / x;
    case Elementwise::kExp:
      return std::exp(x);
    case Elementwise::kLog:
      return std::log(x);
    case Elementwise::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Elementwise::kTanh:
      return std::tanh(x);
    case Elementwise::kRelu:
      return x < 0 ? 0 : x;
    case Elementwise::kSoftplus:
      return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x)));
    case Elementwise::kElu:
      return x < 0 ? std::expm1(x) : x;
    case Elementwise::kErf:
      return std::erf(x);
    case Elementwise::kAdd:
      return x + y;
    case Elementwise::kSub:
      return x - y;
    case Elementwise::kMul:
      return x * y;
    case Elementwise::kDiv:
      return x / y;
    case Elementwise::kMaximum:
      return is_nan ? nan : (x > y ? x : y);
    case Elementwise::kMinimum:
      return is_nan ? nan : (x < y ? x : y);
    case Elementwise::kSquaredDifference:
      return (x - y) * (x - y);
    case Elementwise::kGreater:
      return x > y ? 1 : 0;
    case Elementwise::kGreaterEqual:
      return x >= y ? 1 : 0;
    case Elementwise::kEqual:
      return x == y ? 1 : 0;
    case Elementwise::kNotEqual:
      return x != y ? 1 : 0;
    case Elementwise::kKeep:
      return y != 0 ? x : 0;
    case Elementwise::kDrop:
      return y != 0 ? 0 : x;
    case Elementwise::kSigmoidGrad:
      return y * x * (1 - x);
    case Elementwise::kTanhGrad:
      return y * (1 - x * x);
    case Elementwise::kReluGrad:
      return y > 0 ? x : 0;
    case Elementwise::kSoftplusGrad:
      return x / (1 + std::exp(-y));
    case Elementwise::kEluGrad:
      return y < 0 ? x * (y + 1) : x;
    case Elementwise::kSqrtGrad:
      return y == 0 ? 0 : y * T(0.5) / x;
    case Elementwise::kRsqrtGrad:
      return y == 0 ? 0 : (y * T(-0.5) * x) * (x * x);
    case Elementwise::kReciprocalGrad:
      return -y * x * x;
  }
  return 0;
}

}  // namespace cavs

#endif  // CAVS_CC_IR_ELEMENTWISE_H_
