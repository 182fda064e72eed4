// Element types of rows, captures and constants.
#ifndef CAVS_CC_BASE_DTYPE_H_
#define CAVS_CC_BASE_DTYPE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "cc/base/narrow_float.h"

namespace cavs {

// kOther stands for every type that has no entry: it has no fixed size, and
// values of it are passed on as bytes but never stored in rows.
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

template <typename T>
constexpr DType kDTypeOf = DType::kOther;
template <>
constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
constexpr DType kDTypeOf<BFloat16> = DType::kBFloat16;
template <>
constexpr DType kDTypeOf<Float16> = DType::kFloat16;

// The types that native kernels compute with, and what depends on that list.
template <typename... T>
struct FloatTypeList {
  static constexpr size_t kSize = sizeof...(T);
  static constexpr DType kDTypes[] = {kDTypeOf<T>...};

  static constexpr bool Contains(DType dtype) {
    return ((dtype == kDTypeOf<T>) || ...);
  }

  static constexpr bool ContainsNarrow(DType dtype) {
    return ((dtype == kDTypeOf<T> && kIsNarrow<T>) || ...);
  }

  // Calls fn(T()) with the T of `dtype`.
  template <typename Fn>
  static void Call(DType dtype, const Fn& fn) {
    ((dtype == kDTypeOf<T> ? fn(T()) : void()), ...);
  }

  // A template applied to all of them.
  template <template <typename...> class Of>
  using Apply = Of<T...>;
};

using FloatTypes = FloatTypeList<float, double, BFloat16, Float16>;

constexpr bool IsNative(DType dtype) { return FloatTypes::Contains(dtype); }
constexpr bool IsNarrow(DType dtype) {
  return FloatTypes::ContainsNarrow(dtype);
}

// The type in which sums over rows are accumulated.
constexpr DType SumType(DType dtype) {
  return IsNarrow(dtype) ? DType::kFloat32 : dtype;
}

// Calls fn(T()), where T is the C++ type of a native dtype.
template <typename Fn>
void WithFloatType(DType dtype, const Fn& fn) {
  assert(IsNative(dtype));
  FloatTypes::Call(dtype, fn);
}

}  // namespace cavs

#endif  // CAVS_CC_BASE_DTYPE_H_
