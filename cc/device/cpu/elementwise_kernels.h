// Elementwise operators over tiles. Included by kernels_*.cc only; see
// kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_ELEMENTWISE_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_ELEMENTWISE_KERNELS_H_

#include "cc/device/cpu/math_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T>
CAVS_INLINE V<T> KeepNan(V<T> x, V<T> y, V<T> result) {
  return x != x ? x : (y != y ? y : result);
}

// log(1 + exp(x)).
template <typename T>
CAVS_INLINE V<T> Softplus(V<T> x) {
  // Nothing overflows, since exp(-|x|) is at most 1. The rounding error of 1 +
  // e is added to the logarithm, whose slope is at most 1 there.
  const V<T> one = Constant<T>(1);
  const V<T> e = ExpOfNegative<T>(-Abs<T>(x));
  const V<T> sum = e + one;
  const V<T> log = Log<T>(sum) + (e - (sum - one));
  return Simd<T>::Max(Constant<T>(0), x) + log;
}

// exp(x) - 1 where x is negative, written so that nothing cancels.
template <typename T>
CAVS_INLINE V<T> Elu(V<T> x) {
  const V<T> one = Constant<T>(1);
  const V<T> below = Tanh<T>(x * Constant<T>(0.5)) * (Exp<T>(x) + one);
  return x < Constant<T>(0) ? below : x;
}

// c[n-1] x^(n-1) + c[0] x^(n-2) + ... + c[n-2], over x^(n-1) + d[0] x^(n-2) +
// ... + d[n-2].
template <typename T, int n>
CAVS_INLINE V<T> Quotient(V<T> x, const double (&c)[n],
                          const double (&d)[n - 1]) {
  V<T> above = Constant<T>(T(c[n - 1])) * x, below = x;
  for (int i = 0; i < n - 2; ++i) {
    above = (above + Constant<T>(T(c[i]))) * x;
    below = (below + Constant<T>(T(d[i]))) * x;
  }
  return (above + Constant<T>(T(c[n - 2]))) /
         (below + Constant<T>(T(d[n - 2])));
}

// Source: Cody 1969, "Rational Chebyshev approximations for the error
// function": x R(x^2) near 0, else 1 - exp(-x^2) R(|x|).
template <typename T>
CAVS_INLINE V<T> Erf(V<T> x) {
  constexpr double kNearAbove[] = {
      3.16112374387056560e00, 1.13864154151050156e02, 3.77485237685302021e02,
      3.20937758913846947e03, 1.85777706184603153e-1};
  constexpr double kNearBelow[] = {
      2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03,
      2.84423683343917062e03};
  constexpr double kFarAbove[] = {
      5.64188496988670089e-1, 8.88314979438837594e00, 6.61191906371416295e01,
      2.98635138197400131e02, 8.81952221241769090e02, 1.71204761263407058e03,
      2.05107837782607147e03, 1.23033935479799725e03, 2.15311535474403846e-8};
  constexpr double kFarBelow[] = {
      1.57449261107098347e01, 1.17693950891312499e02, 5.37181101862009858e02,
      1.62138957456669019e03, 3.29079923573345963e03, 4.36261909014324716e03,
      3.43936767414372164e03, 1.23033935480374942e03};
  const V<T> size = Abs<T>(x), end = Constant<T>(T(0.46875));
  // Beyond 6 it is 1. The bound comes first: a NaN in the second operand is
  // kept.
  const V<T> y = Simd<T>::Min(Constant<T>(6), size);
  const V<T> square = y < end ? y * y : Constant<T>(0);
  const V<T> near = x * Quotient<T>(square, kNearAbove, kNearBelow);
  const V<T> far =
      Constant<T>(1) - Exp<T>(-y * y) * Quotient<T>(y, kFarAbove, kFarBelow);
  return size < end ? near : (x < Constant<T>(0) ? -far : far);
}

