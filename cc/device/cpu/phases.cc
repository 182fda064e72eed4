#include "cc/device/cpu/phases.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

// Fewer columns per worker do not fill its vectors.
constexpr int64_t kSmallestUnit = 32;

constexpr double kNanosPerTerm = 0.0125;
constexpr double kNanosPerInstruction = 0.1;
constexpr double kNanosMoved = 0.1;  // Per element.

class Planner {
 public:
  Planner(const CompiledProgram& program, int64_t column_grain)
      : program_(program), grain_(column_grain) {}

  StagePlans Run() const {
    StagePlans plans(kNumStages);
    for (Stage stage : {Stage::kEager, Stage::kCritical, Stage::kLazy}) {
      StagePlan& plan = plans[static_cast<int>(stage)];
      std::vector<int> nodes;
      for (size_t i = 0; i < program_.nodes.size(); ++i) {
        const Node& node = program_.nodes[i];
        if (node.stage == stage && !IsView(node)) {
          nodes.push_back(static_cast<int>(i));
          AddCost(node, &plan.cost);
        }
      }
      plan.by_rows = ByRows(nodes);
      plan.unit = Unit(nodes);
      if (plan.unit > 0) plan.by_columns = ByColumns(nodes, plan.unit);
      for (auto* phases : {&plan.by_rows, &plan.by_columns}) {
        for (Phase& phase : *phases) {
          for (int i : phase.nodes) {
            AddCost(program_.nodes[i], &phase.cost);
          }
        }
      }
    }
    return plans;
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }
  const Node& node(int i) const { return program_.nodes[i]; }

  // Whether the node only reads rows by an index, so that there is nothing to
  // run.
  bool IsView(const Node& n) const {
    return !n.outputs.empty() &&
           program_.placement.candidates[n.outputs[0]].by_index;
  }

  static bool IsSum(const Node& n) {
    return n.kind == NodeKind::kWeightGrad || n.kind == NodeKind::kSumRows;
  }

  // The columns that a node works on; 0 if it has none.
  int64_t Columns(const Node& n) const {
    const std::vector<int>& ids = n.outputs.empty() ? n.inputs : n.outputs;
    if (ids.empty()) return 0;
    return symbol(ids[0]).columns();
  }

  void AddCost(const Node& n, RowCost* cost) const {
    const bool reads_edges = ReducesEdges(n.kind);
    cost->Add(reads_edges ? RowSpace::kEdges : SpaceOf(program_, n),
              NanosPerRow(n));
  }

  // A product of few columns takes as long as one of a whole vector.
  double NanosOfProduct(int64_t terms, int64_t columns) const {
    return kNanosPerTerm * terms * (CeilDiv(columns, grain_) * grain_);
  }

  double NanosPerRow(const Node& n) const {
    const int64_t columns = Columns(n);
    switch (n.kind) {
      case NodeKind::kMatMul:
        return kNanosMoved * columns +
               NanosOfProduct(symbol(n.inputs[0]).columns(), columns);
      case NodeKind::kWeightGrad:
        return NanosOfProduct(symbol(n.inputs[0]).columns(),
                              symbol(n.inputs[1]).columns());
      case NodeKind::kGroup:
        return kNanosPerInstruction * n.group.instructions.size() * columns;
      default:
        return kNanosMoved * columns;
    }
  }

  static void Append(Division division, int i, std::vector<Phase>* phases) {
    if (phases->empty() || phases->back().division != division) {
      phases->push_back({division, {}, {}});
    }
    phases->back().nodes.push_back(i);
  }

  // Sums come last: only the epilogue reads them.
  std::vector<Phase> ByRows(const std::vector<int>& nodes) const {
    std::vector<Phase> phases;
    for (int i : nodes) {
      if (IsSum(node(i))) continue;
      Append(node(i).kind == NodeKind::kForeign ? Division::kWhole
                                                : Division::kRows,
             i, &phases);
    }
    for (int i : nodes) {
      if (IsSum(node(i))) Append(Division::kSums, i, &phases);
    }
    return phases;
  }

