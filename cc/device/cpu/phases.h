// Plans how the work of a stage is divided among workers.
#ifndef CAVS_CC_DEVICE_CPU_PHASES_H_
#define CAVS_CC_DEVICE_CPU_PHASES_H_

#include <cstdint>
#include <vector>

#include "cc/ir/compiled_program.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// How the work of a phase is divided among workers.
enum class Division : uint8_t {
  kRows,  // Each worker runs every node, for blocks of rows.
  // Each worker runs every node, for the same columns of each `unit`.
  kColumns,
  kSums,   // Sums over rows: each worker computes tiles of the results.
  kWhole,  // Node by node; each node's kernel divides its own work.
};

// A rough estimate of the nanoseconds that one worker takes.
struct RowCost {
  double per_row = 0, per_edge = 0;

  void Add(RowSpace space, double nanos) {
    (space == RowSpace::kEdges ? per_edge : per_row) += nanos;
  }
};

// The time of work that runs tasks.tasks times, over tasks.rows rows and their
// edges in total. Over few rows, reading the weights takes longer than
// multiplying by them.
inline double Nanos(const RowCost& cost, const TaskCount& tasks) {
  constexpr int64_t kRowsToReadWeights = 8;
  const int64_t more = kRowsToReadWeights * tasks.tasks;
  return cost.per_row * (tasks.rows + more) +
         cost.per_edge * (tasks.edges + more);
}

// Nodes (by number) between which no worker waits for another.
struct Phase {
  Division division;
  std::vector<int> nodes;
  RowCost cost;
};

// How a stage may run: over many rows, the phases divide rows; over few rows,
// where every worker would have to read all weights, they divide columns.
struct StagePlan {
  std::vector<Phase> by_rows;
  std::vector<Phase> by_columns;  // Empty if columns cannot be divided.
  int64_t unit = 0;               // Widths of rows are multiples of this.
  RowCost cost;
};

// The plans of all stages, indexed by stage.
using StagePlans = std::vector<StagePlan>;

// A stage consists of phases, between which workers wait for each other.
// Dividing rows needs few waits: all nodes but sums work on single rows.
// Dividing columns, each worker owns the same range of hidden units in products
// and groups alike, so a wait is needed before each product, which reads all
// columns. Columns are divided in multiples of `column_grain`.
StagePlans PlanPhases(const CompiledProgram& program, int64_t column_grain);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_PHASES_H_
