// Evaluates programs one vertex at a time: slow, and easy to believe.
#ifndef CAVS_TESTS_CC_EXEC_ORACLE_H_
#define CAVS_TESTS_CC_EXEC_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

#include "cc/ir/program.h"
#include "tests/cc/exec/drawn_op.h"

namespace cavs {

// All graphs of a minibatch as one graph, in which children precede their
// parents.
struct Graph {
  std::vector<std::vector<int>> children;  // By slot; -1: no child.
  std::vector<int> type;         // By vertex; empty: all are of type 0.
  std::vector<int> graph_sizes;  // Empty: there is one graph.

  int size() const { return static_cast<int>(children.size()); }
  int type_of(int v) const { return type.empty() ? 0 : type[v]; }
  int child(int v, int slot) const {
    const std::vector<int>& list = children[v];
    return slot < static_cast<int>(list.size()) ? list[slot] : -1;
  }
};

// Evaluates, vertex by vertex, every node of the program of the vertex's type
// in order, whatever its stage. Children come first, in a derivative last. Each
// vertex adds its term to sums over rows.
class Oracle {
 public:
  using Programs = std::vector<Program>;

  // `inputs` and the results are rows by vertex. For a derivative, `forward`
  // has finished, and its Program::results are the saved symbols.
  Oracle(const Programs& programs, const Graph& graph, int64_t state_columns,
         std::vector<Numbers> inputs, std::vector<int64_t> output_columns,
         std::vector<std::vector<Numbers>> captures, const Oracle* forward)
      : programs_(programs),
        graph_(graph),
        inputs_(std::move(inputs)),
        captures_(std::move(captures)),
        forward_(forward),
        state_(graph.size(), Numbers(state_columns)),
        rows_(graph.size()),
        whole_(programs.size()) {
    for (int64_t columns : output_columns) {
      outputs.emplace_back(columns * graph.size());
    }
    for (int type = 0; type < static_cast<int>(programs.size()); ++type) {
      RunRowFree(type, SymbolKind::kInvariant);
    }
    for (int i = 0; i < graph.size(); ++i) {
      const int v = forward == nullptr ? i : graph.size() - 1 - i;
      for (const Node& node : ProgramOf(v).nodes) {
        if (HasRows(ProgramOf(v), node)) Run(v, node);
      }
    }
    for (int type = 0; type < static_cast<int>(programs.size()); ++type) {
      RunRowFree(type, SymbolKind::kReduced);
    }
  }

  std::vector<Numbers> outputs;  // Pushes; of a derivative, gradients of pulls.

  // The value of Program::results[i] of a type; it has no rows.
  Numbers Result(int type, int i) const {
    return Whole(type, programs_[type].results[i]);
  }

 private:
  const Program& ProgramOf(int v) const { return programs_[graph_.type_of(v)]; }

