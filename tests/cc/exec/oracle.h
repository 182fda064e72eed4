// Evaluates programs one vertex at a time: slow, and easy to believe.
#ifndef CAVS_TESTS_CC_EXEC_ORACLE_H_
#define CAVS_TESTS_CC_EXEC_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
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
  // The children that there are: edges in their order lead to them.
  std::vector<int> Present(int v) const {
    std::vector<int> present;
    for (int child : children[v]) {
      if (child >= 0) present.push_back(child);
    }
    return present;
  }
  int num_edges() const {
    int count = 0;
    for (int v = 0; v < size(); ++v) {
      count += static_cast<int>(Present(v).size());
    }
    return count;
  }
};

// Evaluates, vertex by vertex, every node of the program of the vertex's type
// in order, whatever its stage. Children come first, in a derivative last. Each
// vertex adds its term to sums over rows. A node of edges is evaluated for one
// edge after the other.
class Oracle {
 public:
  using Programs = std::vector<Program>;

  // `inputs` and the results are rows by vertex. For a derivative, `forward`
  // has finished, and its Program::results are the saved symbols. The results
  // `edge_outputs`, and the inputs that edges pull, have a row for each edge.
  Oracle(const Programs& programs, const Graph& graph, int64_t state_columns,
         std::vector<Numbers> inputs, std::vector<int64_t> output_columns,
         std::vector<std::vector<Numbers>> captures, const Oracle* forward,
         const std::set<int>& edge_outputs = {})
      : programs_(programs),
        graph_(graph),
        inputs_(std::move(inputs)),
        captures_(std::move(captures)),
        forward_(forward),
        state_(graph.size(), Numbers(state_columns)),
        edges_(graph.size()),
        rows_(graph.size()),
        whole_(programs.size()) {
    for (int v = 0; v < graph.size(); ++v) {
      for (int child : graph.Present(v)) {
        edges_[v].push_back({v, static_cast<int>(rows_.size()), child});
        rows_.emplace_back();
      }
    }
    for (size_t i = 0; i < output_columns.size(); ++i) {
      const bool of_edges = edge_outputs.count(static_cast<int>(i)) > 0;
      outputs.emplace_back(output_columns[i] *
                           (of_edges ? graph.num_edges() : graph.size()));
    }
    for (int type = 0; type < static_cast<int>(programs.size()); ++type) {
      RunRowFree(type, SymbolKind::kInvariant);
    }
    for (int i = 0; i < graph.size(); ++i) {
      const int v = forward == nullptr ? i : graph.size() - 1 - i;
      for (const Node& node : ProgramOf(v).nodes) {
        if (!HasRows(ProgramOf(v), node)) continue;
        for (const Place& at : PlacesOf(v, node)) Run(at, node);
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
  // What a node is evaluated for: a vertex, or an edge of it to `child`.
  struct Place {
    int vertex;
    int row;  // In rows_: those of vertices, and those of edges behind them.
    int child = -1;
  };

  const Program& ProgramOf(int v) const { return programs_[graph_.type_of(v)]; }

  std::vector<Place> PlacesOf(int v, const Node& node) const {
    if (node.kind == NodeKind::kSpread) return edges_[v];
    if (ReducesEdges(node.kind)) return {{v, v}};
    std::vector<int> ids = node.inputs;
    ids.insert(ids.end(), node.outputs.begin(), node.outputs.end());
    for (int id : ids) {
      if (ProgramOf(v).symbols[id].space == RowSpace::kEdges) return edges_[v];
    }
    return {{v, v}};
  }

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

  // The value of a symbol at a vertex or edge.
  Numbers Get(const Place& at, int id) const {
    const Program& program = ProgramOf(at.vertex);
    const Symbol& symbol = program.symbols[id];
    if (symbol.kind == SymbolKind::kInvariant) {
      return Whole(graph_.type_of(at.vertex), id);
    }
    int64_t offset;
    const int root = program.Root(id, &offset);
    const Symbol& from = program.symbols[root];
    const Numbers all =
        from.source == SymbolSource::kSaved
            ? forward_->Get(at,
                            forward_->ProgramOf(at.vertex).results[from.index])
            : rows_[at.row].at(root);
    if (symbol.kind == SymbolKind::kOpaque) return all;
    return {all.begin() + offset, all.begin() + offset + symbol.columns()};
  }

  void Set(const Place& at, int id, const Numbers& value) {
    const Program& program = ProgramOf(at.vertex);
    int64_t offset;
    const int root = program.Root(id, &offset);
    if (program.symbols[id].kind == SymbolKind::kReduced) {
      Numbers& sum = whole_[graph_.type_of(at.vertex)][root];
      sum.resize(value.size());
      for (size_t j = 0; j < value.size(); ++j) sum[j] += value[j];
      return;
    }
    Numbers& all = rows_[at.row][root];
    all.resize(std::max<size_t>(program.symbols[root].columns(),
                                offset + value.size()));
    std::copy(value.begin(), value.end(), all.begin() + offset);
  }

  void Run(const Place& at_place, const Node& node) {
    if (MovesRows(node.kind)) return RunPassing(at_place, node);
    if (ReducesEdges(node.kind)) return ReduceEdges(at_place, node);
    // What is spread is read at the vertex.
    const Place from = node.kind == NodeKind::kSpread
                           ? Place{at_place.vertex, at_place.vertex}
                           : at_place;
    std::vector<Numbers> in;
    for (int id : node.inputs) in.push_back(Get(from, id));
    const Symbol& out = ProgramOf(from.vertex).symbols[node.outputs[0]];
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
      } else if (node.kind != NodeKind::kZero) {  // kSumRows, kCopy, kSpread
        result[j] = in[0][j];
      }
    }
    if (node.kind == NodeKind::kForeign) {
      result = static_cast<const DrawnOp&>(*node.foreign).Row(in);
    }
    Set(at_place, node.outputs[0], result);
  }

  void ReduceEdges(const Place& at, const Node& node) {
    Numbers result(ProgramOf(at.vertex).symbols[node.outputs[0]].columns());
    bool is_first = true;
    for (const Place& edge : edges_[at.vertex]) {
      const Numbers x = Get(edge, node.inputs[0]);
      for (size_t j = 0; j < result.size(); ++j) {
        result[j] = is_first ? x[j]
                    : node.kind == NodeKind::kSumEdges
                        ? result[j] + x[j]
                        : std::max(result[j], x[j]);
      }
      is_first = false;
    }
    Set(at, node.outputs[0], result);
  }

  static Numbers RowOf(const Numbers& all, int row, size_t columns) {
    return {all.begin() + row * columns, all.begin() + (row + 1) * columns};
  }

  void RunPassing(const Place& at, const Node& node) {
    const int v = at.vertex;
    const int id = node.outputs.empty() ? node.inputs[0] : node.outputs[0];
    const size_t columns = ProgramOf(v).symbols[id].columns();
    const bool is_edge = at.row >= graph_.size();
    const int child =
        is_edge ? at.child : graph_.child(v, std::max(node.index, 0));
    const int row = is_edge ? at.row - graph_.size() : v;  // Of inputs.
    switch (node.kind) {
      case NodeKind::kGather:
        return Set(at, id, child < 0 ? Numbers(columns) : state_[child]);
      case NodeKind::kScatter:
        state_[v] = Get(at, id);
        return;
      case NodeKind::kScatterGrad:
        return Set(at, id, state_[v]);
      case NodeKind::kGatherGrad: {
        const Numbers grad = Get(at, id);
        for (size_t j = 0; j < columns && child >= 0; ++j) {
          state_[child][j] += grad[j];
        }
        return;
      }
      case NodeKind::kPull:
      case NodeKind::kPushGrad:
        return Set(at, id, RowOf(inputs_[node.index], row, columns));
      case NodeKind::kVertexIds:
        return Set(at, id, {static_cast<double>(v)});
      default: {  // kPush, kPullGrad
        const Numbers value = Get(at, id);
        std::copy(value.begin(), value.end(),
                  outputs[node.index].begin() + row * columns);
      }
    }
  }

  const Programs& programs_;
  const Graph& graph_;
  const std::vector<Numbers> inputs_;
  const std::vector<std::vector<Numbers>> captures_;  // By type.
  const Oracle* const forward_;
  std::vector<Numbers> state_;  // By vertex; of a derivative, the gradients.
  std::vector<std::vector<Place>> edges_;      // By vertex.
  std::vector<std::map<int, Numbers>> rows_;   // By Place::row, by root symbol.
  std::vector<std::map<int, Numbers>> whole_;  // By type, by symbol.
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_ORACLE_H_
