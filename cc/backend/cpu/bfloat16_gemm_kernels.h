// Products of bfloat16. For kernels_*.cc alone; see kernel_set.h.
//
// Operands are copied, block by block, to where the tiles of gemm_kernels.h
// read them, as terms: pairs of numbers with consecutive k, or single ones as
// fp32. Sums are fp32, and are rounded when all terms are in.
#ifndef CAVS_CC_BACKEND_CPU_BFLOAT16_GEMM_KERNELS_H_
#define CAVS_CC_BACKEND_CPU_BFLOAT16_GEMM_KERNELS_H_

#include "cc/backend/cpu/bfloat16_kernels.h"
#include "cc/backend/cpu/gemm_kernels.h"
#include "cc/backend/cpu/pack_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// Numbers with consecutive k in a term.
template <typename Term>
constexpr int64_t kNumbers = 1;
template <>
constexpr int64_t kNumbers<Pair> = 2;

// n numbers with consecutive k, as whole vectors of terms padded by zeros.
inline void TermsAlongK(const BFloat16* x, int64_t n, float* out) {
  using S = Simd<BFloat16>;
  int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) {
    Simd<float>::Store(out + i, S::Load(x + i));
  }
  if (i < n) Simd<float>::Store(out + i, S::LoadFirst(x + i, n - i));
}

inline void TermsAlongK(const BFloat16* x, int64_t n, Pair* out) {
  using S = Simd<Pair>;
  constexpr int kStep = 2 * S::kLanes;
  for (; n >= kStep; n -= kStep, x += kStep, out += S::kLanes) {
    S::Store(out, S::Load(reinterpret_cast<const Pair*>(x)));
  }
  if (n == 0) return;
  BFloat16 rest[kStep] = {};
  for (int64_t i = 0; i < n; ++i) rest[i] = x[i];
  S::Store(out, S::Load(reinterpret_cast<const Pair*>(rest)));
}

// Of n columns the term that begins with row x; row y is the next one, null
// after the last.
inline void TermsOfColumns(const BFloat16* x, const BFloat16*, int64_t n,
                           float* out) {
  TermsAlongK(x, n, out);
}

inline void TermsOfColumns(const BFloat16* x, const BFloat16* y, int64_t n,
                           Pair* out) {
  using S = Simd<BFloat16>;
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

// Rows `k` and the first `width` columns of w, as rows of terms that are
// `padded` apart.
template <typename Term>
void TermsOfRows(const BFloat16* w, int64_t pitch, const int32_t* index,
                 Range k, int64_t width, int64_t padded, Term* out) {
  const auto row = [&](int64_t i) {
    if (i >= k.end) return static_cast<const BFloat16*>(nullptr);
    return w + (index == nullptr ? i : index[i]) * pitch;
  };
  for (int64_t i = k.begin; i < k.end; i += kNumbers<Term>, out += padded) {
    TermsOfColumns(row(i), row(i + 1), width, out);
  }
}

// The same of the transpose of w, of which rows [0, width) are read.
template <typename Term>
void TermsOfTransposed(const BFloat16* w, int64_t pitch, Range k, int64_t width,
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

template <typename Term>
void TermsOfBlock(const BFloat16* w, int64_t pitch, bool transpose,
                  int64_t column, int64_t width, Range k, int64_t padded,
                  Term* out) {
  if (transpose) {
    TermsOfTransposed(w + column * pitch, pitch, k, width, padded, out);
  } else {
    TermsOfRows(w + column, pitch, nullptr, k, width, padded, out);
  }
}

// Packed matrices hold pairs, whatever they are multiplied as.
inline void PackPairs(const BFloat16* w, int64_t pitch, bool transpose,
                      int64_t k, int64_t n, Range columns, float* packed) {
  const int64_t depth = CeilDiv(k, kNumbers<Pair>);
  for (int64_t column = columns.begin; column < columns.end;) {
    const PanelPiece piece = PieceOfPanel<float>(n, column, columns.end);
    float* out = packed + (column - piece.in_panel) * depth + piece.in_panel;
    TermsOfBlock(w, pitch, transpose, column - columns.begin, piece.width,
                 {0, k}, piece.pitch, reinterpret_cast<Pair*>(out));
    column += piece.width;
  }
}

// The first `width` columns, whole vectors, of `depth` rows of single terms.
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

#endif  // CAVS_CC_BACKEND_CPU_BFLOAT16_GEMM_KERNELS_H_
