// Sums over rows: gradients of weights and biases.
#ifndef CAVS_CC_DEVICE_CPU_ROW_SUMS_H_
#define CAVS_CC_DEVICE_CPU_ROW_SUMS_H_

#include <array>
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

// The tiles of all sums of a program, indexed by stage.
using StageTiles = std::array<std::vector<SumTile>, kNumStages>;
StageTiles MakeStageTiles(const Program& program, const StagePlans& plans,
                          int workers);

// The sums of one program in one step. The constructor's arguments must outlive
// the object.
class RowSums {
 public:
  // `serial` are the tiles for one worker.
  RowSums(const CompiledProgram& program, const StageTiles& serial,
          Bindings* bindings)
      : program_(program),
        bindings_(*bindings),
        operands_(program, *bindings),
        tiles_(&serial) {}

  // To be called once, before any stage runs: sums that are not lazy are formed
  // task by task.
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
  const StageTiles* tiles_;
  StageTiles shared_;  // For several workers.
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_ROW_SUMS_H_
