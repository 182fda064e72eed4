// Packs operands of products of narrow types as terms: pairs of numbers with
// consecutive k, or single numbers as fp32. Included by kernels_*.cc only; see
// kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_NARROW_PACK_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_NARROW_PACK_KERNELS_H_

#include "cc/device/cpu/narrow_kernels.h"
#include "cc/device/cpu/pack_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// Numbers with consecutive k in one term.
template <typename Term>
constexpr int64_t kNumbers = 1;
template <>
constexpr int64_t kNumbers<Pair> = 2;

// The terms in packed matrices, whichever terms are multiplied.
template <typename T>
using PackedTerm = std::conditional_t<T::kIsUpperHalf, Pair, float>;

// Writes n numbers with consecutive k as whole vectors of terms, padded by
// zeros.
template <typename T>
inline void TermsAlongK(const T* x, int64_t n, float* out) {
  using S = Simd<T>;
  int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) {
    Simd<float>::Store(out + i, S::Load(x + i));
  }
  if (i < n) Simd<float>::Store(out + i, S::LoadFirst(x + i, n - i));
}

template <typename T>
inline void TermsAlongK(const T* x, int64_t n, Pair* out) {
  using S = Simd<Pair>;
  constexpr int kStep = 2 * S::kLanes;
  for (; n >= kStep; n -= kStep, x += kStep, out += S::kLanes) {
    S::Store(out, S::Load(reinterpret_cast<const Pair*>(x)));
  }
  if (n == 0) return;
  T rest[kStep] = {};
  for (int64_t i = 0; i < n; ++i) rest[i] = x[i];
  S::Store(out, S::Load(reinterpret_cast<const Pair*>(rest)));
}

// Writes one row of terms of n columns: from row x and the next row y, which is
// null after the last.
template <typename T>
inline void TermsOfColumns(const T* x, const T*, int64_t n, float* out) {
  TermsAlongK(x, n, out);
}

template <typename T>
inline void TermsOfColumns(const T* x, const T* y, int64_t n, Pair* out) {
  using S = Simd<T>;
  int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) {
    const V<float> second = y == nullptr ? V<float>{} : S::Load(y + i);
    Simd<Pair>::Store(out + i, Pairs(S::Load(x + i), second));
  }
  if (i == n) return;
  const V<float> second =
      y == nullptr ? V<float>{} : S::LoadFirst(y + i, n - i);
  Simd<Pair>::Store(out + i, Pairs(S::LoadFirst(x + i, n - i), second));
}

// Writes rows `k` and the first `width` columns of w as rows of terms that are
// `padded` apart.
template <typename T, typename Term>
void TermsOfRows(const T* w, int64_t pitch, const int32_t* index, Range k,
                 int64_t width, int64_t padded, Term* out) {
  const auto row = [&](int64_t i) {
    if (i >= k.end) return static_cast<const T*>(nullptr);
    return w + (index == nullptr ? i : index[i]) * pitch;
  };
  for (int64_t i = k.begin; i < k.end; i += kNumbers<Term>, out += padded) {
    TermsOfColumns(row(i), row(i + 1), width, out);
  }
}

// The same for the transpose of w, reading its rows [0, width).
template <typename T, typename Term>
void TermsOfTransposed(const T* w, int64_t pitch, Range k, int64_t width,
                       int64_t padded, Term* out) {
  constexpr int kLanes = Simd<float>::kLanes;
  constexpr int64_t kDepth = 4 * kLanes;
  alignas(64) Term rows[kLanes * kDepth];
  for (int64_t i = k.begin; i < k.end; i += kDepth * kNumbers<Term>) {
    const int64_t n = Smaller(kDepth * kNumbers<Term>, k.end - i);
    for (int64_t j = 0; j < width; j += kLanes) {
      const int64_t count = Smaller(kLanes, width - j);
      for (int64_t r = 0; r < count; ++r) {
        TermsAlongK(w + (j + r) * pitch + i, n, rows + r * kDepth);
      }
      PackRows<float>(reinterpret_cast<const float*>(rows), kDepth,
                      CeilDiv(n, kNumbers<Term>), count, padded,
                      reinterpret_cast<float*>(out + j));
    }
    out += kDepth * padded;
  }
}

template <typename T, typename Term>
void TermsOfBlock(const T* w, int64_t pitch, bool transpose, int64_t column,
                  int64_t width, Range k, int64_t padded, Term* out) {
  if (transpose) {
    TermsOfTransposed(w + column * pitch, pitch, k, width, padded, out);
  } else {
    TermsOfRows(w + column, pitch, nullptr, k, width, padded, out);
  }
}

template <typename T>
inline void PackTerms(const T* w, int64_t pitch, bool transpose, int64_t k,
                      int64_t n, Range columns, float* packed) {
  using Term = PackedTerm<T>;
  const int64_t depth = CeilDiv(k, kNumbers<Term>);
  for (int64_t column = columns.begin; column < columns.end;) {
    const PanelStrip strip = StripOfPanel<float>(n, column, columns.end);
    float* out = packed + (column - strip.in_panel) * depth + strip.in_panel;
    TermsOfBlock(w, pitch, transpose, column - columns.begin, strip.width,
                 {0, k}, strip.pitch, reinterpret_cast<Term*>(out));
    column += strip.width;
  }
}

// Writes `depth` rows of single terms, the first `width` columns in whole
// vectors.
inline void Unpack(const Pair* packed, int64_t pitch, int64_t depth,
                   int64_t width, float* out) {
  using S = Simd<float>;
  for (int64_t i = 0; i < depth; i += 2, packed += pitch, out += 2 * pitch) {
    for (int64_t j = 0; j < width; j += S::kLanes) {
      const V<float> pairs = Simd<Pair>::Load(packed + j);
      S::Store(out + j, First(pairs));
      if (i + 1 < depth) S::Store(out + pitch + j, Second(pairs));
    }
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_NARROW_PACK_KERNELS_H_
