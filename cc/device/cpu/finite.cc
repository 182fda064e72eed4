// Tests values for infinities and NaN.
#include <atomic>
#include <cstring>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerElement = 0.1;

// The bits of the exponent: all are set if the number is not finite.
template <typename T>
struct Exponent;
template <>
struct Exponent<float> {
  using Bits = uint32_t;
  static constexpr Bits kMask = 0x7F800000;
};
template <>
struct Exponent<double> {
  using Bits = uint64_t;
  static constexpr Bits kMask = 0x7FF0000000000000;
};
template <int kExponent>
struct Exponent<NarrowFloat<kExponent>> {
  using Bits = uint16_t;
  static constexpr Bits kMask = NarrowFloat<kExponent>::kInfinity;
};

// Without a branch in the loop, so that it is vectorized.
template <typename T>
bool IsRowFinite(const char* row, int64_t n) {
  using Bits = typename Exponent<T>::Bits;
  constexpr Bits kMask = Exponent<T>::kMask;
  Bits found = 0;
  for (int64_t j = 0; j < n; ++j) {
    Bits x;
    std::memcpy(&x, row + j * sizeof(Bits), sizeof(Bits));
    found |= static_cast<Bits>((x & kMask) == kMask);
  }
  return found == 0;
}

template <typename T>
bool AreRowsFinite(Workers* workers, const ConstBlock& x) {
  std::atomic<bool> finite{true};
  const char* data = static_cast<const char*>(x.data);
  const int64_t pitch = x.pitch * static_cast<int64_t>(sizeof(T));
  ParallelFor(workers, x.rows, 1, kNanosPerElement * x.cols, [&](Range range) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t row = x.index == nullptr ? i : x.index[i];
      if (IsRowFinite<T>(data + row * pitch, x.cols)) continue;
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
    finite = AreRowsFinite<decltype(zero)>(workers_, x);
  });
  return finite;
}

}  // namespace cavs
