// Groups of elementwise operators, tile by tile.
#include <algorithm>
#include <cassert>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

// Elements of a tile: many enough to hide the cost of calling a kernel, few
// enough for all tiles of a group to stay in the L1 cache.
constexpr int64_t kTile = 512;
constexpr int64_t kCopy = kTile + 16;  // Copies write whole vectors.
constexpr int kMaxValues = ElementwiseGroup::kMaxValues;
constexpr double kNanosPerInstruction = 0.15;  // Per element.

// A value, and how tiles address it.
template <typename T>
struct Walk {
  T* data;
  int64_t row_stride, column_stride, pitch;
  const int32_t* index;

  TileRowsOf<T> At(int64_t row, int64_t column) const {
    return {data + row * row_stride + column * column_stride, pitch};
  }

  // The rows for reading: in place if they have a constant stride, else from a
  // copy in `tile`.
  TileRowsOf<const T> Read(const KernelTable<T>& kernels, int64_t row,
                           int64_t column, int64_t rows, int64_t n,
                           T* tile) const {
    if (index == nullptr) {
      const TileRowsOf<T> at = At(row, column);
      return {at.data, at.pitch};
    }
    const int32_t* own = index + row;
    const T* from = data + column * column_stride;
    const int64_t stride = rows > 1 ? int64_t{own[1]} - own[0] : 0;
    int64_t i = 1;
    while (i < rows && own[i] == own[0] + i * stride) ++i;
    if (i >= rows) return {from + own[0] * pitch, stride * pitch};
    kernels.copy_indexed(from, pitch, own, rows, column_stride == 0 ? 1 : n, n,
                         tile);
    return {tile, n};
  }
};

}  // namespace

template <typename T>
void CpuBackend::RunGroup(const ElementwiseGroup& group,
                          const GroupOperand* operands, int64_t rows,
                          int64_t cols) const {
  const KernelTable<T>& kernels = this->kernels<T>();
  const int64_t width = std::min(cols, kTile);
  const int64_t height = std::max<int64_t>(1, kTile / width);
  const int num_values = group.num_operands + group.num_scratch;
  assert(num_values <= kMaxValues);
  assert(group.num_scratch <= ElementwiseGroup::kMaxScratch);

  const auto run = [&](Range range) {
    alignas(64) T scratch[ElementwiseGroup::kMaxScratch * kTile];
    alignas(64) T copies[3 * kCopy];
    Walk<T> values[kMaxValues];
    for (int i = 0; i < num_values; ++i) {
      if (i < group.num_operands) {
        const GroupOperand& in = operands[i];
        values[i] = {static_cast<T*>(in.data), in.pitch, in.column ? 0 : 1,
                     in.pitch, in.index};
      } else {
        values[i] = {scratch + (i - group.num_operands) * kTile, 0, 0, width,
                     nullptr};
      }
    }
    for (int64_t row = range.begin; row < range.end; row += height) {
      const int64_t tile_rows = std::min(height, range.end - row);
      for (int64_t column = 0; column < cols; column += width) {
        const int64_t n = std::min(width, cols - column);
        for (const ElementwiseGroup::Instruction& instruction :
             group.instructions) {
          const auto read = [&](int16_t value, int copy) {
            return values[value].Read(kernels, row, column, tile_rows, n,
                                      copies + copy * kCopy);
          };
          const auto out = values[instruction.out].At(row, column);
          if (instruction.then != Elementwise::kIdentity) {
            kernels.PairOf(instruction)(
                read(instruction.x, 0), read(instruction.y, 1),
                read(instruction.z, 2), out, tile_rows, n);
            continue;
          }
          const Form form = instruction.x < group.num_operands &&
                                    operands[instruction.x].column
                                ? kScalarVector
                            : instruction.y < group.num_operands &&
                                    operands[instruction.y].column
                                ? kVectorScalar
                                : kVectorVector;
          kernels.elementwise[static_cast<int>(instruction.op)][form](
              read(instruction.x, 0), read(instruction.y, 1), out, tile_rows,
              n);
        }
      }
    }
  };
  const double nanos = kNanosPerInstruction * group.instructions.size() * cols;
  ParallelFor(workers_, rows, height, nanos, run);
}

void CpuBackend::Group(DType dtype, const ElementwiseGroup& group,
                       const GroupOperand* operands, int64_t rows,
                       int64_t cols) const {
  if (rows == 0 || cols == 0) return;
  if (IsNarrow(dtype)) return NarrowGroup(dtype, group, operands, rows, cols);
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!kIsNarrow<T>) RunGroup<T>(group, operands, rows, cols);
  });
}

}  // namespace cavs
