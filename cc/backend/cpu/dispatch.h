// From an element type given as a value to a C++ type.
#ifndef CAVS_CC_BACKEND_CPU_DISPATCH_H_
#define CAVS_CC_BACKEND_CPU_DISPATCH_H_

#include <cassert>

#include "cc/backend/dtype.h"

namespace cavs {

// Calls fn(float()) or fn(double()).
template <typename Fn>
void WithFloatType(DType dtype, const Fn& fn) {
  assert(IsNative(dtype));
  if (dtype == DType::kFloat64) {
    fn(double());
  } else {
    fn(float());
  }
}

}  // namespace cavs

#endif  // CAVS_CC_BACKEND_CPU_DISPATCH_H_
