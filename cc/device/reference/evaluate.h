// Elementwise operators on single numbers, written as simply as possible: the
// oracle for the kernels of all devices.
#ifndef CAVS_CC_DEVICE_REFERENCE_EVALUATE_H_
#define CAVS_CC_DEVICE_REFERENCE_EVALUATE_H_

#include <cmath>

#include "cc/ir/operators.h"

namespace cavs {

// Operators of one operand ignore `y`.
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
    case Elementwise::kSigmoidGrad:
      return y * x * (1 - x);
    case Elementwise::kTanhGrad:
      return y * (1 - x * x);
    case Elementwise::kReluGrad:
      return y > 0 ? x : 0;
    case Elementwise::kSoftplusGrad:
      return x / (1 + std::exp(-y));
  }
  return 0;
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_REFERENCE_EVALUATE_H_
