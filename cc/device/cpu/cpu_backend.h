// The kernels of the CPU, by its vector units, over blocks of rows.
#ifndef CAVS_CC_DEVICE_CPU_CPU_BACKEND_H_
#define CAVS_CC_DEVICE_CPU_CPU_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/base/span.h"
#include "cc/device/block.h"
#include "cc/device/cpu/isa.h"
#include "cc/device/cpu/kernel_table.h"
#include "cc/device/cpu/workers.h"
#include "cc/device/updated_variable.h"
#include "cc/ir/elementwise_group.h"

namespace cavs {

// The operand of a group's value: row i is at data + i * pitch, so a pitch of 0
// broadcasts one row. If it is a `column`, only the first element of each row
// is read, for all columns. Operands that are not written may have an `index`,
// as a ConstBlock. There are no default values, since every task makes an array
// for the largest number of operands.
struct GroupOperand {
  void* data;
  int64_t pitch;
  bool column;
  const int32_t* index;
};

// Rows of a gradient by the row of the table that they update: the terms of
// rows[i] are rows order[splits[i]], ..., order[splits[i + 1] - 1].
struct RowGroups {
  const int64_t* rows;
  const int64_t* splits;
  const int64_t* order;
  int64_t count;
};

// Runs each kernel on the calling thread, or, where the work is worth it, on
// its workers. Has only pointers, so making one for every step costs nothing.
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
//
// A packed right-hand side can be read only by backends of the same instruction
// set.
//
// Example:
//   SerialWorkers workers;
//   const CpuBackend backend(&workers);
//   backend.Unary(Elementwise::kTanh, DType::kFloat32, x, out);
class CpuBackend {
 public:
  // `workers` must outlive the backend. `isa` must be supported.
  explicit CpuBackend(Workers* workers, Isa isa = BestIsa());

  // Three products are virtual, so that a test can count the rows that they
  // multiply.
  virtual ~CpuBackend() = default;

  Isa isa() const { return isa_; }

  // --- products -------------------------------------------------------------

  // Bytes of Pack()'s result for a [k, n] right-hand side (64-byte alignment is
  // expected of the memory).
  size_t PackedBytes(DType dtype, int64_t k, int64_t n) const;

  // Columns of products are divided among workers in multiples of this.
  int64_t ColumnGrain(DType dtype) const;

  // Packs `w` ([k, m], or [m, k] if `transpose`) for MatMulPacked, as the m
  // columns from `first_column`, a multiple of ColumnGrain(), of a [k, n]
  // right-hand side. Several calls place weights side by side.
  void Pack(DType dtype, ConstBlock w, bool transpose, int64_t n,
            int64_t first_column, void* packed) const;

  // c[M, n] = a[M, k] * packed, or += if `accumulate`. In this and the other
  // products a may have an index if it has at most kMaxIndexedColumns columns.
  virtual void MatMulPacked(DType dtype, ConstBlock a, const void* packed,
                            Block c, bool accumulate) const;

  // Columns [first_column, end_column) of MatMulPacked(), on the calling thread
  // alone. `first_column` is a multiple of ColumnGrain(); c is the whole
  // result.
  void MatMulPackedColumns(DType dtype, ConstBlock a, const void* packed,
                           Block c, int64_t first_column, int64_t end_column,
                           bool accumulate) const;

  // c[M, n] = a[M, k] * b, or += if `accumulate`; b is [k, n], or [n, k] if
  // `transpose_b`. For right-hand sides that are used too seldom to pay for
  // packing.
  virtual void MatMul(DType dtype, ConstBlock a, ConstBlock b, bool transpose_b,
                      Block c, bool accumulate) const;

  // c[k, n] = transpose(a[M, k]) * b[M, n], or += if `accumulate`: the gradient
  // of a weight, with M the long side. a and b may have indices, however wide.
  // c is of SumType(dtype).
  virtual void MatMulTransposeA(DType dtype, ConstBlock a, ConstBlock b,
                                Block c, bool accumulate) const;

  // --- elementwise ----------------------------------------------------------

  // out[i, j] = op(x[i, j]). `out` may be `x` itself.
  void Unary(Elementwise op, DType dtype, ConstBlock x, Block out) const;

  // out[i, j] = op(x, y), where an operand with one row, one column, or both
  // is broadcast along that side. `out` may be an operand of the same size.
  void Binary(Elementwise op, DType dtype, ConstBlock x, ConstBlock y,
              Block out) const;

  // A whole group as one kernel: its instructions run over tiles that stay in
  // the nearest cache. operands[i] is the operand of value i. Values of narrow
  // types are rounded only when they are written to memory.
  void Group(DType dtype, const ElementwiseGroup& group,
             const GroupOperand* operands, int64_t rows, int64_t cols) const;

  // --- sums -----------------------------------------------------------------

  // out[0, j] = sum over i of x[i, j], or += if `accumulate`. out is of
  // SumType(dtype).
  void SumRows(DType dtype, ConstBlock x, Block out, bool accumulate) const;

  // Converts n sums, elements of SumType(dtype), to elements of dtype in place.
  void RoundSums(DType dtype, int64_t n, void* sums) const;

  // dst[i, :] = sums[rows[i], :], elements of SumType(dtype), rounded to dtype,
  // a narrow type; zeros where rows[i] is negative.
  void RoundRows(DType dtype, ConstBlock sums, const int32_t* rows,
                 Block dst) const;

  // Whether no element is infinite or NaN. x may have an index.
  bool IsFinite(DType dtype, ConstBlock x) const;

