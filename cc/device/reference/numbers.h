// Numbers in memory, one at a time.
#ifndef CAVS_CC_DEVICE_REFERENCE_NUMBERS_H_
#define CAVS_CC_DEVICE_REFERENCE_NUMBERS_H_

#include <cassert>
#include <cstdint>

#include "cc/base/bfloat16.h"
#include "cc/base/dtype.h"

namespace cavs {

// Element i of an array of a native type.
inline double ReadElement(DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<const float*>(data)[i];
    case DType::kFloat64:
      return static_cast<const double*>(data)[i];
    case DType::kBFloat16:
      return ToFloat(static_cast<const BFloat16*>(data)[i]);
    default:
      assert(false && "ReadElement: no such dtype");
      return 0;
  }
}

// Rounds to the type.
inline void WriteElement(DType dtype, double value, void* data, int64_t i) {
  switch (dtype) {
    case DType::kFloat32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    case DType::kFloat64:
      static_cast<double*>(data)[i] = value;
      return;
    case DType::kBFloat16:
      static_cast<BFloat16*>(data)[i] = ToBFloat16(static_cast<float>(value));
      return;
    default:
      assert(false && "WriteElement: no such dtype");
  }
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_REFERENCE_NUMBERS_H_
