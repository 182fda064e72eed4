// Element types of rows, captures and constants.
#ifndef CAVS_CC_BASE_DTYPE_H_
#define CAVS_CC_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>

namespace cavs {

// The types the native kernels compute with come first. A type of any other
// name travels as bytes (`kOther` has no fixed size: it is never stored in
// rows).
enum class DType : uint8_t {
  kFloat32,
  kFloat64,
  kInt32,
  kInt64,
  kBool,
  kBFloat16,
  kFloat16,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kUInt32,
  kUInt64,
  kOther,
};

// Bytes per element; 0 for kOther.
constexpr size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kUInt64:
      return 8;
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kUInt32:
      return 4;
    case DType::kBFloat16:
    case DType::kFloat16:
    case DType::kInt16:
    case DType::kUInt16:
      return 2;
    case DType::kBool:
    case DType::kInt8:
    case DType::kUInt8:
      return 1;
    case DType::kOther:
      return 0;
  }
  return 0;
}

// The native arithmetic kernels exist for these.
constexpr bool IsNative(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
         dtype == DType::kBFloat16;
}

// What sums over rows are formed in.
constexpr DType SumType(DType dtype) {
  return dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

}  // namespace cavs

#endif  // CAVS_CC_BASE_DTYPE_H_
