// Matrix products. Included by kernels_*.cc only; see kernel_set.h.
//
// All products run one kernel, for a tile of a few rows of c and a panel of up
// to four vectors of columns, which it keeps in registers while it iterates
// over k.
#ifndef CAVS_CC_DEVICE_CPU_GEMM_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_GEMM_KERNELS_H_

#include "cc/device/cpu/math_kernels.h"
#include "cc/device/cpu/pack_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T>
constexpr int kLine = 64 / sizeof(T);

// Rows of the next panel, `pitch` elements apart. Unless `row` is nullptr, a
// tile prefetches one for every kTermsPerRow terms of its own: a row for every
// term would be more than distant memory can give.
template <typename T>
struct Ahead {
  const T* row = nullptr;
  int64_t pitch = 0;
};

// Arguments for one tile of c: `depth` terms per element.
template <typename T>
struct TileArgs {
  const T* a;
  int64_t a_pitch;
  const T* b;
  int64_t b_pitch;
  Wide<T>* c;
  int64_t c_pitch;
  int64_t depth;
  int64_t last_lanes;  // Columns of c in the last vector of the panel.
  bool accumulate;
  Ahead<T> ahead;
};

template <typename T>
using TileFunction = void (*)(const TileArgs<T>& t);

// Adds one term: row i of the tile is a[i, k], or a[k, i] if kTransposeA.
template <typename T, int kRows, int kVectors, bool kTransposeA>
CAVS_INLINE void AddTerm(const T* a, int64_t a_pitch, const T* b,
                         V<T> (&sum)[kRows][kVectors]) {
  V<T> right[kVectors];
  CAVS_UNROLL
  for (int j = 0; j < kVectors; ++j) {
    right[j] = Simd<T>::Load(b + j * Simd<T>::kLanes);
    if constexpr (kRows > 1) CAVS_KEEP(right[j]);
  }
  CAVS_UNROLL
  for (int i = 0; i < kRows; ++i) {
    const V<T> left = Constant<T>(a[kTransposeA ? i : i * a_pitch]);
    CAVS_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      sum[i][j] = Simd<T>::Fma(left, right[j], sum[i][j]);
    }
  }
}

template <typename T, int kRows, int kVectors>
CAVS_INLINE void StoreTile(const TileArgs<T>& t,
                           const V<T> (&sum)[kRows][kVectors]) {
  using S = Simd<Wide<T>>;
  CAVS_UNROLL
  for (int i = 0; i < kRows; ++i) {
    CAVS_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      Wide<T>* c = t.c + i * t.c_pitch + j * S::kLanes;
      if (j < kVectors - 1 || t.last_lanes == S::kLanes) {
        S::Store(c, t.accumulate ? sum[i][j] + S::Load(c) : sum[i][j]);
      } else {
        const int64_t n = t.last_lanes;
        S::StoreFirst(
            c, t.accumulate ? sum[i][j] + S::LoadFirst(c, n) : sum[i][j], n);
      }
    }
  }
}

// c is needed when the sums are done, and may be far away.
template <typename T, int kRows, int kVectors>
CAVS_INLINE void PrefetchTile(const TileArgs<T>& t) {
  CAVS_UNROLL
  for (int i = 0; i < kRows; ++i) {
    CAVS_UNROLL
    for (int j = 0; j < kVectors * Simd<T>::kLanes; j += kLine<T>) {
      __builtin_prefetch(t.c + i * t.c_pitch + j, 1);
    }
  }
}

template <typename T, int kVectors>
CAVS_INLINE void PrefetchRow(const T* row) {
  CAVS_UNROLL
  for (int j = 0; j < kVectors * Simd<T>::kLanes; j += kLine<T>) {
    __builtin_prefetch(row + j, 0, 2);
  }
}

// A few accumulators cannot hide the latency of additions, so small tiles
// compute several terms at a time, each in its own accumulator.
constexpr int Chains(int rows, int vectors) {
  const int accumulators = rows * vectors;
  return accumulators >= 8 ? 1 : accumulators >= 4 ? 2 : 4;
}

// Tiles with fewer rows do not wait for their loads. With one chain, sums are
// the same numbers with and without prefetching.
constexpr bool MayPrefetch(int rows, int vectors) {
  return 2 * rows >= TileRows(vectors) && Chains(rows, vectors) == 1;
}

