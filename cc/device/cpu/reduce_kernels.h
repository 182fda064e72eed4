// Sums. Included by kernels_*.cc only; see kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_REDUCE_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_REDUCE_KERNELS_H_

#include "cc/device/cpu/math_kernels.h"
#include "cc/device/cpu/pack_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// Long columns are summed in groups of this many rows, and then the group sums
// are added: the rounding error grows with the larger of the two counts, not
// with the number of rows.
constexpr int64_t kSumRows = 256;

// Sums one strip of `kVectors` vectors of columns, or the first `n` columns of
// one vector.
template <typename T, int kVectors>
void SumStrip(const T* x, int64_t pitch, int64_t rows, int64_t n, Wide<T>* out,
              bool accumulate) {
  using S = Simd<T>;
  using Out = Simd<Wide<T>>;
  const bool whole = n == kVectors * S::kLanes;
  V<T> total[kVectors] = {};
  for (int64_t first = 0; first < rows; first += kSumRows) {
    const int64_t last = Smaller(rows, first + kSumRows);
    V<T> sum[kVectors] = {};
    for (int64_t i = first; i < last; ++i) {
      CAVS_UNROLL
      for (int j = 0; j < kVectors; ++j) {
        const T* from = x + i * pitch + j * S::kLanes;
        sum[j] += whole ? S::Load(from) : S::LoadFirst(from, n);
      }
    }
    CAVS_UNROLL
    for (int j = 0; j < kVectors; ++j) total[j] += sum[j];
  }
  CAVS_UNROLL
  for (int j = 0; j < kVectors; ++j) {
    Wide<T>* to = out + j * S::kLanes;
    if (whole) {
      Out::Store(to, accumulate ? total[j] + Out::Load(to) : total[j]);
    } else {
      Out::StoreFirst(
          to, accumulate ? total[j] + Out::LoadFirst(to, n) : total[j], n);
    }
  }
}

template <typename T>
void SumRows(const T* x, int64_t pitch, int64_t rows, int64_t cols,
             Wide<T>* out, bool accumulate) {
  constexpr int kLanes = Simd<T>::kLanes;
  int64_t j = 0;
  for (; j + 4 * kLanes <= cols; j += 4 * kLanes) {
    SumStrip<T, 4>(x + j, pitch, rows, 4 * kLanes, out + j, accumulate);
  }
  for (; j < cols; j += kLanes) {
    SumStrip<T, 1>(x + j, pitch, rows, Smaller(kLanes, cols - j), out + j,
                   accumulate);
  }
}

// The sum of all elements of a vector.
template <typename T>
CAVS_INLINE Wide<T> SumOfLanes(V<T> x) {
  constexpr int kLanes = Simd<T>::kLanes;
  Wide<T> lanes[kLanes];
  Simd<Wide<T>>::Store(lanes, x);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

// The sum of term(x) over n elements.
template <typename T, typename Term>
CAVS_INLINE Wide<T> SumOf(const T* x, int64_t n, const Term& term) {
  using S = Simd<T>;
  V<T> sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * S::kLanes <= n; i += 4 * S::kLanes) {
    CAVS_UNROLL
    for (int j = 0; j < 4; ++j) sum[j] += term(S::Load(x + i + j * S::kLanes));
  }
  for (int j = 0; i < n; ++j, i += S::kLanes) {
    sum[j] +=
        term(n - i >= S::kLanes ? S::Load(x + i) : S::LoadFirst(x + i, n - i));
  }
  return SumOfLanes<T>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

template <typename T>
Wide<T> Sum(const T* x, int64_t n) {
  return SumOf(x, n, [](V<T> value) { return value; });
}

// A number minus itself is zero, but NaN if it is infinite or NaN.
template <typename T>
bool AreFinite(const T* x, int64_t n) {
  return SumOf(x, n, [](V<T> value) { return value - value; }) == 0;
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_REDUCE_KERNELS_H_
