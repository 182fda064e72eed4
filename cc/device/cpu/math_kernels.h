// exp, log, tanh and sigmoid of a vector. Included by kernels_*.cc only; see
// kernel_set.h.
//
// Largest relative error (tests/cc/device/cpu/math_test.cc): 5e-7 in fp32,
// 2e-15 in fp64, everywhere: results below the smallest normal number are
// rounded to subnormals, not lost. Infinities, NaN, zeros and their signs are
// as in <cmath>.
#ifndef CAVS_CC_DEVICE_CPU_MATH_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_MATH_KERNELS_H_

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T>
using V = typename Simd<T>::V;
template <typename T>
using I = typename Simd<T>::I;  // Signed, for comparisons and shifts.
template <typename T>
using U = typename Simd<T>::U;  // Unsigned, for sums that may wrap around.

template <typename T>
struct Float;

template <>
struct Float<float> {
  using Int = uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr Int kSqrtHalfBits = 0x3f3504f3;
  static constexpr float kRound = 0x1.8p23f;  // x + kRound - kRound rounds x.
  // ln 2 as a sum of two numbers; the product of the first with an exponent is
  // exact.
  static constexpr float kLn2High = 0.693359375f;
  static constexpr float kLn2Low = -2.12194440e-4f;
  static constexpr float kExpMin = -104;  // exp rounds to 0 here ...
  static constexpr float kExpMax = 89;    // ... and to infinity here.
  static constexpr float kTanhOne = 10;   // tanh rounds to 1 here.
  static constexpr int kExpTerms = 6;
  static constexpr int kLogTerms = 4;
};

template <>
struct Float<double> {
  using Int = uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr Int kSqrtHalfBits = 0x3fe6a09e667f3bcd;
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kLn2High = 0x1.62e42feep-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr double kExpMin = -746;
  static constexpr double kExpMax = 710;
  static constexpr double kTanhOne = 20;
  static constexpr int kExpTerms = 12;
  static constexpr int kLogTerms = 10;
};

template <typename T>
CAVS_INLINE V<T> Constant(T value) {
  return Simd<T>::Broadcast(value);
}
template <typename T>
CAVS_INLINE U<T> Bits(V<T> x) {
  return reinterpret_cast<U<T>>(x);
}
template <typename T>
CAVS_INLINE V<T> FromBits(U<T> x) {
  return reinterpret_cast<V<T>>(x);
}
template <typename T>
CAVS_INLINE V<T> Abs(V<T> x) {
  return FromBits<T>(Bits<T>(x) & ~Bits<T>(Constant<T>(T(-0.0))));
}

// 1/2! + x/3! + ... with `kTerms` terms.
template <typename T, int kTerms, int kFirst = 2>
CAVS_INLINE V<T> ExpSeries(V<T> x) {
  constexpr double kFactorial[] = {
      1,     1,      2,       6,        24,        120,        720,        5040,
      40320, 362880, 3628800, 39916800, 479001600, 6227020800, 87178291200};
  const V<T> term = Constant<T>(T(1 / kFactorial[kFirst]));
  if constexpr (kTerms == 1) {
    return term;
  } else {
    return Simd<T>::Fma(x, ExpSeries<T, kTerms - 1, kFirst + 1>(x), term);
  }
}

// 2/3 + 2x/5 + 2x^2/7 + ... with `kTerms` terms.
template <typename T, int kTerms, int kDenominator = 3>
CAVS_INLINE V<T> LogSeries(V<T> x) {
  const V<T> term = Constant<T>(T(2.0 / kDenominator));
  if constexpr (kTerms == 1) {
    return term;
  } else {
    return Simd<T>::Fma(x, LogSeries<T, kTerms - 1, kDenominator + 2>(x), term);
  }
}

// 2^n of an integral n whose result is a normal number.
template <typename T>
CAVS_INLINE V<T> PowerOfTwo(U<T> n) {
  return FromBits<T>((n + Float<T>::kBias) << Float<T>::kMantissaBits);
}
template <typename T>
CAVS_INLINE U<T> ToInt(V<T> n) {
  const V<T> round = Constant<T>(Float<T>::kRound);
  return Bits<T>(n + round) - Bits<T>(round);
}

// Replaces the absolute value and keeps the sign.
template <typename T>
CAVS_INLINE U<T> ShiftRight(U<T> n, int bits) {
  return reinterpret_cast<U<T>>(reinterpret_cast<I<T>>(n) >> bits);
}

// a * 2^n, where the result may be subnormal or infinite.
template <typename T>
CAVS_INLINE V<T> Scale(V<T> a, V<T> n) {
  if constexpr (Simd<T>::kHasScale) {
    return Simd<T>::Scale(a, n);
  } else {
    const U<T> all = ToInt<T>(n);
    const U<T> half = ShiftRight<T>(all, 1);
    return a * PowerOfTwo<T>(half) * PowerOfTwo<T>(all - half);
  }
}

// x = n ln 2 + r with integral n and |r| <= ln 2 / 2; `fraction` is exp(r) - 1,
// with a small relative error.
template <typename T>
struct ExpParts {
  V<T> n;
  V<T> power;  // 2^(n + kGuard), where that is a normal number.
  V<T> fraction;
};