template <typename T, int kRows, int kVectors, bool kTransposeA, bool kPrefetch>
CAVS_ALIGN_LOOPS void Tile(const TileArgs<T>& t) {
  constexpr int kChains = Chains(kRows, kVectors);
  constexpr int kTerms = kPrefetch ? kTermsPerRow : kChains;
  const int64_t a_pitch = t.a_pitch, b_pitch = t.b_pitch;
  const int64_t a_step = kTransposeA ? a_pitch : 1;
  const T* a = t.a;
  const T* b = t.b;
  const T* ahead = t.ahead.row;
  PrefetchTile<T, kRows, kVectors>(t);
  V<T> sum[kChains][kRows][kVectors] = {};
  int64_t k = 0;
  for (; k + kTerms <= t.depth; k += kTerms) {
    if constexpr (kPrefetch) {
      PrefetchRow<T, kVectors>(ahead);
      ahead += t.ahead.pitch;
    }
    CAVS_UNROLL
    for (int term = 0; term < kTerms; ++term, a += a_step, b += b_pitch) {
      AddTerm<T, kRows, kVectors, kTransposeA>(a, a_pitch, b,
                                               sum[term % kChains]);
    }
  }
  for (; k < t.depth; ++k, a += a_step, b += b_pitch) {
    AddTerm<T, kRows, kVectors, kTransposeA>(a, a_pitch, b, sum[0]);
  }
  CAVS_UNROLL
  for (int chain = 1; chain < kChains; ++chain) {
    CAVS_UNROLL
    for (int i = 0; i < kRows; ++i) {
      CAVS_UNROLL
      for (int j = 0; j < kVectors; ++j) sum[0][i][j] += sum[chain][i][j];
    }
  }
  StoreTile<T, kRows, kVectors>(t, sum[0]);
}

// kFunction[rows - 1] for every height of a tile that is `kVectors` wide.
template <typename T, int kVectors, bool kTransposeA, bool kPrefetch,
          typename = std::make_integer_sequence<int, TileRows(kVectors)>>
struct Tiles;

template <typename T, int kVectors, bool kTransposeA, bool kPrefetch,
          int... kRow>
struct Tiles<T, kVectors, kTransposeA, kPrefetch,
             std::integer_sequence<int, kRow...>> {
  template <int kRows>
  static constexpr TileFunction<T> kOfRows =
      Tile<T, kRows, kVectors, kTransposeA,
           kPrefetch && MayPrefetch(kRows, kVectors)>;
  static constexpr TileFunction<T> kFunction[] = {kOfRows<kRow + 1>...};
};

// Multiplies rows [0, rows) by one panel, in tiles of nearly the same height.
// The first tiles prefetch the next panel, each an equal range of it; the
// others prefetch nothing, as every instruction counts where another thread
// uses the same core.
template <typename T, int kVectors, bool kTransposeA>
void RowsOfPanel(TileArgs<T> t, int64_t rows) {
  const int64_t count = CeilDiv(rows, TileRows(kVectors));
  const int64_t prefetching = t.ahead.row == nullptr ? 0 : kTermsPerRow;
  const T* a = t.a;
  Wide<T>* c = t.c;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = Beginning(rows, i, count);
    const int64_t end = Beginning(rows, i + 1, count);
    t.a = a + begin * (kTransposeA ? 1 : t.a_pitch);
    t.c = c + begin * t.c_pitch;
    if (i < prefetching) {
      Tiles<T, kVectors, kTransposeA, true>::kFunction[end - begin - 1](t);
      t.ahead.row += t.depth / kTermsPerRow * t.ahead.pitch;
    } else {
      Tiles<T, kVectors, kTransposeA, false>::kFunction[end - begin - 1](t);
    }
  }
}

