// The kernels of one instruction set for elements of type T. The backend calls
// them once it has divided the work among workers.
#ifndef CAVS_CC_DEVICE_CPU_KERNEL_TABLE_H_
#define CAVS_CC_DEVICE_CPU_KERNEL_TABLE_H_

#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/device/cpu/isa.h"
#include "cc/ir/elementwise_group.h"

namespace cavs {

// Two numbers with consecutive k, which are two terms of a product: the upper
// halves of float32s, so that no conversion is needed to separate them.
struct Pair {
  uint16_t first, second;
};
template <>
struct WideOf<Pair> {
  using Type = float;
};

// Half open: [begin, end).
struct Range {
  int64_t begin;
  int64_t end;
};

// Arguments of c[m, n] = a * b, or += if `accumulate`. Each kernel documents
// the layout of a and b. With an index, row i of an operand is row index[i] of
// the memory. Elements of a packed b, and of c for multiply_transposed, are
// Wide<T>.
template <typename T>
struct Product {
  const T* a;
  int64_t a_pitch;
  const int32_t* a_index;
  const T* b;
  int64_t b_pitch;         // Unused when b is packed.
  const int32_t* b_index;  // multiply_transposed only.
  T* c;
  int64_t c_pitch;
  int64_t m;
  int64_t k;
  int64_t n;
  bool transpose_b;
  bool accumulate;
};

// Computes the rows `rows` and columns `columns` of c; the first column is a
// multiple of the vector length. Writes no other element, so calls for disjoint
// ranges may run at the same time.
template <typename T>
using ProductKernel = void (*)(const Product<T>& product, Range rows,
                               Range columns);

// How a tile kernel reads the rows of its operands: n elements, or one element
// for all n.
enum Form { kVectorVector, kVectorScalar, kScalarVector, kNumForms };

// Rows of elements, `pitch` apart. A pitch of 0 broadcasts one row.
template <typename T>
struct TileRowsOf {
  T* data;
  int64_t pitch;
};

// out[i, j] = op(x[i, j], y[i, j]) for i < rows, j < n. Operators of one
// operand ignore `y`. `out` may be x or y. Made for tiles in the L1 cache, and
// correct for any size.
template <typename T>
using TileKernel = void (*)(TileRowsOf<const T> x, TileRowsOf<const T> y,
                            TileRowsOf<T> out, int64_t rows, int64_t n);

// The same for a pair; z is ignored if its second operator has one operand.
template <typename T>
using PairKernel = void (*)(TileRowsOf<const T> x, TileRowsOf<const T> y,
                            TileRowsOf<const T> z, TileRowsOf<T> out,
                            int64_t rows, int64_t n);

// Indexed by the second operator. Null where CanPair() is false, and for narrow
// types: their groups are computed by the kernels of Wide<T>.
template <typename T>
struct PairsOfFirst {
  PairKernel<T> then[kNumElementwise];
};

// Which elements a random mask drops. Element j of a row follows from this, the
// number of the row and j alone.
struct RandomMask {
  uint32_t key[2];
  uint32_t number;     // Masks of other numbers are independent.
  uint32_t threshold;  // The share that is dropped, times 2^32.
};

// var -= rate g, of a gradient g, if a variable has no moments. Else
// m += (g - m) new_in_mean, v += (g g - v) new_in_square, and then
// var -= rate m / (sqrt(v) + epsilon), as Adam does.
struct UpdateRule {
  double rate;
  double new_in_mean = 0;    // 1 - beta1.
  double new_in_square = 0;  // 1 - beta2.
  double epsilon = 0;
};

template <typename T>
struct KernelTable {
  int lanes;  // Elements of a vector.
  int panel;  // Columns of a panel; the last one of a matrix may be narrower.
  int tile_rows;  // Rows of a tile of a full panel.

  // Numbers with consecutive k in one packed element: 1, or 2 for a Pair.
  int packed_terms;