template <Elementwise kOp, typename T>
CAVS_INLINE V<T> ApplyUnary(V<T> x) {
  using E = Elementwise;
  const V<T> one = Constant<T>(1);
  if constexpr (kOp == E::kIdentity) return x;
  if constexpr (kOp == E::kNeg) return -x;
  if constexpr (kOp == E::kAbs) return Abs<T>(x);
  if constexpr (kOp == E::kSquare) return x * x;
  if constexpr (kOp == E::kSqrt) return Simd<T>::Sqrt(x);
  if constexpr (kOp == E::kRsqrt) return one / Simd<T>::Sqrt(x);
  if constexpr (kOp == E::kReciprocal) return one / x;
  if constexpr (kOp == E::kExp) return Exp<T>(x);
  if constexpr (kOp == E::kLog) return Log<T>(x);
  if constexpr (kOp == E::kSigmoid) return Sigmoid<T>(x);
  if constexpr (kOp == E::kTanh) return Tanh<T>(x);
  if constexpr (kOp == E::kSoftplus) return Softplus<T>(x);
  if constexpr (kOp == E::kElu) return Elu<T>(x);
  if constexpr (kOp == E::kErf) return Erf<T>(x);
  // Max returns its second operand if one is NaN.
  if constexpr (kOp == E::kRelu) return Simd<T>::Max(Constant<T>(0), x);
}

template <Elementwise kOp, typename T>
CAVS_INLINE V<T> ApplyBinary(V<T> x, V<T> y) {
  using E = Elementwise;
  const V<T> one = Constant<T>(1), zero = Constant<T>(0);
  if constexpr (kOp == E::kAdd) return x + y;
  if constexpr (kOp == E::kSub) return x - y;
  if constexpr (kOp == E::kMul) return x * y;
  if constexpr (kOp == E::kDiv) return x / y;
  if constexpr (kOp == E::kMaximum) return KeepNan<T>(x, y, Simd<T>::Max(x, y));
  if constexpr (kOp == E::kMinimum) return KeepNan<T>(x, y, Simd<T>::Min(x, y));
  if constexpr (kOp == E::kSquaredDifference) return (x - y) * (x - y);
  if constexpr (kOp == E::kGreater) return x > y ? one : zero;
  if constexpr (kOp == E::kGreaterEqual) return x >= y ? one : zero;
  if constexpr (kOp == E::kEqual) return x == y ? one : zero;
  if constexpr (kOp == E::kNotEqual) return x != y ? one : zero;
  if constexpr (kOp == E::kKeep) return y != zero ? x : zero;
  if constexpr (kOp == E::kDrop) return y != zero ? zero : x;
  if constexpr (kOp == E::kSigmoidGrad) return y * x * (one - x);
  if constexpr (kOp == E::kTanhGrad) return y * (one - x * x);
  if constexpr (kOp == E::kReluGrad)
    return y > Constant<T>(0) ? x : Constant<T>(0);
  if constexpr (kOp == E::kSoftplusGrad) return x * Sigmoid<T>(y);
  if constexpr (kOp == E::kEluGrad)
    return y < Constant<T>(0) ? x * (y + one) : x;
  if constexpr (kOp == E::kSqrtGrad)
    return y == Constant<T>(0) ? y : y * Constant<T>(0.5) / x;
  if constexpr (kOp == E::kRsqrtGrad)
    return y == Constant<T>(0) ? y : (y * Constant<T>(-0.5) * x) * (x * x);
  if constexpr (kOp == E::kReciprocalGrad) return -y * x * x;
}

// Element i, or the element that is broadcast.
template <typename T, bool kScalar>
CAVS_INLINE V<T> LoadOperand(const T* p, int64_t i) {
  return kScalar ? Constant<T>(*p) : Simd<T>::Load(p + i);
}
template <typename T, bool kScalar>
CAVS_INLINE V<T> LoadOperandFirst(const T* p, int64_t i, int64_t n) {
  return kScalar ? Constant<T>(*p) : Simd<T>::LoadFirst(p + i, n);
}

