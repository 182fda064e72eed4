// Groups of elementwise operators, tile by tile.
#include <algorithm>
#include <cassert>

#include "cc/backend/cpu/cpu_backend.h"
#include "cc/backend/cpu/dispatch.h"
#include "cc/backend/cpu/parallel.h"

namespace cavs {
namespace {

// Elements of a tile: long enough to hide the call of a kernel, short enough
// for all tiles of a group to stay in the L1 cache.
constexpr int64_t kTile = 512;
constexpr int kMaxValues = ElementwiseGroup::kMaxValues;
constexpr double kNanosPerStep = 0.15;  // Per element.

// A value as the tiles walk over it.
template <typename T>
struct Walk {
  T* data;
  int64_t row_step, column_step, pitch;

  TileRowsOf<T> At(int64_t row, int64_t column) const {
    return {data + row * row_step + column * column_step, pitch};
  }
};

}  // namespace

template <typename T>
void CpuBackend::RunGroup(const ElementwiseGroup& group,
                          const GroupOperand* operands, int64_t rows,
                          int64_t cols) const {
  const auto& kernels = this->kernels<T>().elementwise;
  const int64_t width = std::min(cols, kTile);
  const int64_t height = std::max<int64_t>(1, kTile / width);
  const int num_values = group.num_operands + group.num_scratch;
  assert(num_values <= kMaxValues);
  assert(group.num_scratch <= ElementwiseGroup::kMaxScratch);

  const auto run = [&](Range range) {
    alignas(64) T scratch[ElementwiseGroup::kMaxScratch * kTile];
    Walk<T> values[kMaxValues];
    for (int i = 0; i < num_values; ++i) {
      if (i < group.num_operands) {
        const GroupOperand& in = operands[i];
        values[i] = {static_cast<T*>(in.data), in.pitch, in.column ? 0 : 1,
                     in.pitch};
      } else {
        values[i] = {scratch + (i - group.num_operands) * kTile, 0, 0, width};
      }
    }
    for (int64_t row = range.begin; row < range.end; row += height) {
      const int64_t tile_rows = std::min(height, range.end - row);
      for (int64_t column = 0; column < cols; column += width) {
        const int64_t n = std::min(width, cols - column);
        for (const ElementwiseGroup::Step& step : group.steps) {
          const Form form =
              step.x < group.num_operands && operands[step.x].column
                  ? kScalarVector
              : step.y < group.num_operands && operands[step.y].column
                  ? kVectorScalar
                  : kVectorVector;
          const TileRowsOf<T> x = values[step.x].At(row, column);
          const TileRowsOf<T> y = values[step.y].At(row, column);
          kernels[static_cast<int>(step.op)][form](
              {x.data, x.pitch}, {y.data, y.pitch},
              values[step.out].At(row, column), tile_rows, n);
        }
      }
    }
  };
  const double nanos = kNanosPerStep * group.steps.size() * cols;
  ParallelFor(workers_, rows, height, nanos, run);
}

void CpuBackend::Group(DType dtype, const ElementwiseGroup& group,
                       const GroupOperand* operands, int64_t rows,
                       int64_t cols) const {
  if (rows == 0 || cols == 0) return;
  WithFloatType(dtype, [&](auto zero) {
    RunGroup<decltype(zero)>(group, operands, rows, cols);
  });
}

}  // namespace cavs
