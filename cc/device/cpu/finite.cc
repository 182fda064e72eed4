// Looking for infinities and NaN.
#include <atomic>
#include <cassert>
#include <cstring>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerElement = 0.1;

// The bits of the exponent: all are set if the number is not finite.
template <typename Bits>
constexpr Bits kExponent = 0;
template <>
constexpr uint16_t kExponent<uint16_t> = 0x7F80;  // bfloat16
template <>
constexpr uint32_t kExponent<uint32_t> = 0x7F800000;
template <>
constexpr uint64_t kExponent<uint64_t> = 0x7FF0000000000000;

// Without a branch in the loop, so that it is vectorized.
template <typename Bits>
bool IsRowFinite(const char* row, int64_t n) {
  Bits found = 0;
  for (int64_t j = 0; j < n; ++j) {
    Bits x;
    std::memcpy(&x, row + j * sizeof(Bits), sizeof(Bits));
    found |= static_cast<Bits>((x & kExponent<Bits>) == kExponent<Bits>);
  }
  return found == 0;
}

template <typename Bits>
bool AreRowsFinite(Workers* workers, const ConstBlock& x) {
  std::atomic<bool> finite{true};
  const char* data = static_cast<const char*>(x.data);
  const int64_t pitch = x.pitch * static_cast<int64_t>(sizeof(Bits));
  ParallelFor(workers, x.rows, 1, kNanosPerElement * x.cols, [&](Range range) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t row = x.index == nullptr ? i : x.index[i];
      if (IsRowFinite<Bits>(data + row * pitch, x.cols)) continue;
      // Nothing else is handed from thread to thread but this.
      finite.store(false, std::memory_order_relaxed);
      return;
    }
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace

bool CpuBackend::IsFinite(DType dtype, ConstBlock x) const {
  assert(IsNative(dtype));
  switch (dtype) {
    case DType::kFloat64:
      return AreRowsFinite<uint64_t>(workers_, x);
    case DType::kBFloat16:
      return AreRowsFinite<uint16_t>(workers_, x);
    default:
      return AreRowsFinite<uint32_t>(workers_, x);
  }
}

}  // namespace cavs
