// The kernels of one instruction set, for elements of type T: what the backend
// calls once it has decided which part of the work runs where.
#ifndef CAVS_CC_BACKEND_CPU_KERNEL_TABLE_H_
#define CAVS_CC_BACKEND_CPU_KERNEL_TABLE_H_

#include <cstdint>

#include "cc/backend/backend.h"
#include "cc/backend/cpu/isa.h"

namespace cavs {

// Half open: [begin, end).
struct Range {
  int64_t begin;
  int64_t end;
};

// c[m, n] = a * b, or += if `accumulate`. Each kernel says how it reads a and
// b.
template <typename T>
struct Product {
  const T* a;
  int64_t a_pitch;
  const T* b;
  int64_t b_pitch;  // Unused when b is packed.
  T* c;
  int64_t c_pitch;
  int64_t m;
  int64_t k;
  int64_t n;
  bool transpose_b;
  bool accumulate;
};

// Computes the rows `rows` of c, for the columns of its panels `panels`. The
// kernels write nothing else, so disjoint pieces may run at the same time.
template <typename T>
using ProductKernel = void (*)(const Product<T>& product, Range rows,
                               Range panels);

// How a tile kernel reads its operands: n elements, or one for all n.
enum Form { kVectorVector, kVectorScalar, kScalarVector, kNumForms };

constexpr int kNumElementwise = static_cast<int>(Elementwise::kReluGrad) + 1;

// out[i] = op(x[i], y[i]) for i < n; `y` is not read by operators of one
// operand. `out` may be x or y. Written for tiles that stay in the L1 cache,
// and good for any n.
template <typename T>
using TileKernel = void (*)(const T* x, const T* y, T* out, int64_t n);

template <typename T>
struct KernelTable {
  int lanes;  // Elements of a vector.
  int panel;  // Columns of a panel; the last one of a matrix may be narrower.
  int tile_rows;  // Rows of a tile of a full panel.

  // Writes the panels `panels` of w ([k, n], or [n, k] if `transpose`): each
  // panel's k rows of `panel` elements one after the other; of the last panel,
  // as many elements as whole vectors need, padded by zeros.
  void (*pack)(const T* w, int64_t pitch, bool transpose, int64_t k, int64_t n,
               Range panels, T* packed);

  ProductKernel<T> multiply_packed;  // a is [m, k]; b is the result of pack.
  ProductKernel<T> multiply;         // a is [m, k].
  ProductKernel<T> multiply_transposed;  // a is [k, m], b is [k, n]; k is long.

  TileKernel<T> elementwise[kNumElementwise][kNumForms];

  // out[j] = sum over i of x[i, j] for j < cols, or += if `accumulate`.
  void (*sum_rows)(const T* x, int64_t pitch, int64_t rows, int64_t cols,
                   T* out, bool accumulate);
  // The sum of n elements.
  T (*sum)(const T* x, int64_t n);
};

// Both tables of one instruction set, without code of their own: finding a
// kernel must not run an instruction that the machine may lack.
struct KernelTables {
  KernelTable<float> float32;
  KernelTable<double> float64;
};

extern const KernelTables kPortableKernels;
#if defined(__x86_64__)
extern const KernelTables kAvx2Kernels;
extern const KernelTables kAvx512Kernels;
#endif

}  // namespace cavs

#endif  // CAVS_CC_BACKEND_CPU_KERNEL_TABLE_H_
