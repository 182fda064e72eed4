// Products of narrow types. Included by kernels_*.cc only; see kernel_set.h.
//
// Operands are copied, block by block, as terms for the tiles of
// gemm_kernels.h. Sums are fp32, and are rounded when all terms have been
// added.
#ifndef CAVS_CC_DEVICE_CPU_NARROW_GEMM_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_NARROW_GEMM_KERNELS_H_

#include "cc/device/cpu/gemm_kernels.h"
#include "cc/device/cpu/narrow_kernels.h"
#include "cc/device/cpu/narrow_pack_kernels.h"
#include "cc/device/cpu/pack_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// Rounds sums, whose rows are one panel apart, and writes them to c.
template <typename T>
inline void RoundBlock(const float* sum, int64_t rows, int64_t width, T* c,
                       int64_t c_pitch, bool accumulate) {
  using S = Simd<T>;
  for (int64_t i = 0; i < rows; ++i, sum += kPanel<float>, c += c_pitch) {
    int64_t j = 0;
    for (; j + S::kLanes <= width; j += S::kLanes) {
      const V<float> v = Simd<float>::Load(sum + j);
      S::Store(c + j, accumulate ? v + S::Load(c + j) : v);
    }
    if (j == width) continue;
    const int64_t n = width - j;
    const V<float> v = Simd<float>::LoadFirst(sum + j, n);
    S::StoreFirst(c + j, accumulate ? v + S::LoadFirst(c + j, n) : v, n);
  }
}

// The terms of a block of a's rows stay in the L2 cache while they are
// multiplied by one panel after the other, slice by slice.
constexpr int64_t kTermRows = 64;
constexpr int64_t kTermDepth = 512;

// The range of k that is multiplied at a time.
struct Slice {
  Range k;
  int64_t depth;         // Number of terms.
  int64_t first_packed;  // Its first packed term.
};

template <typename T, typename Term>
Slice SliceOf(int64_t k, int64_t s, int64_t slices) {
  constexpr int64_t kPacked = kNumbers<PackedTerm<T>>;
  const int64_t packed = CeilDiv(k, kPacked);
  const int64_t first = packed * s / slices, end = packed * (s + 1) / slices;
  const Range range = {first * kPacked, Smaller(k, end * kPacked)};
  return {range, CeilDiv(range.end - range.begin, kNumbers<Term>), first};
}

template <typename T, typename Term>
void TermsOfLeft(const Product<T>& p, int64_t first, int64_t rows, Range k,
                 int64_t padded, Term* out) {
  for (int64_t i = first; i < first + rows; ++i, out += padded) {
    const int64_t row = p.a_index == nullptr ? i : p.a_index[i];
    TermsAlongK(p.a + row * p.a_pitch + k.begin, k.end - k.begin, out);
  }
}

template <typename T>
inline const PackedTerm<T>* PackedSlice(const Product<T>& p,
                                        const PanelStrip& strip,
                                        const Slice& slice) {
  using Packed = PackedTerm<T>;
  return reinterpret_cast<const Packed*>(p.b) +
         (strip.column - strip.in_panel) * CeilDiv(p.k, kNumbers<Packed>) +
         slice.first_packed * strip.pitch + strip.in_panel;
}

// The terms of a slice of b: in place, or in `copy`.
template <typename T, typename Term, bool kPacked>
const Term* TermsOfRight(const Product<T>& p, const PanelStrip& strip,
                         const Slice& slice, Term* copy) {
  if constexpr (!kPacked) {
    TermsOfBlock(p.b, p.b_pitch, p.transpose_b, strip.column, strip.width,
                 slice.k, strip.pitch, copy);
    return copy;
  } else if constexpr (std::is_same_v<Term, PackedTerm<T>>) {
    return PackedSlice(p, strip, slice);
  } else {
    Unpack(PackedSlice(p, strip, slice), strip.pitch, slice.depth,
           PaddedWidth<float>(strip.width), copy);
    return copy;
  }
}

