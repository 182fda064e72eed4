// The kernels that the CPU device needs, over blocks of rows.
#ifndef CAVS_CC_DEVICE_CPU_BACKEND_H_
#define CAVS_CC_DEVICE_CPU_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/device/block.h"
#include "cc/ir/elementwise.h"

namespace cavs {

// The operand of a group's value: row i is at data + i * pitch, so a pitch of 0
// broadcasts one row. If it is a `column`, only the first element of each row
// is read, for all columns. Operands that are not written may have an `index`,
// as a ConstBlock.
struct GroupOperand {
  void* data = nullptr;
  int64_t pitch = 0;
  bool column = false;
  const int32_t* index = nullptr;
};

// The kernels, for one caller.
//
// Blocks are of a native type (cc/base/dtype.h) unless a method says otherwise;
// narrow types are computed in fp32 and rounded once. The caller has checked
// shapes: a violation is a bug, which is asserted and not reported. Inputs and
// outputs may not overlap unless a method allows it. A block without rows or
// columns is always valid. Results depend on the operands and the worker count
// only, never on timing: the same call twice gives the same bits.
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

  // Columns of products are divided among workers in multiples of this.
  virtual int64_t ColumnGrain(DType dtype) const = 0;

  // Packs `w` ([k, m], or [m, k] if `transpose`) for MatMulPacked, as the m
  // columns from `first_column`, a multiple of ColumnGrain(), of a [k, n]
  // right-hand side. Several calls place weights side by side.
  virtual void Pack(DType dtype, ConstBlock w, bool transpose, int64_t n,
                    int64_t first_column, void* packed) const = 0;

  // c[M, n] = a[M, k] * packed, or += if `accumulate`. In this and the other
  // products a may have an index if it has no more than this many columns.
  static constexpr int64_t kMaxIndexedColumns = cavs::kMaxIndexedColumns;
  virtual void MatMulPacked(DType dtype, ConstBlock a, const void* packed,
                            Block c, bool accumulate) const = 0;

  // Columns [first_column, end_column) of MatMulPacked(), on the calling thread
  // alone. `first_column` is a multiple of ColumnGrain(); c is the whole
  // result.
  virtual void MatMulPackedColumns(DType dtype, ConstBlock a,
                                   const void* packed, Block c,
                                   int64_t first_column, int64_t end_column,
                                   bool accumulate) const = 0;

  // c[M, n] = a[M, k] * b, or += if `accumulate`; b is [k, n], or [n, k] if
  // `transpose_b`. For right-hand sides that are used too seldom to pay for
  // packing.
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
  // the nearest cache. operands[i] is the operand of value i. Values of narrow
  // types are rounded only when they are written to memory.
  virtual void Group(DType dtype, const ElementwiseGroup& group,
                     const GroupOperand* operands, int64_t rows,
                     int64_t cols) const = 0;

  // --- sums -----------------------------------------------------------------

  // out[0, j] = sum over i of x[i, j], or += if `accumulate`. out is of
  // SumType(dtype).
  virtual void SumRows(DType dtype, ConstBlock x, Block out,
                       bool accumulate) const = 0;

  // Converts n sums, elements of SumType(dtype), to elements of dtype in place.
  virtual void RoundSums(DType dtype, int64_t n, void* sums) const = 0;

  // Whether no element is infinite or NaN. x may have an index.
  virtual bool IsFinite(DType dtype, ConstBlock x) const = 0;

  // out[i, 0] = sum over j of x[i, j].
  virtual void SumColumns(DType dtype, ConstBlock x, Block out) const = 0;

  // --- moving rows of any dtype with a fixed size ---------------------------

  // dst[i, :] = x[i, :]. x may have an index; rows before its first are zero.
  virtual void Copy(DType dtype, ConstBlock x, Block dst) const = 0;

  // Sets every element of dst to zero.
  virtual void Zero(DType dtype, Block dst) const = 0;

  // dst[i, :] = src[rows[i], :]; zeros where rows[i] is negative.
  virtual void GatherRows(DType dtype, ConstBlock src, const int32_t* rows,
                          Block dst) const = 0;

  // dst[rows[i], :] = src[i, :]; no two rows[i] are equal; negative ones are
  // skipped.
  virtual void ScatterRows(DType dtype, ConstBlock src, const int32_t* rows,
                           Block dst) const = 0;

  // dst[rows[i], :] += src[i, :] for i = 0, 1, ... in this order, so that the
  // sum is reproducible when rows repeat; negative rows are skipped. For int32,
  // int64 and native types (each addition is in Wide<T>).
  virtual void ScatterAddRows(DType dtype, ConstBlock src, const int32_t* rows,
                              Block dst) const = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_BACKEND_H_