  // Writes the columns `columns` of a packed [k, n] matrix, panel by panel. A
  // panel consists of rows of `panel` elements, one row for every
  // `packed_terms` values of k; rows of the last panel have as many elements as
  // whole vectors need, padded by zeros. The values are the first columns of w
  // ([k, ...], or [..., k] if `transpose`). `columns` begins at a multiple of
  // the vector length.
  void (*pack)(const T* w, int64_t pitch, bool transpose, int64_t k, int64_t n,
               Range columns, Wide<T>* packed);

  ProductKernel<T> multiply_packed;  // a is [m, k]; b is the result of pack.
  ProductKernel<T> multiply;         // a is [m, k].
  ProductKernel<T> multiply_transposed;  // a is [k, m], b is [k, n]; k is long.

  // Of narrow types kAdd alone.
  TileKernel<T> elementwise[kNumElementwise][kNumForms];
  PairsOfFirst<T> pairs[kNumElementwise];  // Indexed by the first operator.

  // Copies rows index[0], index[1], ... of x, `cols` columns of each, to rows
  // that are `to_pitch` apart. May write up to the next multiple of `lanes`
  // columns.
  void (*copy_indexed)(const T* x, int64_t pitch, const int32_t* index,
                       int64_t rows, int64_t cols, int64_t to_pitch, T* to);

  // The kernel of an instruction that is a pair.
  PairKernel<T> PairOf(const ElementwiseGroup::Instruction& i) const {
    return pairs[static_cast<int>(i.op)].then[static_cast<int>(i.then)];
  }

  // out[j] = sum over i of x[i, j] for j < cols, or += if `accumulate`.
  void (*sum_rows)(const T* x, int64_t pitch, int64_t rows, int64_t cols,
                   Wide<T>* out, bool accumulate);
  // The sum of n elements.
  Wide<T> (*sum)(const T* x, int64_t n);
  // Whether none of n elements is infinite or NaN.
  bool (*are_finite)(const T* x, int64_t n);

  // out[j] = 0 if the mask drops element j of row number `row`, else `kept`.
  void (*draw_mask)(const RandomMask& mask, uint32_t row, T kept, int64_t n,
                    T* out);

  // Updates n elements of a variable and of its moments; m and v are null if
  // it has none.
  void (*update)(const UpdateRule& rule, const Wide<T>* gradient, int64_t n,
                 T* var, T* m, T* v);

  // The loss of each row of logits, -log softmax(row)[label], and its gradient,
  // softmax(row) minus 1 at the label. `scratch` has `lanes` elements for each
  // column, of which there are one or more. Null for narrow types.
  void (*cross_entropy)(const T* logits, const int32_t* labels, int64_t rows,
                        int64_t cols, T* loss, T* gradient, T* scratch);

  // Convert n numbers of a narrow type to fp32, and back; null for other types.
  // The output of `narrow` may begin where x does.
  void (*widen)(const T* x, int64_t n, Wide<T>* out);
  void (*narrow)(const Wide<T>* x, int64_t n, T* out);
};

template <typename T>
struct KernelTablePointer {
  const KernelTable<T>* table;
};

// The tables of one instruction set, one for each type. They contain no code:
// finding a kernel must not run an instruction that the machine may lack.
template <typename... T>
struct KernelTablesOf : KernelTablePointer<T>... {
  template <typename U>
  const KernelTable<U>*& Of() {
    return static_cast<KernelTablePointer<U>&>(*this).table;
  }
  template <typename U>
  const KernelTable<U>* Of() const {
    return static_cast<const KernelTablePointer<U>&>(*this).table;
  }
};
using KernelTables = FloatTypes::Apply<KernelTablesOf>;

extern const KernelTables kPortableKernels;
#if defined(__x86_64__)
extern const KernelTables kAvx2Kernels;
extern const KernelTables kAvx512Kernels;
// For the same processors, if they can also multiply pairs of bfloat16.
extern const KernelTable<BFloat16> kAvx512Bf16Kernels;
#endif

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_KERNEL_TABLE_H_