// Packs a panel of `width` columns.
template <typename T, bool kTransposeA>
void MultiplyPanel(TileArgs<T> t, int64_t rows, int64_t width) {
  const int64_t vectors = CeilDiv(width, Simd<T>::kLanes);
  t.last_lanes = width - (vectors - 1) * Simd<T>::kLanes;
  if (vectors == 1) RowsOfPanel<T, 1, kTransposeA>(t, rows);
  if (vectors == 2) RowsOfPanel<T, 2, kTransposeA>(t, rows);
  if constexpr (kPanelVectors > 2) {
    if (vectors == 3) RowsOfPanel<T, 3, kTransposeA>(t, rows);
  }
  if constexpr (kPanelVectors > 3) {
    if (vectors == 4) RowsOfPanel<T, 4, kTransposeA>(t, rows);
  }
}

// A slice of a panel (256 KiB of it) and a block of a stay in the L2 cache
// together while each is used again.
constexpr int64_t kSliceDepth = 1024;
constexpr int64_t kBlockBytes = 256 << 10;

template <typename T>
void MultiplyPacked(const Product<T>& p, Range rows, Range columns) {
  const int64_t slices = p.k == 0 ? 1 : CeilDiv(p.k, kSliceDepth);
  for (int64_t s = 0; s < slices; ++s) {
    const int64_t first = Beginning(p.k, s, slices);
    const int64_t depth = Beginning(p.k, s + 1, slices) - first;
    constexpr int64_t kRows = TileRows(kPanelVectors);
    int64_t block = kRows;
    if (rows.end - rows.begin > kRows) {
      const int64_t fit = kBlockBytes / ((depth + 1) * sizeof(T));
      if (fit > kRows) block = fit / kRows * kRows;
    }
    for (int64_t row = rows.begin; row < rows.end; row += block) {
      for (int64_t column = columns.begin; column < columns.end;) {
        const PanelStrip strip = StripOfPanel<T>(p.n, column, columns.end);
        const T* b = p.b + (column - strip.in_panel) * p.k +
                     first * strip.pitch + strip.in_panel;
        Ahead<T> ahead;
        if (column + strip.width < columns.end) {
          ahead = {b - strip.in_panel + kPanel<T> * p.k, kPanel<T>};
        }
        MultiplyPanel<T, false>(
            {p.a + row * p.a_pitch + first, p.a_pitch, b, strip.pitch,
             p.c + row * p.c_pitch + column, p.c_pitch, depth, 0,
             p.accumulate || s > 0, ahead},
            Smaller(block, rows.end - row), strip.width);
        column += strip.width;
      }
    }
  }
}

// Of rows that lie apart by a multiple of this (often a power of two), the
// nearest cache can hold only few at a time.
constexpr int64_t kSharedSets = 512;  // Bytes.
// Rows that lie apart by less need not be packed to be near each other.
constexpr int64_t kNearRows = 1024;  // Bytes.

// Slices of b are packed on the stack as they are needed, unless their rows are
// near, and stay in the L1 cache while all tiles read them.
template <typename T>
void Multiply(const Product<T>& p, Range rows, Range columns) {
  constexpr int64_t kDepth = kNearBytes / (kPanel<T> * sizeof(T));
  alignas(64) T packed[kDepth * kPanel<T>];
  const int64_t count = rows.end - rows.begin;
  const int64_t apart = p.b_pitch * sizeof(T);
  // A single tile reads b in place, too.
  const bool in_place =
      !p.transpose_b && (count <= TileRows(kPanelVectors) ||
                         (apart < kNearRows && apart % kSharedSets != 0));
  const int64_t slices = p.k == 0 ? 1 : CeilDiv(p.k, kDepth);
  for (int64_t s = 0; s < slices; ++s) {
    const int64_t first = Beginning(p.k, s, slices);
    const int64_t depth = Beginning(p.k, s + 1, slices) - first;
    const T* a = p.a + rows.begin * p.a_pitch + first;
    for (int64_t column = columns.begin; column < columns.end;
         column += kPanel<T>) {
      const int64_t width = Smaller(kPanel<T>, columns.end - column);
      const T* b = p.b + first * p.b_pitch + column;
      int64_t b_pitch = p.b_pitch;
      if (!in_place || width % Simd<T>::kLanes != 0) {
        b_pitch = PaddedWidth<T>(width);
        PackBlock<T>(p.b, p.b_pitch, p.transpose_b, column, width, first, depth,
                     b_pitch, packed);
        b = packed;
      }
      MultiplyPanel<T, false>(
          {a, p.a_pitch, b, b_pitch, p.c + rows.begin * p.c_pitch + column,
           p.c_pitch, depth, 0, p.accumulate || s > 0, Ahead<T>()},
          count, width);
    }
  }
}

