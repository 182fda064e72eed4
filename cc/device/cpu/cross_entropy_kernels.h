// Losses of classes. Included by kernels_*.cc only; see kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_CROSS_ENTROPY_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_CROSS_ENTROPY_KERNELS_H_

#include "cc/device/cpu/math_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// Of as many rows as a vector has lanes: each column of `x`, which are logits,
// is a vector, and becomes that of the softmax. Returns the losses.
template <typename T>
V<T> CrossEntropyOfLanes(int64_t cols, V<T> of_label, T* x) {
  using S = Simd<T>;
  const auto at = [x](int64_t c) { return x + c * S::kLanes; };
  V<T> most = S::Load(at(0));
  for (int64_t c = 1; c < cols; ++c) most = S::Max(S::Load(at(c)), most);
  V<T> sum = Constant<T>(0);
  for (int64_t c = 0; c < cols; ++c) {
    const V<T> e = Exp<T>(S::Load(at(c)) - most);
    sum += e;
    S::Store(at(c), e);
  }
  const V<T> scale = Constant<T>(1) / sum;
  for (int64_t c = 0; c < cols; ++c) S::Store(at(c), S::Load(at(c)) * scale);
  return Log<T>(sum) - (of_label - most);
}

template <typename T>
void CrossEntropy(const T* logits, const int32_t* labels, int64_t rows,
                  int64_t cols, T* loss, T* gradient, T* scratch) {
  constexpr int64_t kLanes = Simd<T>::kLanes;
  for (int64_t first = 0; first < rows; first += kLanes) {
    // The last rows are repeated in lanes that have none of their own.
    const int64_t n = first + kLanes <= rows ? kLanes : rows - first;
    T of_label[kLanes], losses[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const int64_t row = first + (lane < n ? lane : n - 1);
      const T* const from = logits + row * cols;
      for (int64_t c = 0; c < cols; ++c) scratch[c * kLanes + lane] = from[c];
      of_label[lane] = from[labels[row]];
    }
    Simd<T>::Store(
        losses, CrossEntropyOfLanes<T>(cols, Simd<T>::Load(of_label), scratch));
    for (int64_t lane = 0; lane < n; ++lane) {
      const int64_t row = first + lane;
      T* const to = gradient + row * cols;
      for (int64_t c = 0; c < cols; ++c) to[c] = scratch[c * kLanes + lane];
      to[labels[row]] -= 1;
      loss[row] = losses[lane];
    }
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_CROSS_ENTROPY_KERNELS_H_
