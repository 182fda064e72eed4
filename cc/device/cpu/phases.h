// Who computes what: how the work of a stage is shared out among workers.
#ifndef CAVS_CC_DEVICE_CPU_PHASES_H_
#define CAVS_CC_DEVICE_CPU_PHASES_H_

#include <cstdint>
#include <vector>

#include "cc/ir/compiled_program.h"

namespace cavs {

// How the work of a phase is shared out among workers.
enum class Sharing : uint8_t {
  kRows,     // Every node, for a block of rows.
  kColumns,  // Every node, for the same share of each `unit` columns.
  kSums,     // Sums over rows: tiles of the results.
  kWhole,    // Node by node; each node's kernel shares out its own work.
};

// How long something takes one worker, roughly, that runs `times` times and
// over so many rows in all: over few rows, reading the weights takes longer
// than multiplying by them.
inline double Nanos(double nanos_per_row, int64_t rows, int64_t times = 1) {
  constexpr int64_t kRowsToReadWeights = 8;
  return nanos_per_row * (rows + kRowsToReadWeights * times);
}

// Nodes (by number) between which no worker has to wait for another.
struct Phase {
  Sharing sharing;
  std::vector<int> nodes;
  double nanos_per_row = 0;
};

// How a stage may run: over many rows by blocks of rows; over few, where all
// workers would have to read all weights, by columns.
struct StagePlan {
  std::vector<Phase> by_rows;
  std::vector<Phase> by_columns;  // Empty if that cannot be done.
  int64_t unit = 0;               // Columns come in multiples of this.
  double nanos_per_row = 0;
};

// The plans of all stages, by number.
using StagePlans = std::vector<StagePlan>;

// A stage falls into phases, between which workers wait for each other. By
// rows, few waits are needed: all nodes but sums work on rows. By columns, each
// worker owns the same range of hidden units through products and gates alike,
// so one wait is needed before each product, which reads all columns.
// `column_grain`: columns are shared out in multiples of it.
StagePlans PlanPhases(const CompiledProgram& program, int64_t column_grain);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_PHASES_H_
