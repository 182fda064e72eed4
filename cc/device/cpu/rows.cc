// Moving rows: copies, gathers and scatters.
#include <cassert>
#include <cstring>
#include <type_traits>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerByte = 0.05;
constexpr double kNanosPerRow = 5;
constexpr double kNanosPerFarRow = 30;  // That is in no cache.

// A block as bytes, for kernels that move rows and do not compute.
struct ByteRows {
  char* data;
  int64_t pitch;

  ByteRows(void* data, int64_t pitch, size_t size)
      : data(static_cast<char*>(data)), pitch(pitch * size) {}
  char* Row(int64_t i) const { return data + i * pitch; }
};

struct ConstByteRows {
  const char* data;
  int64_t pitch;

  ConstByteRows(const void* data, int64_t pitch, size_t size)
      : data(static_cast<const char*>(data)), pitch(pitch * size) {}
  const char* Row(int64_t i) const { return data + i * pitch; }
};

// Calls fn(Range) for disjoint ranges that cover `rows` rows of `bytes` bytes.
template <typename Fn>
void ForRows(Workers* workers, int64_t rows, int64_t bytes, const Fn& fn) {
  ParallelFor(workers, rows, 1, kNanosPerRow + kNanosPerByte * bytes, fn);
}

// Integers wrap around in two's complement, as TensorFlow's do.
template <typename T>
void AddIntegers(const T* x, T* sum, int64_t n) {
  using Unsigned = std::make_unsigned_t<T>;
  for (int64_t j = 0; j < n; ++j) {
    sum[j] = static_cast<T>(static_cast<Unsigned>(sum[j]) +
                            static_cast<Unsigned>(x[j]));
  }
}

// add(x, sum, n) adds one row. Each worker owns a range of columns and visits
// all rows in order, so the order of a sum's terms does not depend on the
// number of workers.
template <typename T, typename Sum, typename Add>
void ScatterAdd(Workers* workers, ConstBlock src, const int32_t* rows,
                Block dst, const Add& add) {
  const T* from = static_cast<const T*>(src.data);
  Sum* to = static_cast<Sum*>(dst.data);
  const double nanos = 2 * kNanosPerByte * sizeof(T) * src.rows;
  ParallelFor(workers, src.cols, 64 / sizeof(T), nanos, [&](Range columns) {
    for (int64_t i = 0; i < src.rows; ++i) {
      if (rows[i] < 0) continue;
      add(from + i * src.pitch + columns.begin,
          to + rows[i] * dst.pitch + columns.begin,
          columns.end - columns.begin);
    }
  });
}

}  // namespace

void CpuBackend::Copy(DType dtype, ConstBlock x, Block dst) const {
  assert(x.rows == dst.rows && x.cols == dst.cols && SizeOf(dtype) > 0);
  if (x.index != nullptr) return GatherRows(dtype, x, x.index, dst);
  const size_t size = SizeOf(dtype);
  const int64_t bytes = x.cols * size;
  if (bytes == 0) return;
  const ConstByteRows from(x.data, x.pitch, size);
  const ByteRows to(dst.data, dst.pitch, size);
  const bool flat = x.pitch == x.cols && dst.pitch == dst.cols;
  ForRows(workers_, x.rows, bytes, [&](Range range) {
    if (flat) {
      std::memcpy(to.Row(range.begin), from.Row(range.begin),
                  (range.end - range.begin) * bytes);
      return;
    }
    for (int64_t i = range.begin; i < range.end; ++i) {
      std::memcpy(to.Row(i), from.Row(i), bytes);
    }
  });
}

void CpuBackend::Zero(DType dtype, Block dst) const {
  assert(SizeOf(dtype) > 0);
  const size_t size = SizeOf(dtype);
  const int64_t bytes = dst.cols * size;
  if (bytes == 0) return;
  const ByteRows to(dst.data, dst.pitch, size);
  const bool flat = dst.pitch == dst.cols;
  ForRows(workers_, dst.rows, bytes, [&](Range range) {
    if (flat) {
      std::memset(to.Row(range.begin), 0, (range.end - range.begin) * bytes);
      return;
    }
    for (int64_t i = range.begin; i < range.end; ++i) {
      std::memset(to.Row(i), 0, bytes);
    }
  });
}

