// Products: which worker computes which rows or columns.
#include <algorithm>
#include <cassert>
#include <functional>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerTerm = 0.02;    // Per multiply-add.
constexpr double kNanosPerPacked = 0.25;  // Per element that is packed.

template <typename T>
Product<T> MakeProduct(ConstBlock a, const void* b, Block c, bool accumulate) {
  Product<T> p = {};
  p.a = static_cast<const T*>(a.data);
  p.a_pitch = a.pitch;
  p.a_index = a.index;
  p.b = static_cast<const T*>(b);
  p.c = static_cast<T*>(c.data);
  p.c_pitch = c.pitch;
  p.m = c.rows;
  p.n = c.cols;
  p.accumulate = accumulate;
  return p;
}

[[maybe_unused]] bool IsReadable(const ConstBlock& a) {
  return a.index == nullptr || a.cols <= kMaxIndexedColumns;
}

}  // namespace

// Workers compute ranges of columns, so that each reads only its own columns of
// b; or ranges of rows, where c has too few panels for the workers.
template <typename T>
void CpuBackend::RunProduct(const Product<T>& p,
                            ProductKernel<T> kernel) const {
  if (p.m == 0 || p.n == 0) return;
  const double terms =
      static_cast<double>(p.m) * p.n * std::max<int64_t>(p.k, 1);
  const int jobs = NumJobs(
      *workers_, terms * kNanosPerTerm * (sizeof(Wide<T>) / sizeof(float)));
  if (jobs == 1) return kernel(p, {0, p.m}, {0, p.n});
  const KernelTable<T>& table = kernels<T>();
  const int64_t panels = CeilDiv(p.n, table.panel);
  const int64_t tiles = CeilDiv(p.m, table.tile_rows);
  // The fraction of the work that the busiest worker gets.
  const double by_panel = static_cast<double>(CeilDiv(panels, jobs)) / panels;
  const double by_tile = static_cast<double>(CeilDiv(tiles, jobs)) / tiles;
  const auto run = [&](int i) {
    if (by_panel <= by_tile) {
      const Range mine = RangeOfJob(panels, 1, i, jobs);
      const Range columns = {mine.begin * table.panel,
                             std::min(p.n, mine.end * table.panel)};
      if (mine.begin < mine.end) kernel(p, {0, p.m}, columns);
    } else {
      const Range mine = {p.m * i / jobs, p.m * (i + 1) / jobs};
      if (mine.begin < mine.end) kernel(p, mine, {0, p.n});
    }
  };
  workers_->Run(jobs, std::ref(run));  // Without an allocation.
}

size_t CpuBackend::PackedBytes(DType dtype, int64_t k, int64_t n) const {
  size_t bytes = 0;
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    const int64_t lanes = kernels<T>().lanes;
    const int64_t depth = CeilDiv(k, kernels<T>().packed_terms);
    bytes = CeilDiv(n, lanes) * lanes * depth * sizeof(Wide<T>);
  });
  return bytes;
}

int64_t CpuBackend::ColumnGrain(DType dtype) const {
  int64_t lanes = 0;
  WithFloatType(dtype,
                [&](auto zero) { lanes = kernels<decltype(zero)>().lanes; });
  return lanes;
}

void CpuBackend::Pack(DType dtype, ConstBlock w, bool transpose, int64_t n,
                      int64_t first_column, void* packed) const {
  const int64_t k = transpose ? w.cols : w.rows;
  const int64_t columns = transpose ? w.rows : w.cols;
  assert(first_column % ColumnGrain(dtype) == 0 && first_column + columns <= n);
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    const KernelTable<T>& table = kernels<T>();
    const double nanos = kNanosPerPacked * k;
    ParallelFor(workers_, columns, table.panel, nanos, [&](Range range) {
      const int64_t step = transpose ? w.pitch : 1;
      table.pack(static_cast<const T*>(w.data) + range.begin * step, w.pitch,
                 transpose, k, n,
                 {first_column + range.begin, first_column + range.end},
                 static_cast<Wide<T>*>(packed));
    });
  });
}

void CpuBackend::MatMulPacked(DType dtype, ConstBlock a, const void* packed,
                              Block c, bool accumulate) const {
  assert(a.rows == c.rows && IsReadable(a));
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    Product<T> p = MakeProduct<T>(a, packed, c, accumulate);
    p.k = a.cols;
    RunProduct(p, kernels<T>().multiply_packed);
  });
}

void CpuBackend::MatMulPackedColumns(DType dtype, ConstBlock a,
                                     const void* packed, Block c,
                                     int64_t first_column, int64_t end_column,
                                     bool accumulate) const {
  assert(a.rows == c.rows && IsReadable(a));
  assert(first_column % ColumnGrain(dtype) == 0);
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    Product<T> p = MakeProduct<T>(a, packed, c, accumulate);
    p.k = a.cols;
    if (p.m == 0) return;
    kernels<T>().multiply_packed(p, {0, p.m}, {first_column, end_column});
  });
}

void CpuBackend::MatMul(DType dtype, ConstBlock a, ConstBlock b,
                        bool transpose_b, Block c, bool accumulate) const {
  assert(a.rows == c.rows && IsReadable(a));
  assert(a.cols == (transpose_b ? b.cols : b.rows));
  assert(c.cols == (transpose_b ? b.rows : b.cols));
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    Product<T> p = MakeProduct<T>(a, b.data, c, accumulate);
    p.b_pitch = b.pitch;
    p.k = a.cols;
    p.transpose_b = transpose_b;
    RunProduct(p, kernels<T>().multiply);
  });
}

void CpuBackend::MatMulTransposeA(DType dtype, ConstBlock a, ConstBlock b,
                                  Block c, bool accumulate) const {
  assert(a.rows == b.rows && a.cols == c.rows && b.cols == c.cols);
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    Product<T> p = MakeProduct<T>(a, b.data, c, accumulate);
    p.b_pitch = b.pitch;
    p.b_index = b.index;
    p.k = a.rows;
    RunProduct(p, kernels<T>().multiply_transposed);
  });
}

}  // namespace cavs