  static bool HasRows(const Program& program, const Node& node) {
    if (MovesRows(node.kind) || node.kind == NodeKind::kZero) {
      return true;
    }
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](int id) {
      const SymbolKind kind = program.symbols[id].kind;
      return kind == SymbolKind::kRows || kind == SymbolKind::kOpaque;
    });
  }

  // Runs the nodes whose result is of `kind` and whose operands have no rows.
  void RunRowFree(int type, SymbolKind kind) {
    const Program& program = programs_[type];
    for (const Node& node : program.nodes) {
      if (HasRows(program, node) ||
          program.symbols[node.outputs[0]].kind != kind) {
        continue;
      }
      std::vector<Numbers> operands;
      for (int id : node.inputs) operands.push_back(Whole(type, id));
      whole_[type][node.outputs[0]] =
          static_cast<const DrawnOp&>(*node.foreign).Row(operands);
    }
  }

  // The value of a symbol without rows. A sum over no rows is zero.
  Numbers Whole(int type, int id) const {
    const Program& program = programs_[type];
    int64_t offset;
    id = program.Root(id, &offset);
    const Symbol& symbol = program.symbols[id];
    if (symbol.source == SymbolSource::kCapture) {
      return captures_[type][symbol.index];
    }
    if (symbol.source == SymbolSource::kSaved) {
      return forward_->Result(type, symbol.index);
    }
    const auto found = whole_[type].find(id);
    return found == whole_[type].end() ? Numbers(symbol.columns())
                                       : found->second;
  }

  // The value of a symbol at a vertex.
  Numbers Get(int v, int id) const {
    const Program& program = ProgramOf(v);
    const Symbol& symbol = program.symbols[id];
    if (symbol.kind == SymbolKind::kInvariant) {
      return Whole(graph_.type_of(v), id);
    }
    int64_t offset;
    const int root = program.Root(id, &offset);
    const Symbol& from = program.symbols[root];
    const Numbers all =
        from.source == SymbolSource::kSaved
            ? forward_->Get(v, forward_->ProgramOf(v).results[from.index])
            : rows_[v].at(root);
    if (symbol.kind == SymbolKind::kOpaque) return all;
    return {all.begin() + offset, all.begin() + offset + symbol.columns()};
  }

  void Set(int v, int id, const Numbers& value) {
    const Program& program = ProgramOf(v);
    int64_t offset;
    const int root = program.Root(id, &offset);
    if (program.symbols[id].kind == SymbolKind::kReduced) {
      Numbers& sum = whole_[graph_.type_of(v)][root];
      sum.resize(value.size());
      for (size_t j = 0; j < value.size(); ++j) sum[j] += value[j];
      return;
    }
    Numbers& all = rows_[v][root];
    all.resize(std::max<size_t>(program.symbols[root].columns(),
                                offset + value.size()));
    std::copy(value.begin(), value.end(), all.begin() + offset);
  }

  void Run(int v, const Node& node) {
    if (MovesRows(node.kind)) return RunPassing(v, node);
    std::vector<Numbers> in;
    for (int id : node.inputs) in.push_back(Get(v, id));
    const Symbol& out = ProgramOf(v).symbols[node.outputs[0]];
    Numbers result(out.columns());
    const auto at = [](const Numbers& x, size_t j) {
      return x.size() == 1 ? x[0] : x[j];
    };
    for (size_t j = 0; j < result.size(); ++j) {
      if (node.kind == NodeKind::kMatMul) {
        for (size_t k = 0; k < in[0].size(); ++k) {
          result[j] += in[0][k] * in[1][node.transpose ? j * in[0].size() + k
                                                       : k * result.size() + j];
        }
      } else if (node.kind == NodeKind::kWeightGrad) {
        result[j] = in[0][j / in[1].size()] * in[1][j % in[1].size()];
      } else if (node.kind == NodeKind::kElementwise) {
        result[j] = Evaluate(node.elementwise, at(in[0], j),
                             in.size() > 1 ? at(in[1], j) : 0);
      } else if (node.kind == NodeKind::kSumColumns) {
        for (double x : in[0]) result[j] += x;
      } else if (node.kind != NodeKind::kZero) {  // kSumRows, kCopy
        result[j] = in[0][j];
      }
    }
    if (node.kind == NodeKind::kForeign) {
      result = static_cast<const DrawnOp&>(*node.foreign).Row(in);
    }
    Set(v, node.outputs[0], result);
  }

  static Numbers RowOf(const Numbers& all, int v, size_t columns) {
    return {all.begin() + v * columns, all.begin() + (v + 1) * columns};
  }

  void RunPassing(int v, const Node& node) {
    const int id = node.outputs.empty() ? node.inputs[0] : node.outputs[0];
    const size_t columns = ProgramOf(v).symbols[id].columns();
    const int child = graph_.child(v, std::max(node.index, 0));
    switch (node.kind) {
      case NodeKind::kGather:
        return Set(v, id, child < 0 ? Numbers(columns) : state_[child]);
      case NodeKind::kScatter:
        state_[v] = Get(v, id);
        return;
      case NodeKind::kScatterGrad:
        return Set(v, id, state_[v]);
      case NodeKind::kGatherGrad: {
        const Numbers grad = Get(v, id);
        for (size_t j = 0; j < columns && child >= 0; ++j) {
          state_[child][j] += grad[j];
        }
        return;
      }
      case NodeKind::kPull:
      case NodeKind::kPushGrad:
        return Set(v, id, RowOf(inputs_[node.index], v, columns));
      case NodeKind::kVertexIds:
        return Set(v, id, {static_cast<double>(v)});
      default: {  // kPush, kPullGrad
        const Numbers row = Get(v, id);
        std::copy(row.begin(), row.end(),
                  outputs[node.index].begin() + v * columns);
      }
    }
  }

  const Programs& programs_;
  const Graph& graph_;
  const std::vector<Numbers> inputs_;
  const std::vector<std::vector<Numbers>> captures_;  // By type.
  const Oracle* const forward_;
  std::vector<Numbers> state_;  // By vertex; of a derivative, the gradients.
  std::vector<std::map<int, Numbers>> rows_;   // By vertex, by root symbol.
  std::vector<std::map<int, Numbers>> whole_;  // By type, by symbol.
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_ORACLE_H_