template <typename T, typename Term, bool kPacked>
void MultiplyTerms(const Product<T>& p, Range rows, Range columns) {
  alignas(64) Term a[kTermRows * (kTermDepth + kLine<Term>)];
  alignas(64) Term copy[kTermDepth * kPanel<float>];
  alignas(64) float sum[kTermRows * kPanel<float>];
  const int64_t slices =
      p.k == 0 ? 1 : CeilDiv(p.k, kTermDepth * kNumbers<Term>);
  for (int64_t row = rows.begin; row < rows.end; row += kTermRows) {
    const int64_t count = Smaller(kTermRows, rows.end - row);
    for (int64_t column = columns.begin; column < columns.end;) {
      const PanelStrip strip = StripOfPanel<float>(p.n, column, columns.end);
      for (int64_t s = 0; s < slices; ++s) {
        const Slice slice = SliceOf<T, Term>(p.k, s, slices);
        // Padded: rows apart by a power of two would use few sets of a cache.
        const int64_t pitch = PaddedWidth<float>(slice.depth) + kLine<Term>;
        if (slices > 1 || column == columns.begin) {
          TermsOfLeft(p, row, count, slice.k, pitch, a);
        }
        const Term* b = TermsOfRight<T, Term, kPacked>(p, strip, slice, copy);
        Ahead<Term> ahead;
        if (kPacked && column + strip.width < columns.end) {
          const PanelStrip next =
              StripOfPanel<float>(p.n, column + strip.width, columns.end);
          ahead = {reinterpret_cast<const Term*>(PackedSlice(p, next, slice)),
                   kPanel<float>};
        }
        MultiplyPanel<Term, false>(
            {a, pitch, b, strip.pitch, sum, kPanel<float>, slice.depth, 0,
             s > 0, ahead},
            count, strip.width);
      }
      RoundBlock(sum, count, strip.width, p.c + row * p.c_pitch + column,
                 p.c_pitch, p.accumulate);
      column += strip.width;
    }
  }
}

// Separating a pair takes as long as multiplying it, so it is done once if
// there are many rows. For few rows, reading pairs is cheaper.
constexpr int64_t kRowsOfPairs = 16;

template <typename T, bool kPacked>
void MultiplyNarrow(const Product<T>& p, Range rows, Range columns) {
  if (kDotsPairsAtOnce || rows.end - rows.begin <= kRowsOfPairs) {
    MultiplyTerms<T, PackedTerm<T>, kPacked>(p, rows, columns);
  } else {
    MultiplyTerms<T, float, kPacked>(p, rows, columns);
  }
}

// As MultiplyTransposed(), but c is fp32.
template <typename T, typename Term>
void MultiplyTransposedTerms(const Product<T>& p, Range rows, Range columns) {
  constexpr int64_t kDepth = kNearBytes / (kPanel<float> * sizeof(Term));
  constexpr int64_t kColumns = kCopiedRowBytes / sizeof(Term);
  constexpr int64_t kPitch = kColumns + kLine<Term>;
  alignas(64) Term a[kDepth * kPitch];
  alignas(64) Term b[kDepth * kPanel<float>];
  const int64_t all = CeilDiv(p.k, kNumbers<Term>);
  const int64_t slices = all == 0 ? 1 : CeilDiv(all, kDepth);
  for (int64_t s = 0; s < slices; ++s) {
    const int64_t first = all * s / slices;
    const int64_t depth = all * (s + 1) / slices - first;
    const Range k = {first * kNumbers<Term>,
                     Smaller(p.k, (first + depth) * kNumbers<Term>)};
    for (int64_t row = rows.begin; row < rows.end; row += kColumns) {
      const int64_t count = Smaller(kColumns, rows.end - row);
      TermsOfRows(p.a + row, p.a_pitch, p.a_index, k, count, kPitch, a);
      for (int64_t column = columns.begin; column < columns.end;
           column += kPanel<float>) {
        const int64_t width = Smaller(kPanel<float>, columns.end - column);
        const int64_t padded = PaddedWidth<float>(width);
        TermsOfRows(p.b + column, p.b_pitch, p.b_index, k, width, padded, b);
        float* c = reinterpret_cast<float*>(p.c) + row * p.c_pitch + column;
        MultiplyPanel<Term, true>({a, kPitch, b, padded, c, p.c_pitch, depth, 0,
                                   p.accumulate || s > 0, Ahead<Term>()},
                                  count, width);
      }
    }
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_NARROW_GEMM_KERNELS_H_
