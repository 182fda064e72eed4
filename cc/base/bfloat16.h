// The bfloat16 format: the upper half of a float32.
#ifndef CAVS_CC_BASE_BFLOAT16_H_
#define CAVS_CC_BASE_BFLOAT16_H_

#include <cstdint>
#include <cstring>

namespace cavs {

struct BFloat16 {
  uint16_t bits;
};

inline float ToFloat(BFloat16 x) {
  const uint32_t wide = static_cast<uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

// Rounds to nearest, ties to even, as TensorFlow does. NaN stays NaN.
inline BFloat16 ToBFloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if (x != x) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  bits += 0x7fff + ((bits >> 16) & 1);
  return {static_cast<uint16_t>(bits >> 16)};
}

}  // namespace cavs

#endif  // CAVS_CC_BASE_BFLOAT16_H_
