// Tests values for infinities and NaN.
#include <atomic>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerElement = 0.1;

template <typename T>
bool AreRowsFinite(Workers* workers, const KernelTable<T>& table,
                   const ConstBlock& x) {
  std::atomic<bool> finite{true};
  const T* data = static_cast<const T*>(x.data);
  const bool adjacent = x.index == nullptr && x.pitch == x.cols;
  ParallelFor(workers, x.rows, 1, kNanosPerElement * x.cols, [&](Range range) {
    if (adjacent) {
      const int64_t count = (range.end - range.begin) * x.cols;
      if (!table.are_finite(data + range.begin * x.cols, count)) {
        finite.store(false, std::memory_order_relaxed);
      }
      return;
    }
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t row = x.index == nullptr ? i : x.index[i];
      if (table.are_finite(data + row * x.pitch, x.cols)) continue;
      // Relaxed: other threads read nothing else that this one writes.
      finite.store(false, std::memory_order_relaxed);
      return;
    }
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace

bool CpuBackend::IsFinite(DType dtype, ConstBlock x) const {
  bool finite = false;
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    finite = AreRowsFinite<T>(workers_, kernels<T>(), x);
  });
  return finite;
}

}  // namespace cavs
