// Numbers in memory, one at a time.
#ifndef CAVS_CC_DEVICE_REFERENCE_NUMBERS_H_
#define CAVS_CC_DEVICE_REFERENCE_NUMBERS_H_

#include <cstdint>

#include "cc/base/dtype.h"

namespace cavs {

// Element i of an array of a native type.
inline double ReadElement(DType dtype, const void* data, int64_t i) {
  double value = 0;
  WithFloatType(dtype, [&](auto zero) {
    value = ToWide(static_cast<const decltype(zero)*>(data)[i]);
  });
  return value;
}

// Rounds to the type.
inline void WriteElement(DType dtype, double value, void* data, int64_t i) {
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    static_cast<T*>(data)[i] = FromWide<T>(static_cast<Wide<T>>(value));
  });
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_REFERENCE_NUMBERS_H_
