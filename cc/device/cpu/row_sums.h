// Sums over rows: gradients of weights and biases.
#ifndef CAVS_CC_DEVICE_CPU_ROW_SUMS_H_
#define CAVS_CC_DEVICE_CPU_ROW_SUMS_H_

#include <cstdint>
#include <vector>

#include "cc/device/bindings.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/cpu_stream.h"
#include "cc/device/cpu/phases.h"
#include "cc/device/operands.h"
#include "cc/ir/program.h"

namespace cavs {

// A tile of a sum over rows, and the nodes of a phase that add to it.
struct SumTile {
  std::vector<int> nodes;
  int64_t first_row, end_row, first_column, end_column;
};

// Divides the sums that `nodes` form into tiles for `workers` workers, in an
// order in which a Team ends at about the same time with all of them. The tiles
// do not depend on the number of rows. All sums that are written to one symbol
// are of one kind, and so of one size.
std::vector<SumTile> MakeSumTiles(const Program& program,
                                  const std::vector<int>& nodes, int workers);

// The sums of one program in one step. The constructor's arguments must outlive
// the object.
class RowSums {
 public:
  RowSums(const CompiledProgram& program, Bindings* bindings)
      : program_(program),
        bindings_(*bindings),
        operands_(program, *bindings) {}

  // To be called once, before any stage runs.
  void MakeTiles(const StagePlans& plans, int workers);

  // Adds the rows of `at` to the sums of a phase of `stage`.
  void Run(Stage stage, const Phase& phase, const RowRange& at,
           InlineStream* stream);

 private:
  void AddUp(const SumTile& tile, const RowRange& at,
             const CpuBackend& backend) const;
  void AddUp(const Node& node, const SumTile& tile, const RowRange& all,
             bool accumulate, const CpuBackend& backend) const;
  // The rows of `at` without those at its beginning that add zero.
  RowRange WithoutZeros(const Node& node, const SumTile& tile,
                        const RowRange& at, const CpuBackend& backend) const;
  // The columns of the first, or last, operand of a sum that a tile reads.
  ConstBlock First(const Node& sum, const SumTile& tile,
                   const RowRange& at) const;
  ConstBlock Last(const Node& sum, const SumTile& tile,
                  const RowRange& at) const;

  const Program& program_;
  Bindings& bindings_;
  const Operands operands_;
  // Indexed by stage. Made once, since sums that are not lazy are formed task
  // by task.
  std::vector<SumTile> tiles_[kNumStages];
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_ROW_SUMS_H_
