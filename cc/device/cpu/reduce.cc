// Sums over blocks: which worker computes which rows or columns.
#include <cassert>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerElement = 0.15;

}  // namespace

template <typename T>
void CpuBackend::RunSumRows(ConstBlock x, Block out, bool accumulate) const {
  const KernelTable<T>& table = kernels<T>();
  const T* from = static_cast<const T*>(x.data);
  Wide<T>* to = static_cast<Wide<T>*>(out.data);
  ParallelFor(workers_, x.cols, table.lanes * 4, kNanosPerElement * x.rows,
              [&](Range range) {
                table.sum_rows(from + range.begin, x.pitch, x.rows,
                               range.end - range.begin, to + range.begin,
                               accumulate);
              });
}

template <typename T>
void CpuBackend::RunSumColumns(ConstBlock x, Block out) const {
  const KernelTable<T>& table = kernels<T>();
  const T* from = static_cast<const T*>(x.data);
  T* to = static_cast<T*>(out.data);
  ParallelFor(workers_, x.rows, 16, kNanosPerElement * x.cols,
              [&](Range range) {
                for (int64_t i = range.begin; i < range.end; ++i) {
                  const Wide<T> sum = table.sum(from + i * x.pitch, x.cols);
                  to[i * out.pitch] = FromWide<T>(sum);
                }
              });
}

void CpuBackend::SumRows(DType dtype, ConstBlock x, Block out,
                         bool accumulate) const {
  assert(x.cols == out.cols && out.rows == 1);
  WithFloatType(dtype, [&](auto zero) {
    RunSumRows<decltype(zero)>(x, out, accumulate);
  });
}

void CpuBackend::RoundSums(DType dtype, int64_t n, void* sums) const {
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T>) {
      kernels<T>().narrow(static_cast<const Wide<T>*>(sums), n,
                          static_cast<T*>(sums));
    }
  });
}

void CpuBackend::SumColumns(DType dtype, ConstBlock x, Block out) const {
  assert(x.rows == out.rows && out.cols == 1);
  WithFloatType(dtype,
                [&](auto zero) { RunSumColumns<decltype(zero)>(x, out); });
}

}  // namespace cavs