  // out[i, j] = the sum or maximum (by `op`) over r of x[r, j], for rows
  // [splits[i], splits[i + 1]) from splits[0], in this order; zero if there are
  // none. x may have an index. For native types.
  void ReduceSegments(Elementwise op, DType dtype, ConstBlock x,
                      const int32_t* splits, Block out) const;

  // out[i, 0] = sum over j of x[i, j].
  void SumColumns(DType dtype, ConstBlock x, Block out) const;

  // out[i, j] = 1 where x[i, j], a boolean, is true, else 0. For native types.
  void ToMask(DType dtype, ConstBlock x, Block out) const;

  // Row i of `out` is the random mask of row number rows[i]: 0 where it drops,
  // else `kept`. For native types.
  void DrawMasks(DType dtype, const RandomMask& mask, const int32_t* rows,
                 double kept, Block out) const;

  // --- losses ----------------------------------------------------------------

  // loss[i] = -log softmax(logits[i, :])[labels[i]], and its gradient,
  // softmax(logits[i, :]) minus 1 at the label. Rows follow each other, and
  // labels are columns. fp32 or fp64.
  void CrossEntropy(DType dtype, ConstBlock logits, const int32_t* labels,
                    void* loss, void* gradient) const;

  // --- updates of variables
  // ---------------------------------------------------

  // Updates all elements of the variables, which are distinct.
  void Update(DType dtype, const UpdateRule& rule,
              Span<UpdatedVariable> variables) const;

  // sums[i, :] is the sum of the rows of group i of a gradient. All rows have
  // `cols` adjacent elements.
  void SumGroups(DType dtype, const void* gradient, int64_t cols,
                 const RowGroups& groups, void* sums) const;

  // Updates rows of `cols` elements of a table, each by the sum of its rows of
  // the gradient.
  void UpdateRows(DType dtype, const UpdateRule& rule,
                  const UpdatedVariable& table, int64_t cols,
                  const RowGroups& groups) const;

  // --- moving rows of any dtype with a fixed size ---------------------------

  // dst[i, :] = x[i, :]. x may have an index; rows before its first are zero.
  void Copy(DType dtype, ConstBlock x, Block dst) const;

  // Sets every element of dst to zero.
  void Zero(DType dtype, Block dst) const;

  // dst[i, :] = src[rows[i], :]; zeros where rows[i] is negative.
  void GatherRows(DType dtype, ConstBlock src, const int32_t* rows,
                  Block dst) const;

  // dst[i, :] = src[rows[i], :] of a large table, whose rows are in no cache.
  // No row is negative.
  void LookUpRows(DType dtype, ConstBlock src, const int32_t* rows,
                  Block dst) const;

  // dst[i, :] = src[rows[i] - first, :], where no row is before `first`.
  void SpreadRows(DType dtype, ConstBlock src, const int32_t* rows,
                  int64_t first, Block dst) const;

  // dst[rows[i], :] = src[i, :]; no two rows[i] are equal; negative ones are
  // skipped.
  void ScatterRows(DType dtype, ConstBlock src, const int32_t* rows,
                   Block dst) const;

  // dst[rows[i], :] += src[i, :] for i = 0, 1, ... in this order, so that the
  // sum is reproducible when rows repeat; negative rows are skipped. dst is of
  // SumType(dtype). For int32, int64 and native types.
  void ScatterAddRows(DType dtype, ConstBlock src, const int32_t* rows,
                      Block dst) const;

 private:
  template <typename T>
  const KernelTable<T>& kernels() const {
    return *tables_.Of<T>();
  }

  template <typename T>
  void RunProduct(const Product<T>& product, ProductKernel<T> kernel) const;
  void Apply(Elementwise op, DType dtype, ConstBlock x, ConstBlock y,
             Block out) const;
  template <typename T>
  void RunElementwise(Elementwise op, ConstBlock x, ConstBlock y,
                      Block out) const;
  template <typename T>
  void RunGroup(const ElementwiseGroup& group, const GroupOperand* operands,
                int64_t rows, int64_t cols) const;
  void NarrowGroup(DType dtype, const ElementwiseGroup& group,
                   const GroupOperand* operands, int64_t rows,
                   int64_t cols) const;
  template <typename T>
  void RunNarrowGroup(const ElementwiseGroup& group,
                      const GroupOperand* operands, int64_t rows,
                      int64_t cols) const;
  template <typename T>
  void RunSumRows(ConstBlock x, Block out, bool accumulate) const;
  template <typename T>
  void RunReduceSegments(Elementwise op, ConstBlock x, const int32_t* splits,
                         Block out) const;
  template <typename T>
  void RunSumColumns(ConstBlock x, Block out) const;
  template <typename T>
  void RunToMask(ConstBlock x, Block out) const;
  template <typename T>
  void RunDrawMasks(const RandomMask& mask, const int32_t* rows, double kept,
                    Block out) const;

  template <typename T>
  void RunCrossEntropy(ConstBlock logits, const int32_t* labels, T* loss,
                       T* gradient) const;

  template <typename T>
  void AddGroup(const T* gradient, int64_t cols, const RowGroups& groups,
                int64_t group, Range columns, Wide<T>* sum) const;
  template <typename T>
  void RunSumGroups(const T* gradient, int64_t cols, const RowGroups& groups,
                    T* sums) const;
  template <typename T>
  void RunUpdate(const UpdateRule& rule, const UpdatedVariable& variable,
                 Range range) const;
  template <typename T>
  void RunUpdateRows(const UpdateRule& rule, const UpdatedVariable& table,
                     int64_t cols, const RowGroups& groups) const;

  Workers* const workers_;
  const Isa isa_;
  const KernelTables tables_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_CPU_BACKEND_H_
