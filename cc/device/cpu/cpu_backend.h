// The kernels of the CPU, by its vector units.
#ifndef CAVS_CC_DEVICE_CPU_CPU_BACKEND_H_
#define CAVS_CC_DEVICE_CPU_CPU_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/device/cpu/backend.h"
#include "cc/device/cpu/isa.h"
#include "cc/device/cpu/kernel_table.h"
#include "cc/device/cpu/workers.h"

namespace cavs {

// Runs each kernel on the calling thread, or, where the work is worth it, on
// its workers. Has only pointers, so making one for every step costs nothing.
//
// A packed right-hand side can be read only by backends of the same instruction
// set.
//
// Example:
//   SerialWorkers workers;
//   const CpuBackend backend(&workers);
//   backend.Unary(Elementwise::kTanh, DType::kFloat32, x, out);
class CpuBackend : public Backend {
 public:
  // `workers` must outlive the backend. `isa` must be supported.
  explicit CpuBackend(Workers* workers, Isa isa = BestIsa());

  Isa isa() const { return isa_; }

  size_t PackedBytes(DType dtype, int64_t k, int64_t n) const override;
  int64_t ColumnGrain(DType dtype) const override;
  void Pack(DType dtype, ConstBlock w, bool transpose, int64_t n,
            int64_t first_column, void* packed) const override;
  void MatMulPacked(DType dtype, ConstBlock a, const void* packed, Block c,
                    bool accumulate) const override;
  void MatMulPackedColumns(DType dtype, ConstBlock a, const void* packed,
                           Block c, int64_t first_column, int64_t end_column,
                           bool accumulate) const override;
  void MatMul(DType dtype, ConstBlock a, ConstBlock b, bool transpose_b,
              Block c, bool accumulate) const override;
  void MatMulTransposeA(DType dtype, ConstBlock a, ConstBlock b, Block c,
                        bool accumulate) const override;

  void Unary(Elementwise op, DType dtype, ConstBlock x,
             Block out) const override;
  void Binary(Elementwise op, DType dtype, ConstBlock x, ConstBlock y,
              Block out) const override;

  void Group(DType dtype, const ElementwiseGroup& group,
             const GroupOperand* operands, int64_t rows,
             int64_t cols) const override;

  void SumRows(DType dtype, ConstBlock x, Block out,
               bool accumulate) const override;
  void RoundSums(DType dtype, int64_t n, void* sums) const override;
  bool IsFinite(DType dtype, ConstBlock x) const override;
  void SumColumns(DType dtype, ConstBlock x, Block out) const override;

  void Copy(DType dtype, ConstBlock x, Block dst) const override;
  void Zero(DType dtype, Block dst) const override;
  void GatherRows(DType dtype, ConstBlock src, const int32_t* rows,
                  Block dst) const override;
  void ScatterRows(DType dtype, ConstBlock src, const int32_t* rows,
                   Block dst) const override;
  void ScatterAddRows(DType dtype, ConstBlock src, const int32_t* rows,
                      Block dst) const override;

 private:
  template <typename T>
  const KernelTable<T>& kernels() const {
    return *tables_.Of<T>();
  }

  template <typename T>
  void RunProduct(const Product<T>& product, ProductKernel<T> kernel) const;
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
  void RunSumColumns(ConstBlock x, Block out) const;

  Workers* const workers_;
  const Isa isa_;
  const KernelTables tables_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_CPU_BACKEND_H_
