// Sums over blocks: which worker computes which rows or columns.
#include <algorithm>
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

// Each worker reduces some columns of all segments, so the order of the terms
// does not depend on the number of workers.
template <typename T>
void CpuBackend::RunReduceSegments(Elementwise op, ConstBlock x,
                                   const int32_t* splits, Block out) const {
  constexpr int64_t kTile = 256;  // Columns that are reduced at a time.
  const auto combine =
      kernels<Wide<T>>().elementwise[static_cast<int>(op)][kVectorVector];
  const auto reduce = [&](Range columns, int64_t i) {
    const int64_t n = columns.end - columns.begin;
    T* const to = static_cast<T*>(out.data) + i * out.pitch + columns.begin;
    Wide<T> wide[kTile], sum[kTile];
    Wide<T>* total = sum;
    if constexpr (!kIsNarrow<T>) total = to;
    if (splits[i] == splits[i + 1]) std::fill_n(to, n, T());
    for (int32_t r = splits[i]; r < splits[i + 1]; ++r) {
      const int64_t edge = r - splits[0];
      const int64_t row = x.index == nullptr ? edge : x.index[edge];
      const T* from =
          static_cast<const T*>(x.data) + row * x.pitch + columns.begin;
      const Wide<T>* term = nullptr;
      if constexpr (kIsNarrow<T>) {
        kernels<T>().widen(from, n, wide);
        term = wide;
      } else {
        term = from;
      }
      if (r == splits[i]) {
        std::copy_n(term, n, total);
      } else {
        combine({total, 0}, {term, 0}, {total, 0}, 1, n);
      }
    }
    if constexpr (kIsNarrow<T>) {
      if (splits[i] < splits[i + 1]) kernels<T>().narrow(sum, n, to);
    }
  };
  const double nanos = kNanosPerElement * (splits[out.rows] - splits[0]);
  ParallelFor(
      workers_, out.cols, kernels<T>().lanes * 4, nanos, [&](Range range) {
        for (int64_t begin = range.begin; begin < range.end; begin += kTile) {
          const Range columns = {begin, std::min(range.end, begin + kTile)};
          for (int64_t i = 0; i < out.rows; ++i) reduce(columns, i);
        }
      });
}

void CpuBackend::ReduceSegments(Elementwise op, DType dtype, ConstBlock x,
                                const int32_t* splits, Block out) const {
  assert(x.cols == out.cols);
  WithFloatType(dtype, [&](auto zero) {
    RunReduceSegments<decltype(zero)>(op, x, splits, out);
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

void CpuBackend::RoundRows(DType dtype, ConstBlock sums, const int32_t* rows,
                           Block dst) const {
  assert(sums.cols == dst.cols && IsNarrow(dtype));
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T>) {
      const Wide<T>* const from = static_cast<const Wide<T>*>(sums.data);
      T* const to = static_cast<T*>(dst.data);
      ParallelFor(workers_, dst.rows, 16, kNanosPerElement * dst.cols,
                  [&](Range range) {
                    for (int64_t i = range.begin; i < range.end; ++i) {
                      T* const own = to + i * dst.pitch;
                      if (rows[i] < 0) {
                        std::fill_n(own, dst.cols, T());
                      } else {
                        kernels<T>().narrow(from + rows[i] * sums.pitch,
                                            dst.cols, own);
                      }
                    }
                  });
    }
  });
}

void CpuBackend::SumColumns(DType dtype, ConstBlock x, Block out) const {
  assert(x.rows == out.rows && out.cols == 1);
  WithFloatType(dtype,
                [&](auto zero) { RunSumColumns<decltype(zero)>(x, out); });
}

}  // namespace cavs
