// Floating-point numbers of 16 bits, in memory only: they are converted to
// float32 for arithmetic, and results are rounded.
#ifndef CAVS_CC_BASE_NARROW_FLOAT_H_
#define CAVS_CC_BASE_NARROW_FLOAT_H_

#include <cstdint>
#include <cstring>

namespace cavs {

template <typename To, typename From>
To BitCast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &x, sizeof(to));
  return to;
}

// A sign, kExponent bits of an exponent, and a fraction in the other bits, as
// in IEEE 754. Subnormal numbers keep their values, even on threads that treat
// subnormal numbers of float32 as zero, as TensorFlow's threads do. NaN stays
// NaN.
template <int kExponent>
struct NarrowFloat {
  static constexpr int kExponentBits = kExponent;
  static constexpr int kFractionBits = 15 - kExponentBits;
  // Whether it is a float32 without its lower 16 bits.
  static constexpr bool kIsUpperHalf = kExponentBits == 8;
  // The bits of the exponent: all are set if the number is not finite.
  static constexpr uint32_t kInfinity = 0x8000 - (0x8000 >> kExponentBits);

  uint16_t bits;

  float Widen() const { return Widen<float>(uint32_t{bits}); }

  // Rounds to nearest, ties to even. Numbers that round to more than the
  // largest are infinite.
  static NarrowFloat Round(float x) {
    return {static_cast<uint16_t>(Round<uint32_t>(x))};
  }

  // Widens one number or a vector of numbers: Float is float or a vector of it,
  // Bits is uint32_t or a vector of it with the numbers in the lower halves.
  template <typename Float, typename Bits>
  static Float Widen(Bits narrow) {
    if constexpr (kIsUpperHalf) return BitCast<Float>(narrow << 16);
    const Bits none = {};
    const Bits magnitude = narrow & 0x7fffu;
    const Bits infinity = magnitude < kInfinity ? none : none + kWideInfinity;
    const Bits quiet = magnitude > kInfinity ? none + kWideQuiet : none;
    const Bits normal = (magnitude << kShift) + kRebias;
    const Float subnormal =
        BitCast<Float>(magnitude + kPower) - BitCast<Float>(none + kPower);
    const Bits finite =
        magnitude < (1u << kFractionBits) ? BitCast<Bits>(subnormal) : normal;
    return BitCast<Float>((narrow & 0x8000u) << 16 | finite | infinity | quiet);
  }

  template <typename Bits, typename Float>
  static Bits Round(Float x) {
    const Bits none = {};
    const Bits sign = BitCast<Bits>(x) >> 16 & 0x8000u;
    const Bits wide = BitCast<Bits>(x) & 0x7fffffffu;
    const Bits half = (wide >> kShift & 1u) + ((1u << (kShift - 1)) - 1);
    Bits rounded = (wide - kRebias + half) >> kShift;
    rounded = rounded < kInfinity ? rounded : none + kInfinity;
    if constexpr (!kIsUpperHalf) {
      const Float sum = BitCast<Float>(wide) + BitCast<Float>(none + kPower);
      const Bits subnormal = BitCast<Bits>(sum) - kPower;
      rounded = wide < kRebias + kUnit ? subnormal : rounded;
    }
    const Bits nan = (wide | kWideQuiet) >> kShift & 0x7fffu;
    return sign | (wide > kWideInfinity ? nan : rounded);
  }

 private:
  // Constants of float32.
  static constexpr uint32_t kUnit = 1 << 23;  // One in the exponent.
  static constexpr uint32_t kWideInfinity = 255 * kUnit;
  static constexpr uint32_t kWideQuiet = kUnit / 2;
  // How far the fraction is shifted, and what is added to the exponent, to get
  // a float32.
  static constexpr int kShift = 23 - kFractionBits;
  static constexpr uint32_t kRebias = (128 - (1 << (kExponent - 1))) * kUnit;
  // The float32 whose last place is the smallest number: added to a subnormal
  // number, it has the fraction of that in its lowest bits.
  static constexpr uint32_t kPower = kRebias + (24 - kFractionBits) * kUnit;
};

using BFloat16 = NarrowFloat<8>;
using Float16 = NarrowFloat<5>;

// The type in which elements of type T are computed.
template <typename T>
struct WideOf {
  using Type = T;
};
template <int kExponent>
struct WideOf<NarrowFloat<kExponent>> {
  using Type = float;
};
template <typename T>
using Wide = typename WideOf<T>::Type;

template <typename T>
constexpr bool kIsNarrow = sizeof(T) < sizeof(Wide<T>);

template <typename T>
Wide<T> ToWide(T x) {
  if constexpr (kIsNarrow<T>) {
    return x.Widen();
  } else {
    return x;
  }
}

template <typename T>
T FromWide(Wide<T> x) {
  if constexpr (kIsNarrow<T>) {
    return T::Round(x);
  } else {
    return x;
  }
}

}  // namespace cavs

#endif  // CAVS_CC_BASE_NARROW_FLOAT_H_
