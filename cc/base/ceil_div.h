// Division that rounds up.
#ifndef CAVS_CC_BASE_CEIL_DIV_H_
#define CAVS_CC_BASE_CEIL_DIV_H_

#include <cstdint>

namespace cavs {

// REQUIRES: a is not negative, and b is positive.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace cavs

#endif  // CAVS_CC_BASE_CEIL_DIV_H_
