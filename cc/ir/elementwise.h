// Elementwise operators, and groups of them that run as one kernel.
#ifndef CAVS_CC_IR_ELEMENTWISE_H_
#define CAVS_CC_IR_ELEMENTWISE_H_

#include <cstdint>
#include <vector>

namespace cavs {

// Products read rows of at most so many columns by an index.
constexpr int64_t kMaxIndexedColumns = 1024;

// Elementwise operators, named as TensorFlow names them. Gradients of
// activations are written in terms of the activation's *output* y and dy:
// kSigmoidGrad(y, dy) = dy * y * (1 - y), kTanhGrad(y, dy) = dy * (1 - y * y).
// kReluGrad(dy, x) = x > 0 ? dy : 0 keeps TensorFlow's operand order.
enum class Elementwise : uint8_t {
  // one operand
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
  // two operands
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
};

constexpr bool IsBinary(Elementwise op) { return op >= Elementwise::kAdd; }

// Can a step of a group go on with `then` from what `op` gives, without a pass
// over it? As the second operand if `then` has two.
constexpr bool CanPair(Elementwise op, Elementwise then) {
  if (op != Elementwise::kAdd && op != Elementwise::kMul) return false;
  switch (then) {
    case Elementwise::kSigmoid:
    case Elementwise::kTanh:
    case Elementwise::kRelu:
    case Elementwise::kAdd:
    case Elementwise::kMul:
    case Elementwise::kSigmoidGrad:
    case Elementwise::kTanhGrad:
      return true;
    default:
      return false;
  }
}

// Several elementwise operators as one. Values are numbered: first those in
// memory, then those that live in a tile of scratch only.
struct ElementwiseGroup {
  // out = op(x, y); of a pair, out = then(op(x, y)) or then(z, op(x, y)), where
  // no operand is a `column`.
  struct Step {
    Elementwise op;
    int16_t x, y, out;  // Values; y is x for operators of one operand.
    Elementwise then = Elementwise::kIdentity;  // No pair.
    int16_t z = 0;
  };
  std::vector<Step> steps;
  int num_operands = 0;  // Values in memory.
  int num_scratch = 0;   // At most kMaxScratch.
  static constexpr int kMaxScratch = 16;
  static constexpr int kMaxValues = 64;  // Of both kinds.
};

}  // namespace cavs

#endif  // CAVS_CC_IR_ELEMENTWISE_H_
