// From an element type given as a value to a C++ type.
#ifndef CAVS_CC_DEVICE_CPU_DISPATCH_H_
#define CAVS_CC_DEVICE_CPU_DISPATCH_H_

#include <cassert>

#include "cc/base/bfloat16.h"
#include "cc/base/dtype.h"

namespace cavs {

// Calls fn(float()), fn(double()) or fn(BFloat16()).
template <typename Fn>
void WithFloatType(DType dtype, const Fn& fn) {
  assert(IsNative(dtype));
  switch (dtype) {
    case DType::kFloat64:
      return fn(double());
    case DType::kBFloat16:
      return fn(BFloat16());
    default:
      return fn(float());
  }
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_DISPATCH_H_
