// What the executor asks of a device: a few kernels over blocks of rows.
#ifndef CAVS_CC_DEVICE_CPU_BACKEND_H_
#define CAVS_CC_DEVICE_CPU_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/device/block.h"
#include "cc/ir/elementwise.h"

namespace cavs {

// Where one value of a group lies: row i at data + i * pitch, so that with a
// pitch of 0 one row stands for all. Of a `column` only the first element of a
// row is read, for all columns. What is only read may have an `index`, as a
// ConstBlock.
struct GroupOperand {
  void* data = nullptr;
  int64_t pitch = 0;
  bool column = false;
  const int32_t* index = nullptr;
};

// The kernels of one device, for one caller.
//
// Blocks are of a native type (cc/base/dtype.h) unless a method says otherwise;
// what is computed from a narrow type is computed in fp32 and rounded once. The
// caller has checked shapes (a violation is a bug: it is asserted, not
// reported). Inputs and outputs may not overlap unless a method allows it. A
// block with no rows or no columns is valid everywhere. Results depend on the
// operands and the worker count only, never on timing: the same call twice
// gives the same bits.
//
// Thread safety: methods may be called from any thread, several at once; the
// object has no state that changes.
class Backend {
 public:
  virtual ~Backend() = default;

  // --- products -------------------------------------------------------------

  // Bytes of Pack()'s result for a [k, n] right-hand side (64-byte alignment is
  // expected of the memory).
  virtual size_t PackedBytes(DType dtype, int64_t k, int64_t n) const = 0;

  // Columns of products are shared out in multiples of this.
  virtual int64_t ColumnGrain(DType dtype) const = 0;

  // Lays out `w` ([k, m], or [m, k] if `transpose`) for MatMulPacked, as the m
  // columns from `first_column`, a multiple of ColumnGrain(), of a [k, n]
  // right-hand side. So weights come to stand side by side.
  virtual void Pack(DType dtype, ConstBlock w, bool transpose, int64_t n,
                    int64_t first_column, void* packed) const = 0;

  // c[M, n] = a[M, k] * packed, or += if `accumulate`. In this and the other
  // products a may have an index if it has no more than this many columns.
  static constexpr int64_t kMaxIndexedColumns = cavs::kMaxIndexedColumns;
  virtual void MatMulPacked(DType dtype, ConstBlock a, const void* packed,
                            Block c, bool accumulate) const = 0;

  // Columns [first_column, end_column) of that, on the calling thread alone.
  // `first_column` is a multiple of ColumnGrain(); c is the whole result.
  virtual void MatMulPackedColumns(DType dtype, ConstBlock a,
                                   const void* packed, Block c,
                                   int64_t first_column, int64_t end_column,
                                   bool accumulate) const = 0;

  // c[M, n] = a[M, k] * b, or += if `accumulate`; b is [k, n], or [n, k] if
  // `transpose_b`. For right-hand sides used too seldom to pay for packing.
  virtual void MatMul(DType dtype, ConstBlock a, ConstBlock b, bool transpose_b,
                      Block c, bool accumulate) const = 0;

  // c[k, n] = transpose(a[M, k]) * b[M, n], or += if `accumulate`: the gradient
  // of a weight, with M the long side. a and b may have indices, however wide.
  // c is of SumType(dtype).
  virtual void MatMulTransposeA(DType dtype, ConstBlock a, ConstBlock b,
                                Block c, bool accumulate) const = 0;

  // --- elementwise ----------------------------------------------------------

  // out[i, j] = op(x[i, j]). `out` may be `x` itself.
  virtual void Unary(Elementwise op, DType dtype, ConstBlock x,
                     Block out) const = 0;

  // out[i, j] = op(x, y), where an operand with one row, one column, or both
  // is broadcast along that side. `out` may be an operand of the same size.
  virtual void Binary(Elementwise op, DType dtype, ConstBlock x, ConstBlock y,
                      Block out) const = 0;

  // A whole group as one kernel: its instructions run over tiles that stay in
  // the cache nearest to the processor. operands[i] says where value i lies. Of
  // narrow types, only what ends up in memory is rounded.
  virtual void Group(DType dtype, const ElementwiseGroup& group,
                     const GroupOperand* operands, int64_t rows,
                     int64_t cols) const = 0;

  // --- sums -----------------------------------------------------------------

  // out[0, j] = sum over i of x[i, j], or += if `accumulate`. out is of
  // SumType(dtype).
  virtual void SumRows(DType dtype, ConstBlock x, Block out,
                       bool accumulate) const = 0;

  // Makes of n sums, elements of SumType(dtype), elements of dtype in the same
  // place.
  virtual void RoundSums(DType dtype, int64_t n, void* sums) const = 0;

  // Is no element infinite or NaN? x may have an index.
  virtual bool IsFinite(DType dtype, ConstBlock x) const = 0;

  // out[i, 0] = sum over j of x[i, j].
  virtual void SumColumns(DType dtype, ConstBlock x, Block out) const = 0;

  // --- moving rows (any dtype with a fixed size)
  // ------------------------------

  // dst[i, :] = x[i, :]. x may have an index; rows before its first are zero.
  virtual void Copy(DType dtype, ConstBlock x, Block dst) const = 0;

  // Every element of dst is zero.
  virtual void Zero(DType dtype, Block dst) const = 0;

  // dst[i, :] = src[rows[i], :]; zeros where rows[i] is negative.
  virtual void GatherRows(DType dtype, ConstBlock src, const int32_t* rows,
                          Block dst) const = 0;

  // dst[rows[i], :] = src[i, :]; no two rows[i] are equal; negative ones are
  // skipped.
  virtual void ScatterRows(DType dtype, ConstBlock src, const int32_t* rows,
                           Block dst) const = 0;

  // dst[rows[i], :] += src[i, :] for i = 0, 1, ... in this order (so the sum is
  // reproducible when rows repeat); negative rows are skipped. int32, int64,
  // and native types (each addition in Wide<T>).
  virtual void ScatterAddRows(DType dtype, ConstBlock src, const int32_t* rows,
                              Block dst) const = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_BACKEND_H_
