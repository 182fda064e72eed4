// Sizes that saturate at the largest number instead of wrapping around.
#ifndef CAVS_CC_BASE_BYTE_COUNT_H_
#define CAVS_CC_BASE_BYTE_COUNT_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/dtype.h"

namespace cavs {

constexpr size_t SaturatingAdd(size_t a, size_t b) {
  return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

constexpr size_t SaturatingMultiply(size_t a, size_t b) {
  return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

// Bytes of `rows` rows of `columns` elements each. No pool lends SIZE_MAX
// bytes, so a minibatch that is too large is refused and never given too
// little.
constexpr size_t ByteCount(int64_t rows, int64_t columns, DType dtype) {
  return SaturatingMultiply(SaturatingMultiply(rows, columns), SizeOf(dtype));
}

// An upper bound on the elements of a tensor, so small that sums of many sizes
// do not wrap around.
constexpr int64_t kMostElements = int64_t{1} << 48;

// The product of `sizes`; -1 if one is negative, or if the product of the sizes
// that are not zero exceeds kMostElements.
template <typename Sizes>
constexpr int64_t CheckedProduct(const Sizes& sizes) {
  int64_t product = 1;
  bool is_zero = false;
  for (const int64_t size : sizes) {
    if (size < 0) return -1;
    if (size == 0) {
      is_zero = true;
    } else if (product > kMostElements / size) {
      return -1;
    } else {
      product *= size;
    }
  }
  return is_zero ? 0 : product;
}

}  // namespace cavs

#endif  // CAVS_CC_BASE_BYTE_COUNT_H_
