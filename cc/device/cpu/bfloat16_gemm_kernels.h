// Products of bfloat16. For kernels_*.cc alone; see kernel_set.h.
//
// Operands are copied, block by block, to where the tiles of gemm_kernels.h
// read them, as terms. Sums are fp32, and are rounded when all terms are in.
#ifndef CAVS_CC_DEVICE_CPU_BFLOAT16_GEMM_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_BFLOAT16_GEMM_KERNELS_H_

#include "cc/device/cpu/bfloat16_kernels.h"
#include "cc/device/cpu/bfloat16_pack_kernels.h"
#include "cc/device/cpu/gemm_kernels.h"
#include "cc/device/cpu/pack_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// Rounds sums, whose rows are a panel apart, and writes them to c.
inline void RoundBlock(const float* sum, int64_t rows, int64_t width,
                       BFloat16* c, int64_t c_pitch, bool accumulate) {
  using S = Simd<BFloat16>;
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

// The terms of a block of a's rows stay in the L2 cache while they meet one
// panel after the other, slice by slice.
constexpr int64_t kTermRows = 64;
constexpr int64_t kTermDepth = 512;

// The slice of a product that is formed at a time.
struct Slice {
  Range k;
  int64_t depth;       // In terms.
  int64_t first_pair;  // Where it begins in packed rows.
};

template <typename Term>
Slice SliceOf(int64_t k, int64_t s, int64_t slices) {
  const int64_t pairs = CeilDiv(k, kNumbers<Pair>);
  const int64_t first = pairs * s / slices, end = pairs * (s + 1) / slices;
  const Range range = {first * kNumbers<Pair>,
                       Smaller(k, end * kNumbers<Pair>)};
  return {range, CeilDiv(range.end - range.begin, kNumbers<Term>), first};
}

template <typename Term>
void TermsOfLeft(const Product<BFloat16>& p, int64_t first, int64_t rows,
                 Range k, int64_t padded, Term* out) {
  for (int64_t i = first; i < first + rows; ++i, out += padded) {
    const int64_t row = p.a_index == nullptr ? i : p.a_index[i];
    TermsAlongK(p.a + row * p.a_pitch + k.begin, k.end - k.begin, out);
  }
}

inline const Pair* PackedSlice(const Product<BFloat16>& p,
                               const PanelPiece& piece, const Slice& slice) {
  return reinterpret_cast<const Pair*>(p.b) +
         (piece.column - piece.in_panel) * CeilDiv(p.k, kNumbers<Pair>) +
         slice.first_pair * piece.pitch + piece.in_panel;
}

// Where the terms of a slice of b are: in place, or in `copy`.
template <typename Term, bool kPacked>
const Term* TermsOfRight(const Product<BFloat16>& p, const PanelPiece& piece,
                         const Slice& slice, Term* copy) {
  if constexpr (!kPacked) {
    TermsOfBlock(p.b, p.b_pitch, p.transpose_b, piece.column, piece.width,
                 slice.k, piece.pitch, copy);
    return copy;
  } else if constexpr (kNumbers<Term> == kNumbers<Pair>) {
    return PackedSlice(p, piece, slice);
  } else {
    Unpack(PackedSlice(p, piece, slice), piece.pitch, slice.depth,
           PaddedWidth<float>(piece.width), copy);
    return copy;
  }
}

template <typename Term, bool kPacked>
void MultiplyTerms(const Product<BFloat16>& p, Range rows, Range columns) {
  alignas(64) Term a[kTermRows * (kTermDepth + kLine<Term>)];
  alignas(64) Term copy[kTermDepth * kPanel<float>];
  alignas(64) float sum[kTermRows * kPanel<float>];
  const int64_t slices =
      p.k == 0 ? 1 : CeilDiv(p.k, kTermDepth * kNumbers<Term>);
  for (int64_t row = rows.begin; row < rows.end; row += kTermRows) {
    const int64_t count = Smaller(kTermRows, rows.end - row);
    for (int64_t column = columns.begin; column < columns.end;) {
      const PanelPiece piece = PieceOfPanel<float>(p.n, column, columns.end);
      for (int64_t s = 0; s < slices; ++s) {
        const Slice slice = SliceOf<Term>(p.k, s, slices);
        // Rows apart by a power of two would share few lines of a cache.
        const int64_t pitch = PaddedWidth<float>(slice.depth) + kLine<Term>;
        if (slices > 1 || column == columns.begin) {
          TermsOfLeft(p, row, count, slice.k, pitch, a);
        }
        const Term* b = TermsOfRight<Term, kPacked>(p, piece, slice, copy);
        const Term* next = b;
        if (kPacked && column + piece.width < columns.end) {
          next = reinterpret_cast<const Term*>(PackedSlice(
              p, PieceOfPanel<float>(p.n, column + piece.width, columns.end),
              slice));
        }
        MultiplyPanel<Term, false>({a, pitch, b, piece.pitch, sum,
                                    kPanel<float>, slice.depth, 0, s > 0, next},
                                   count, piece.width);
      }
      RoundBlock(sum, count, piece.width, p.c + row * p.c_pitch + column,
                 p.c_pitch, p.accumulate);
      column += piece.width;
    }
  }
}

// To take a pair apart takes as long as to multiply it. It is done once for
// many rows; for few, there is less to read if it is done for each.
constexpr int64_t kRowsOfPairs = 16;

template <bool kPacked>
void MultiplyBFloat16(const Product<BFloat16>& p, Range rows, Range columns) {
  if (kDotsPairsAtOnce || rows.end - rows.begin <= kRowsOfPairs) {
    MultiplyTerms<Pair, kPacked>(p, rows, columns);
  } else {
    MultiplyTerms<float, kPacked>(p, rows, columns);
  }
}

// As MultiplyTransposed(); c is fp32.
template <typename Term>
void MultiplyTransposedTerms(const Product<BFloat16>& p, Range rows,
                             Range columns) {
  constexpr int64_t kDepth = kSliceBytes / 2 / (kPanel<float> * sizeof(Term));
  constexpr int64_t kColumns = kGroupBytes / sizeof(Term);
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
                                   p.accumulate || s > 0, b},
                                  count, width);
      }
    }
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_BFLOAT16_GEMM_KERNELS_H_