template <typename T, int kGuard = 0>
CAVS_INLINE ExpParts<T> SplitExp(V<T> x) {
  using S = Simd<T>;
  using F = Float<T>;
  // The last bits of a number next to kRound are those of an integer: here of
  // the exponent that the power has.
  const V<T> round = Constant<T>(F::kRound + F::kBias + kGuard);
  const V<T> sum = S::Fma(x, Constant<T>(T(1.44269504088896340736)), round);
  const V<T> n = sum - round;
  V<T> r = S::Fma(n, Constant<T>(-F::kLn2High), x);
  r = S::Fma(n, Constant<T>(-F::kLn2Low), r);
  return {n, FromBits<T>(Bits<T>(sum) << F::kMantissaBits),
          S::Fma(r * r, ExpSeries<T, F::kExpTerms>(r), r)};
}

template <typename T>
CAVS_INLINE V<T> Exp(V<T> x) {
  using S = Simd<T>;
  // The bound comes first: a NaN in the second operand is kept.
  x = S::Min(Constant<T>(Float<T>::kExpMax), x);
  x = S::Max(Constant<T>(Float<T>::kExpMin), x);
  const ExpParts<T> e = SplitExp<T>(x);
  return Scale<T>(e.fraction + Constant<T>(1), e.n);
}

// exp(x) of an x that is not positive. The powers of two are normal numbers
// once they are multiplied by 2^kGuard, and the last product rounds, to a
// subnormal number too.
template <typename T>
CAVS_INLINE V<T> ExpOfNegative(V<T> x) {
  using S = Simd<T>;
  constexpr int kGuard = S::kHasScale ? 0 : 2 * Float<T>::kMantissaBits;
  x = S::Max(Constant<T>(Float<T>::kExpMin), x);
  const ExpParts<T> e = SplitExp<T, kGuard>(x);
  if constexpr (S::kHasScale) {
    return S::Scale(e.fraction + Constant<T>(1), e.n);
  } else {
    return S::Fma(e.power, e.fraction, e.power) *
           PowerOfTwo<T>(U<T>{} - kGuard);
  }
}

template <typename T>
CAVS_INLINE V<T> Sigmoid(V<T> x) {
  // exp of a negative number cannot overflow, and keeps small results exact.
  const V<T> e = ExpOfNegative<T>(-Abs<T>(x));
  const V<T> r = Simd<T>::Reciprocal(e + Constant<T>(1));
  return x >= Constant<T>(0) ? r : e * r;
}

template <typename T>
CAVS_INLINE V<T> Tanh(V<T> x) {
  using S = Simd<T>;
  // With m = exp(-2|x|) - 1, found without cancellation: |tanh x| = -m / (2 +
  // m).
  const V<T> sign = Constant<T>(T(-0.0));
  V<T> y = Abs<T>(x) * Constant<T>(-2);
  y = S::Max(Constant<T>(-2 * Float<T>::kTanhOne), y);
  const ExpParts<T> e = SplitExp<T>(y);
  const V<T> m = S::Fma(e.power, e.fraction, e.power - Constant<T>(1));
  const V<T> t = m * S::Reciprocal(m + Constant<T>(2));
  const U<T> magnitude = Bits<T>(t) & ~Bits<T>(sign);
  return FromBits<T>(magnitude | (Bits<T>(x) & Bits<T>(sign)));
}

template <typename T>
CAVS_INLINE V<T> Log(V<T> x) {
  using S = Simd<T>;
  using F = Float<T>;
  using Int = typename F::Int;
  constexpr Int kMantissa = (Int(1) << F::kMantissaBits) - 1;
  const V<T> zero = Constant<T>(0), one = Constant<T>(1);
  const V<T> round = Constant<T>(F::kRound);
  const V<T> infinity = Constant<T>(T(__builtin_inf()));

  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)); subnormals are scaled first.
  const V<T> smallest_normal = PowerOfTwo<T>(U<T>{} + Int(1 - F::kBias));
  const auto subnormal = x < smallest_normal;
  const V<T> scale = PowerOfTwo<T>(U<T>{} + Int(F::kMantissaBits));
  const V<T> normal = subnormal ? x * scale : x;
  const U<T> bits = Bits<T>(normal) - F::kSqrtHalfBits;
  V<T> e = FromBits<T>(Bits<T>(round) + ShiftRight<T>(bits, F::kMantissaBits)) -
           round;
  e = e - (subnormal ? Constant<T>(F::kMantissaBits) : zero);
  const V<T> m = FromBits<T>((bits & kMantissa) + F::kSqrtHalfBits);

  // log(1 + f) = f - f^2/2 + s (f^2/2 + series(s^2)), with s = f / (2 + f).
  const V<T> f = m - one;
  const V<T> s = f * S::Reciprocal(f + Constant<T>(2));
  const V<T> square = s * s;
  const V<T> half_f2 = f * f * Constant<T>(T(0.5));
  const V<T> rest = S::Fma(square, LogSeries<T, F::kLogTerms>(square), half_f2);
  const V<T> low = S::Fma(e, Constant<T>(F::kLn2Low), s * rest);
  V<T> y = S::Fma(e, Constant<T>(F::kLn2High), f - (half_f2 - low));

  y = x < infinity ? y : x;  // Infinity and NaN are their own logarithms.
  y = x < zero ? Constant<T>(T(__builtin_nan(""))) : y;
  return x == zero ? -infinity : y;
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_MATH_KERNELS_H_