void CpuBackend::GatherRows(DType dtype, ConstBlock src, const int32_t* rows,
                            Block dst) const {
  assert(src.cols == dst.cols && SizeOf(dtype) > 0);
  const size_t size = SizeOf(dtype);
  const int64_t bytes = dst.cols * size;
  if (bytes == 0) return;
  const ConstByteRows from(src.data, src.pitch, size);
  const ByteRows to(dst.data, dst.pitch, size);
  ForRows(workers_, dst.rows, bytes, [&](Range range) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (rows[i] < 0) {
        std::memset(to.Row(i), 0, bytes);
      } else {
        std::memcpy(to.Row(i), from.Row(rows[i]), bytes);
      }
    }
  });
}

void CpuBackend::LookUpRows(DType dtype, ConstBlock src, const int32_t* rows,
                            Block dst) const {
  assert(src.cols == dst.cols && SizeOf(dtype) > 0);
  const size_t size = SizeOf(dtype);
  const int64_t bytes = dst.cols * size;
  if (bytes == 0) return;
  const ConstByteRows from(src.data, src.pitch, size);
  const ByteRows to(dst.data, dst.pitch, size);
  constexpr int64_t kAhead = 4, kLine = 64;
  const double nanos = kNanosPerFarRow + kNanosPerByte * bytes;
  ParallelFor(workers_, dst.rows, 1, nanos, [&](Range range) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (i + kAhead < range.end) {
        const char* const next = from.Row(rows[i + kAhead]);
        for (int64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(next + k);
      }
      std::memcpy(to.Row(i), from.Row(rows[i]), bytes);
    }
  });
}

void CpuBackend::SpreadRows(DType dtype, ConstBlock src, const int32_t* rows,
                            int64_t first, Block dst) const {
  src.data = static_cast<const char*>(src.data) -
             first * src.pitch * static_cast<int64_t>(SizeOf(dtype));
  GatherRows(dtype, src, rows, dst);
}

void CpuBackend::ScatterRows(DType dtype, ConstBlock src, const int32_t* rows,
                             Block dst) const {
  assert(src.cols == dst.cols && SizeOf(dtype) > 0);
  const size_t size = SizeOf(dtype);
  const int64_t bytes = src.cols * size;
  if (bytes == 0) return;
  const ConstByteRows from(src.data, src.pitch, size);
  const ByteRows to(dst.data, dst.pitch, size);
  ForRows(workers_, src.rows, bytes, [&](Range range) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (rows[i] >= 0) std::memcpy(to.Row(rows[i]), from.Row(i), bytes);
    }
  });
}

void CpuBackend::ScatterAddRows(DType dtype, ConstBlock src,
                                const int32_t* rows, Block dst) const {
  assert(src.cols == dst.cols);
  if (IsNative(dtype)) {
    return WithFloatType(dtype, [&](auto zero) {
      using T = decltype(zero);
      ScatterAdd<T, Wide<T>>(
          workers_, src, rows, dst, [&](const T* x, Wide<T>* sum, int64_t n) {
            kernels<T>().sum_rows(x, n, 1, n, sum, /*accumulate=*/true);
          });
    });
  }
  switch (dtype) {
    case DType::kInt32:
      return ScatterAdd<int32_t, int32_t>(workers_, src, rows, dst,
                                          AddIntegers<int32_t>);
    case DType::kInt64:
      return ScatterAdd<int64_t, int64_t>(workers_, src, rows, dst,
                                          AddIntegers<int64_t>);
    default:
      assert(false && "ScatterAddRows: no such dtype");
  }
}

}  // namespace cavs
