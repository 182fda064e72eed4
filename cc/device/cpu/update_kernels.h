// Updates of variables. Included by kernels_*.cc only; see kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_UPDATE_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_UPDATE_KERNELS_H_

#include "cc/device/cpu/math_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// The first n elements, or all of a vector.
template <typename T>
CAVS_INLINE V<T> LoadUpTo(const T* p, int64_t n) {
  using S = Simd<T>;
  return n >= S::kLanes ? S::Load(p) : S::LoadFirst(p, n);
}
template <typename T>
CAVS_INLINE void StoreUpTo(T* p, V<T> v, int64_t n) {
  using S = Simd<T>;
  if (n >= S::kLanes) {
    S::Store(p, v);
  } else {
    S::StoreFirst(p, v, n);
  }
}

template <typename T>
void Update(const UpdateRule& rule, const Wide<T>* gradient, int64_t n, T* var,
            T* m, T* v) {
  using Number = Wide<T>;
  const auto rate = static_cast<Number>(rule.rate);
  if (m == nullptr) {
    for (int64_t i = 0; i < n; i += Simd<T>::kLanes) {
      const V<T> g = LoadUpTo(gradient + i, n - i);
      StoreUpTo(var + i, LoadUpTo(var + i, n - i) - rate * g, n - i);
    }
    return;
  }
  const auto new_in_mean = static_cast<Number>(rule.new_in_mean);
  const auto new_in_square = static_cast<Number>(rule.new_in_square);
  const auto epsilon = static_cast<Number>(rule.epsilon);
  for (int64_t i = 0; i < n; i += Simd<T>::kLanes) {
    const V<T> g = LoadUpTo(gradient + i, n - i);
    V<T> mean = LoadUpTo(m + i, n - i), square = LoadUpTo(v + i, n - i);
    mean += (g - mean) * new_in_mean;
    square += (g * g - square) * new_in_square;
    StoreUpTo(m + i, mean, n - i);
    StoreUpTo(v + i, square, n - i);
    const V<T> change = rate * mean / (Simd<Number>::Sqrt(square) + epsilon);
    StoreUpTo(var + i, LoadUpTo(var + i, n - i) - change, n - i);
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_UPDATE_KERNELS_H_
