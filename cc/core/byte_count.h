// Sizes that stop at the largest one where they would wrap around.
#ifndef CAVS_CC_CORE_BYTE_COUNT_H_
#define CAVS_CC_CORE_BYTE_COUNT_H_

#include <cstddef>
#include <cstdint>

#include "cc/backend/dtype.h"

namespace cavs {

constexpr size_t SaturatingAdd(size_t a, size_t b) {
  return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

constexpr size_t SaturatingMultiply(size_t a, size_t b) {
  return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

// Of `rows` rows of `columns` elements each. No pool lends SIZE_MAX bytes, so a
// minibatch that is too large is refused, not given too little.
constexpr size_t ByteCount(int64_t rows, int64_t columns, DType dtype) {
  return SaturatingMultiply(SaturatingMultiply(rows, columns), SizeOf(dtype));
}

}  // namespace cavs

#endif  // CAVS_CC_CORE_BYTE_COUNT_H_