  // The number of columns that most of the elementwise work has, if they can be
  // divided; else 0.
  int64_t Unit(const std::vector<int>& nodes) const {
    std::map<int64_t, int> votes;
    for (int i : nodes) {
      const Node& n = node(i);
      if (n.kind == NodeKind::kForeign) return 0;
      if (n.kind == NodeKind::kGroup || n.kind == NodeKind::kElementwise) {
        votes[Columns(n)] += 1 + static_cast<int>(n.group.instructions.size());
      } else if (n.kind == NodeKind::kMatMul) {
        votes.emplace(Columns(n), 0);
      }
    }
    int64_t unit = 0;
    int most = -1;
    for (const auto& [columns, count] : votes) {
      if (count > most && columns >= kSmallestUnit && columns % grain_ == 0) {
        unit = columns;
        most = count;
      }
    }
    return unit;
  }

  // Whether rows of the symbol consist of whole units that begin at a multiple
  // of the unit in their root.
  bool IsInUnits(int id, int64_t unit) const {
    int64_t offset;
    program_.Root(id, &offset);
    return symbol(id).columns() % unit == 0 && offset % unit == 0;
  }

  bool AreInUnits(const std::vector<int>& ids, int64_t unit) const {
    return std::all_of(ids.begin(), ids.end(),
                       [&](int id) { return IsInUnits(id, unit); });
  }

  // Whether each worker may compute the same columns of every unit of the rows
  // that the node writes. These rows must consist of whole units: its outputs,
  // or, where it moves its input out, rows of the same width.
  bool IsAligned(const Node& n, int64_t unit) const {
    if (!AreInUnits(n.outputs, unit)) return false;
    switch (n.kind) {
      case NodeKind::kMatMul:
      case NodeKind::kZero:
        return true;
      case NodeKind::kElementwise:
      case NodeKind::kGroup:
        return IsElementwiseAligned(n, unit);
      case NodeKind::kSumColumns:
      case NodeKind::kToMask:
      case NodeKind::kVertexIds:
      case NodeKind::kForeign:
        return false;
      default:
        return AreInUnits(n.inputs, unit);
    }
  }

  // Whether operands are as wide as the output, or are broadcast.
  bool IsElementwiseAligned(const Node& n, int64_t unit) const {
    // A group whose outputs no node reads has none.
    for (const Node& member : n.members) {
      if (symbol(member.outputs[0]).columns() % unit != 0) return false;
    }
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](int id) {
      return symbol(id).kind != SymbolKind::kRows ||
             symbol(id).columns() == 1 || IsInUnits(id, unit);
    });
  }

  // The symbols from which a worker reads columns that other workers compute.
  std::vector<int> ReadsAcross(const Node& n) const {
    std::vector<int> across;
    if (n.kind == NodeKind::kMatMul) return {n.inputs[0]};
    for (int id : n.inputs) {
      if (symbol(id).kind == SymbolKind::kRows && symbol(id).columns() == 1) {
        across.push_back(id);
      }
    }
    return across;
  }

  std::vector<Phase> ByColumns(const std::vector<int>& nodes,
                               int64_t unit) const {
    std::vector<Phase> phases;
    std::vector<bool> fresh;  // By root: whether the phase writes it.
    const auto root = [&](int id) {
      int64_t offset;
      return program_.Root(id, &offset);
    };
    const auto begin = [&](Division division) {
      phases.push_back({division, {}, {}});
      fresh.assign(program_.symbols.size(), false);
    };
    for (int i : nodes) {
      if (IsSum(node(i))) continue;
      const bool aligned = IsAligned(node(i), unit);
      const Division division = aligned ? Division::kColumns : Division::kWhole;
      bool wait = phases.empty() || phases.back().division != division;
      if (!wait && aligned) {
        for (int id : ReadsAcross(node(i))) wait = wait || fresh[root(id)];
      }
      if (wait) begin(division);
      phases.back().nodes.push_back(i);
      for (int id : node(i).outputs) fresh[root(id)] = true;
    }
    for (int i : nodes) {
      if (IsSum(node(i))) Append(Division::kSums, i, &phases);
    }
    return phases;
  }

  const CompiledProgram& program_;
  const int64_t grain_;
};

}  // namespace

StagePlans PlanPhases(const CompiledProgram& program, int64_t column_grain) {
  return Planner(program, column_grain).Run();
}

}  // namespace cavs