// Reads a by its index, if it has one: block by block, rows of a are copied
// into the nearest cache, where the product of the block reads them.
constexpr int64_t kBlockElements = 16 << 10;

template <typename T, ProductKernel<T> kMultiply>
void MultiplyRows(const Product<T>& p, Range rows, Range columns) {
  if (p.a_index == nullptr) return kMultiply(p, rows, columns);
  alignas(64) T copied[kBlockElements];
  const int64_t pitch = PaddedWidth<T>(p.k);
  const int64_t block = kBlockElements / (pitch > 0 ? pitch : 1);
  Product<T> on_copy = p;
  on_copy.a = copied;
  on_copy.a_pitch = pitch;
  on_copy.a_index = nullptr;
  for (int64_t row = rows.begin; row < rows.end; row += block) {
    on_copy.m = Smaller(block, rows.end - row);
    on_copy.c = p.c + row * p.c_pitch;
    PackIndexed<T>(p.a, p.a_pitch, p.a_index + row, on_copy.m, p.k, pitch,
                   copied);
    kMultiply(on_copy, {0, on_copy.m}, columns);
  }
}

// A slice of an operand: in place, or copied to `packed` if its rows have an
// index, are not whole vectors, or share sets of the nearest cache.
template <typename T>
struct Operand {
  const T* data;
  int64_t pitch;
};

template <typename T>
Operand<T> SliceOf(const T* w, int64_t pitch, const int32_t* index,
                   int64_t first, int64_t depth, int64_t width, int64_t padded,
                   T* packed) {
  if (index != nullptr) {
    PackIndexed<T>(w, pitch, index + first, depth, width, padded, packed);
  } else if (pitch * sizeof(T) % kSharedSets == 0 ||
             width % Simd<T>::kLanes != 0) {
    PackColumns<T>(w + first * pitch, pitch, depth, width, padded, packed);
  } else {
    return {w + first * pitch, pitch};
  }
  return {packed, padded};
}

// A panel of b (kNearBytes of it) stays in the L1 cache beside the rows of a
// that a tile reads, and the copy of a in the L2 cache.
template <typename T>
void MultiplyTransposed(const Product<T>& p, Range rows, Range columns) {
  constexpr int64_t kDepth = kNearBytes / (kPanel<T> * sizeof(T));
  constexpr int64_t kColumns = kCopiedRowBytes / sizeof(T);
  constexpr int64_t kPitch = kColumns + kLine<T>;
  alignas(64) T copy_of_a[kDepth * kPitch];
  alignas(64) T copy_of_b[kDepth * kPanel<T>];
  const int64_t slices = p.k == 0 ? 1 : CeilDiv(p.k, kDepth);
  for (int64_t s = 0; s < slices; ++s) {
    const int64_t first = Beginning(p.k, s, slices);
    const int64_t depth = Beginning(p.k, s + 1, slices) - first;
    for (int64_t row = rows.begin; row < rows.end; row += kColumns) {
      const int64_t count = Smaller(kColumns, rows.end - row);
      const Operand<T> a = SliceOf<T>(p.a + row, p.a_pitch, p.a_index, first,
                                      depth, count, kPitch, copy_of_a);
      for (int64_t column = columns.begin; column < columns.end;
           column += kPanel<T>) {
        const int64_t width = Smaller(kPanel<T>, columns.end - column);
        Ahead<T> ahead;
        if (column + width < columns.end && p.b_index == nullptr) {
          ahead = {p.b + first * p.b_pitch + column + width, p.b_pitch};
        }
        const Operand<T> b =
            SliceOf<T>(p.b + column, p.b_pitch, p.b_index, first, depth, width,
                       PaddedWidth<T>(width), copy_of_b);
        MultiplyPanel<T, true>(
            {a.data, a.pitch, b.data, b.pitch, p.c + row * p.c_pitch + column,
             p.c_pitch, depth, 0, p.accumulate || s > 0, ahead},
            count, width);
      }
    }
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_GEMM_KERNELS_H_