template <Elementwise kOp, typename T, Form kForm>
CAVS_INLINE void ElementwiseRow(const T* x, const T* y, T* out, int64_t n) {
  using S = Simd<T>;
  constexpr bool kScalarX = kForm == kScalarVector;
  constexpr bool kScalarY = kForm == kVectorScalar;
  int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) {
    const V<T> vx = LoadOperand<T, kScalarX>(x, i);
    if constexpr (IsBinary(kOp)) {
      const V<T> vy = LoadOperand<T, kScalarY>(y, i);
      S::Store(out + i, ApplyBinary<kOp, Wide<T>>(vx, vy));
    } else {
      S::Store(out + i, ApplyUnary<kOp, Wide<T>>(vx));
    }
  }
  const int64_t left = n - i;
  if (left == 0) return;
  const V<T> vx = LoadOperandFirst<T, kScalarX>(x, i, left);
  if constexpr (IsBinary(kOp)) {
    const V<T> vy = LoadOperandFirst<T, kScalarY>(y, i, left);
    S::StoreFirst(out + i, ApplyBinary<kOp, Wide<T>>(vx, vy), left);
  } else {
    S::StoreFirst(out + i, ApplyUnary<kOp, Wide<T>>(vx), left);
  }
}

template <Elementwise kOp, typename T, Form kForm>
void ElementwiseTile(TileRowsOf<const T> x, TileRowsOf<const T> y,
                     TileRowsOf<T> out, int64_t rows, int64_t n) {
  // Adjacent rows are one long row.
  constexpr bool kReadsY = IsBinary(kOp);
  if (kForm == kVectorVector && x.pitch == n && out.pitch == n &&
      (!kReadsY || y.pitch == n)) {
    n *= rows;
    rows = 1;
  }
  for (int64_t i = 0; i < rows; ++i) {
    ElementwiseRow<kOp, T, kForm>(x.data + i * x.pitch, y.data + i * y.pitch,
                                  out.data + i * out.pitch, n);
  }
}

// Of narrow types, sums of rows alone: the rest runs in fp32, as groups do.
template <Elementwise kOp, typename T, Form kForm>
constexpr TileKernel<T> TileOrNull() {
  if constexpr (!kIsNarrow<T> || kOp == Elementwise::kAdd) {
    return ElementwiseTile<kOp, T, kForm>;
  } else {
    return nullptr;
  }
}

template <Elementwise kOp, Elementwise kThen, typename T>
CAVS_INLINE V<T> ApplyPair(V<T> x, V<T> y, V<T> z) {
  const V<T> first = ApplyBinary<kOp, T>(x, y);
  if constexpr (IsBinary(kThen)) {
    return ApplyBinary<kThen, T>(z, first);
  } else {
    return ApplyUnary<kThen, T>(first);
  }
}

template <Elementwise kOp, Elementwise kThen, typename T>
void PairTile(TileRowsOf<const T> x, TileRowsOf<const T> y,
              TileRowsOf<const T> z, TileRowsOf<T> out, int64_t rows,
              int64_t n) {
  using S = Simd<T>;
  // z is a dummy if the second operator has one operand.
  if constexpr (!IsBinary(kThen)) z = x;
  if (x.pitch == n && y.pitch == n && z.pitch == n && out.pitch == n) {
    n *= rows;
    rows = 1;
  }
  for (int64_t i = 0; i < rows; ++i) {
    int64_t j = 0;
    for (; j + S::kLanes <= n; j += S::kLanes) {
      S::Store(out.data + j, ApplyPair<kOp, kThen, T>(S::Load(x.data + j),
                                                      S::Load(y.data + j),
                                                      S::Load(z.data + j)));
    }
    if (const int64_t left = n - j; left > 0) {
      S::StoreFirst(out.data + j,
                    ApplyPair<kOp, kThen, T>(S::LoadFirst(x.data + j, left),
                                             S::LoadFirst(y.data + j, left),
                                             S::LoadFirst(z.data + j, left)),
                    left);
    }
    x.data += x.pitch;
    y.data += y.pitch;
    z.data += z.pitch;
    out.data += out.pitch;
  }
}

template <Elementwise kOp, Elementwise kThen, typename T>
constexpr PairKernel<T> PairOrNull() {
  if constexpr (CanPair(kOp, kThen) && !kIsNarrow<T>) {
    return PairTile<kOp, kThen, T>;
  } else {
    return nullptr;
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_ELEMENTWISE_KERNELS_H_
