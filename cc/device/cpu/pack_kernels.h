// Packs right-hand sides of products. Included by kernels_*.cc only; see
// kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_PACK_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_PACK_KERNELS_H_

#include "cc/device/cpu/math_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T>
constexpr int kPanel = kPanelVectors * Simd<T>::kLanes;

constexpr int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The beginning of part i of `parts` parts of n. There is usually one part, and
// a division takes as long as many multiplications.
constexpr int64_t Beginning(int64_t n, int64_t i, int64_t parts) {
  return parts == 1 ? n * i : n * i / parts;
}

template <typename T, int... kIndex>
CAVS_INLINE V<T> Shuffle(V<T> a, V<T> b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, kIndex...);
#else
  return __builtin_shuffle(a, b, I<T>{kIndex...});
#endif
}

// a[f], b[f], a[f + 1], b[f + 1], ...
template <typename T, int kFirst, int... kIndex>
CAVS_INLINE V<T> Interleave(V<T> a, V<T> b,
                            std::integer_sequence<int, kIndex...>) {
  return Shuffle<T, kFirst + kIndex / 2 + kIndex % 2 * Simd<T>::kLanes...>(a,
                                                                           b);
}

// Transposes lanes x lanes elements. Interleaving the two halves of the rows
// rotates the bits of an element's position by one: after log2(lanes)
// rotations, row and column have changed places.
template <typename T>
CAVS_INLINE void TransposeSquare(V<T> (&rows)[Simd<T>::kLanes]) {
  constexpr int kLanes = Simd<T>::kLanes, kHalf = kLanes / 2;
  using Lanes = std::make_integer_sequence<int, kLanes>;
  V<T> turned[kLanes];
  CAVS_UNROLL
  for (int turn = 1; turn < kLanes; turn *= 2) {
    CAVS_UNROLL
    for (int i = 0; i < kHalf; ++i) {
      turned[2 * i] = Interleave<T, 0>(rows[i], rows[i + kHalf], Lanes());
      turned[2 * i + 1] =
          Interleave<T, kHalf>(rows[i], rows[i + kHalf], Lanes());
    }
    CAVS_UNROLL
    for (int i = 0; i < kLanes; ++i) rows[i] = turned[i];
  }
}

// Packs columns [0, width) of w, k rows of them, with rows `padded` apart.
// Writes whole vectors.
template <typename T>
CAVS_INLINE void PackRow(const T* w, int64_t width, T* packed) {
  using S = Simd<T>;
  int64_t j = 0;
  for (; j + S::kLanes <= width; j += S::kLanes) {
    S::Store(packed + j, S::Load(w + j));
  }
  if (j < width) S::Store(packed + j, S::LoadFirst(w + j, width - j));
}

template <typename T>
void PackColumns(const T* w, int64_t pitch, int64_t k, int64_t width,
                 int64_t padded, T* packed) {
  for (int64_t i = 0; i < k; ++i, w += pitch, packed += padded) {
    PackRow<T>(w, width, packed);
  }
}

// Packs the rows index[0], index[1], ... of w in the same way.
template <typename T>
void PackIndexed(const T* w, int64_t pitch, const int32_t* index, int64_t k,
                 int64_t width, int64_t padded, T* packed) {
  for (int64_t i = 0; i < k; ++i, packed += padded) {
    PackRow<T>(w + index[i] * pitch, width, packed);
  }
}

// Packs the transpose of w in the same way, reading its rows [0, width).
template <typename T>
void PackRows(const T* w, int64_t pitch, int64_t k, int64_t width,
              int64_t padded, T* packed) {
  using S = Simd<T>;
  constexpr int kLanes = S::kLanes;
  for (int64_t j = 0; j < width; j += kLanes) {
    const int64_t rows = Smaller(kLanes, width - j);
    for (int64_t i = 0; i < k; i += kLanes) {
      const int64_t depth = Smaller(kLanes, k - i);
      const T* from = w + j * pitch + i;
      T* to = packed + i * padded + j;
      V<T> square[kLanes];
      if (rows == kLanes && depth == kLanes) {
        CAVS_UNROLL
        for (int r = 0; r < kLanes; ++r) square[r] = S::Load(from + r * pitch);
      } else {
        for (int r = 0; r < kLanes; ++r) {
          square[r] = r < rows ? S::LoadFirst(from + r * pitch, depth) : V<T>{};
        }
      }
      TransposeSquare<T>(square);
      if (depth == kLanes) {
        CAVS_UNROLL
        for (int d = 0; d < kLanes; ++d) S::Store(to + d * padded, square[d]);
      } else {
        for (int d = 0; d < depth; ++d) S::Store(to + d * padded, square[d]);
      }
    }
  }
}

template <typename T>
constexpr int64_t PaddedWidth(int64_t width) {
  return CeilDiv(width, Simd<T>::kLanes) * Simd<T>::kLanes;
}

// Packs rows [first, first + k) and columns [column, column + width) of w, with
// rows `padded` apart.
template <typename T>
void PackBlock(const T* w, int64_t pitch, bool transpose, int64_t column,
               int64_t width, int64_t first, int64_t k, int64_t padded,
               T* packed) {
  if (transpose) {
    PackRows<T>(w + column * pitch + first, pitch, k, width, padded, packed);
  } else {
    PackColumns<T>(w + first * pitch + column, pitch, k, width, padded, packed);
  }
}

// The columns of one panel that are in a range: `width` columns from `column`,
// which is `in_panel` columns behind the panel's first. Rows of the packed
// panel are `pitch` apart.
struct PanelStrip {
  int64_t column, width, in_panel, pitch;
};

template <typename T>
CAVS_INLINE PanelStrip StripOfPanel(int64_t n, int64_t column, int64_t end) {
  const int64_t start = column / kPanel<T> * kPanel<T>;
  const int64_t panel_end = Smaller(start + kPanel<T>, n);
  return {column, Smaller(panel_end, end) - column, column - start,
          PaddedWidth<T>(panel_end - start)};
}

template <typename T>
void Pack(const T* w, int64_t pitch, bool transpose, int64_t k, int64_t n,
          Range columns, T* packed) {
  for (int64_t column = columns.begin; column < columns.end;) {
    const PanelStrip strip = StripOfPanel<T>(n, column, columns.end);
    PackBlock<T>(w, pitch, transpose, column - columns.begin, strip.width, 0, k,
                 strip.pitch,
                 packed + (column - strip.in_panel) * k + strip.in_panel);
    column += strip.width;
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_PACK_KERNELS_H_
