// Masks: of booleans, and random ones.
#include <cassert>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerBoolean = 0.15;
constexpr double kNanosPerDraw = 0.5;

}  // namespace

template <typename T>
void CpuBackend::RunToMask(ConstBlock x, Block out) const {
  const bool* from = static_cast<const bool*>(x.data);
  T* to = static_cast<T*>(out.data);
  const T values[] = {FromWide<T>(0), FromWide<T>(1)};
  ParallelFor(workers_, x.rows, 16, kNanosPerBoolean * x.cols,
              [&](Range range) {
                for (int64_t i = range.begin; i < range.end; ++i) {
                  for (int64_t j = 0; j < x.cols; ++j) {
                    to[i * out.pitch + j] = values[from[i * x.pitch + j]];
                  }
                }
              });
}

template <typename T>
void CpuBackend::RunDrawMasks(const RandomMask& mask, const int32_t* rows,
                              double kept, Block out) const {
  const KernelTable<T>& table = kernels<T>();
  const T value = FromWide<T>(static_cast<Wide<T>>(kept));
  T* to = static_cast<T*>(out.data);
  ParallelFor(workers_, out.rows, 1, kNanosPerDraw * out.cols,
              [&](Range range) {
                for (int64_t i = range.begin; i < range.end; ++i) {
                  table.draw_mask(mask, static_cast<uint32_t>(rows[i]), value,
                                  out.cols, to + i * out.pitch);
                }
              });
}

void CpuBackend::ToMask(DType dtype, ConstBlock x, Block out) const {
  assert(x.rows == out.rows && x.cols == out.cols && x.index == nullptr);
  WithFloatType(dtype, [&](auto zero) { RunToMask<decltype(zero)>(x, out); });
}

void CpuBackend::DrawMasks(DType dtype, const RandomMask& mask,
                           const int32_t* rows, double kept, Block out) const {
  WithFloatType(dtype, [&](auto zero) {
    RunDrawMasks<decltype(zero)>(mask, rows, kept, out);
  });
}

}  // namespace cavs
