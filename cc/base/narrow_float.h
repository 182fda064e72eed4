// Floating-point numbers of 16 bits. Memory holds them; they are computed with
// as float32, and rounded where they are written.
#ifndef CAVS_CC_BASE_NARROW_FLOAT_H_
#define CAVS_CC_BASE_NARROW_FLOAT_H_

#include <cstdint>
#include <cstring>

namespace cavs {

// A sign, an exponent of so many bits, and a fraction in the others.
template <int kExponent>
struct NarrowFloat {
  static constexpr int kExponentBits = kExponent;
  static constexpr int kFractionBits = 15 - kExponentBits;
  // Is it a float32 without its lower 16 bits?
  static constexpr bool kIsUpperHalf = kExponentBits == 8;

  uint16_t bits;
};

using BFloat16 = NarrowFloat<8>;

// What elements of type T are computed with.
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

inline uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

inline float FloatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

inline float ToWide(float x) { return x; }
inline double ToWide(double x) { return x; }
inline float ToWide(BFloat16 x) { return FloatOf(uint32_t{x.bits} << 16); }

// Rounds to nearest, ties to even, as TensorFlow does. NaN stays NaN.
template <typename T>
T FromWide(Wide<T> x) {
  return x;
}
template <>
inline BFloat16 FromWide<BFloat16>(float x) {
  const uint32_t bits = BitsOf(x);
  if (x != x) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

}  // namespace cavs

#endif  // CAVS_CC_BASE_NARROW_FLOAT_H_
