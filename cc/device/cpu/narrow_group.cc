// Groups of elementwise operators on narrow types: in fp32, tile by tile.
#include <algorithm>
#include <cassert>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

// Elements of a tile. All tiles of a usual group stay in the L1 cache.
constexpr int64_t kTile = 512;
constexpr int kMaxValues = ElementwiseGroup::kMaxValues;
constexpr double kNanosPerInstruction = 0.15;  // Per element.

struct TilePlace {
  int64_t row, rows, column, columns;
};

// An operand in memory, with a tile for its values in fp32.
template <typename T>
class NarrowOperand {
 public:
  NarrowOperand() = default;
  NarrowOperand(const GroupOperand& in, const KernelTable<T>& table,
                float* tile)
      : in_(in), table_(&table), tile_(tile) {}

  void Read(const TilePlace& at) const {
    const int64_t rows = RowsInTile(at.rows), n = in_.column ? 1 : at.columns;
    if (Follow(at)) return table_->widen(Row(at, 0), rows * n, tile_);
    for (int64_t i = 0; i < rows; ++i) {
      table_->widen(Row(at, i), n, tile_ + i * at.columns);
    }
  }

  void Write(const TilePlace& at) const {
    if (Follow(at)) {
      return table_->narrow(tile_, at.rows * at.columns, Row(at, 0));
    }
    for (int64_t i = 0; i < at.rows; ++i) {
      table_->narrow(tile_ + i * at.columns, at.columns, Row(at, i));
    }
  }

  TileRowsOf<float> Tile(const TilePlace& at) const {
    return {tile_, RowsInTile(at.rows) == 1 ? 0 : at.columns};
  }

 private:
  // 1 if one row is broadcast to all.
  int64_t RowsInTile(int64_t rows) const {
    return in_.pitch == 0 && in_.index == nullptr ? 1 : rows;
  }
  // Whether the rows of the tile are adjacent in memory.
  bool Follow(const TilePlace& at) const {
    return in_.pitch == at.columns && in_.index == nullptr && !in_.column;
  }
  T* Row(const TilePlace& at, int64_t i) const {
    const int64_t row =
        in_.index == nullptr ? at.row + i : in_.index[at.row + i];
    return static_cast<T*>(in_.data) + row * in_.pitch +
           (in_.column ? 0 : at.column);
  }

  GroupOperand in_;
  const KernelTable<T>* table_ = nullptr;
  float* tile_ = nullptr;
};

}  // namespace

template <typename T>
void CpuBackend::RunNarrowGroup(const ElementwiseGroup& group,
                                const GroupOperand* operands, int64_t rows,
                                int64_t cols) const {
  const int64_t width = std::min(cols, kTile);
  const int64_t height = std::max<int64_t>(1, kTile / width);
  const int num_values = group.num_operands + group.num_scratch;
  assert(num_values <= kMaxValues);
  bool read[kMaxValues] = {}, written[kMaxValues] = {};
  for (const ElementwiseGroup::Instruction& instruction : group.instructions) {
    const int z = instruction.then != Elementwise::kIdentity ? instruction.z
                                                             : instruction.x;
    for (int value : {int{instruction.x}, int{instruction.y}, z}) {
      read[value] = read[value] || !written[value];
    }
    written[instruction.out] = true;
  }
  const auto is_column = [&](int value) {
    return value < group.num_operands && operands[value].column;
  };

  const auto run = [&](Range range) {
    alignas(64) float tiles[kMaxValues * kTile];
    NarrowOperand<T> values[kMaxValues];
    for (int i = 0; i < num_values; ++i) {
      GroupOperand scratch = {};
      scratch.pitch = width;
      values[i] = {i < group.num_operands ? operands[i] : scratch,
                   this->kernels<T>(), tiles + i * kTile};
    }
    TilePlace at;
    for (at.row = range.begin; at.row < range.end; at.row += height) {
      at.rows = std::min(height, range.end - at.row);
      for (at.column = 0; at.column < cols; at.column += width) {
        at.columns = std::min(width, cols - at.column);
        for (int i = 0; i < group.num_operands; ++i) {
          if (read[i]) values[i].Read(at);
        }
        for (const ElementwiseGroup::Instruction& instruction :
             group.instructions) {
          const KernelTable<float>& kernels = this->kernels<float>();
          const auto tile = [&](int value) -> TileRowsOf<const float> {
            const TileRowsOf<float> own = values[value].Tile(at);
            return {own.data, own.pitch};
          };
          const TileRowsOf<float> out = values[instruction.out].Tile(at);
          if (instruction.then != Elementwise::kIdentity) {
            kernels.PairOf(instruction)(
                tile(instruction.x), tile(instruction.y), tile(instruction.z),
                out, at.rows, at.columns);
            continue;
          }
          const Form form = is_column(instruction.x)   ? kScalarVector
                            : is_column(instruction.y) ? kVectorScalar
                                                       : kVectorVector;
          kernels.elementwise[static_cast<int>(instruction.op)][form](
              tile(instruction.x), tile(instruction.y), out, at.rows,
              at.columns);
        }
        for (int i = 0; i < group.num_operands; ++i) {
          if (written[i]) values[i].Write(at);
        }
      }
    }
  };
  const double nanos = kNanosPerInstruction * group.instructions.size() * cols;
  ParallelFor(workers_, rows, height, nanos, run);
}

void CpuBackend::NarrowGroup(DType dtype, const ElementwiseGroup& group,
                             const GroupOperand* operands, int64_t rows,
                             int64_t cols) const {
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T>) RunNarrowGroup<T>(group, operands, rows, cols);
  });
}

}  // namespace cavs
