#include "cc/ir/passes/remove_unused.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/ir/overlaps.h"

namespace cavs {
namespace {

// Readers follow writers, so one walk from the end is enough.
void RemoveNodes(Program* program) {
  const Overlaps overlaps(*program);
  std::vector<bool> is_read(program->symbols.size(), false);
  for (int id : program->results) is_read[id] = true;
  std::vector<Node> kept;
  for (size_t i = program->nodes.size(); i-- > 0;) {
    Node& node = program->nodes[i];
    // Nodes that move rows check them, and kernels of the framework may have
    // side effects.
    const bool stays =
        MovesRows(node.kind) || (node.kind == NodeKind::kForeign && !node.pure);
    if (!stays && !overlaps.AnyMarked(is_read, node.outputs)) continue;
    for (int id : node.inputs) is_read[id] = true;
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  program->nodes = std::move(kept);
}

struct Range {
  int64_t begin = 0, end = 0;
  std::vector<int> symbols;  // The symbols that lie within it.
};

class Divider {
 public:
  explicit Divider(Program* program)
      : program_(*program), accessed_(program->symbols.size(), false) {
    for (const Node& node : program_.nodes) {
      for (int id : node.inputs) accessed_[id] = true;
      for (int id : node.outputs) accessed_[id] = true;
    }
    for (int id : program_.results) accessed_[id] = true;
  }

  void Run() {
    std::vector<std::vector<int>> views(
        program_.symbols.size());  // Indexed by root.
    int64_t offset;
    for (size_t id = 0; id < views.size(); ++id) {
      if (program_.symbols[id].parent < 0) continue;
      views[program_.Root(static_cast<int>(id), &offset)].push_back(
          static_cast<int>(id));
    }
    for (size_t root = 0; root < views.size(); ++root) {
      if (views[root].empty() || accessed_[root] || !IsComputed(root)) continue;
      Divide(static_cast<int>(root), views[root]);
    }
  }

 private:
  bool IsComputed(size_t id) const {
    const Symbol& s = program_.symbols[id];
    return s.kind == SymbolKind::kRows && s.source == SymbolSource::kNode;
  }

  int64_t OffsetOf(int id) const {
    int64_t offset;
    program_.Root(id, &offset);
    return offset;
  }

  // The accessed ranges of a root with these views. Views that overlap form one
  // range.
  std::vector<Range> Ranges(const std::vector<int>& views) const {
    std::vector<Range> sorted;
    for (int id : views) {
      const int64_t begin = OffsetOf(id);
      if (!accessed_[id]) continue;
      sorted.push_back({begin, begin + program_.symbols[id].columns(), {id}});
    }
    std::stable_sort(
        sorted.begin(), sorted.end(),
        [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> ranges;
    for (const Range& range : sorted) {
      if (range.begin == range.end) return {};
      if (ranges.empty() || range.begin >= ranges.back().end) {
        ranges.push_back(range);
        continue;
      }
      ranges.back().end = std::max(ranges.back().end, range.end);
      ranges.back().symbols.push_back(range.symbols[0]);
    }
    return ranges;
  }

  void Divide(int root, const std::vector<int>& views) {
    for (const Range& range : Ranges(views)) {
      const bool is_all =
          range.end - range.begin == program_.symbols[root].columns();
      if (is_all && range.symbols.size() > 1) continue;
      std::vector<int64_t> offsets;
      for (int id : range.symbols) {
        offsets.push_back(OffsetOf(id) - range.begin);
      }
      const int whole = WholeOf(range, root);
      for (size_t i = 0; i < range.symbols.size(); ++i) {
        Symbol& view = program_.symbols[range.symbols[i]];
        const bool is_whole = range.symbols[i] == whole;
        view.parent = is_whole ? -1 : whole;
        view.offset = is_whole ? 0 : offsets[i];
      }
    }
  }

  // The symbol that holds all of a range: a new one if there is none.
  int WholeOf(const Range& range, int root) {
    for (int id : range.symbols) {
      if (program_.symbols[id].columns() == range.end - range.begin) return id;
    }
    Symbol whole = program_.symbols[root];
    whole.shape = {range.end - range.begin};
    program_.symbols.push_back(std::move(whole));
    return static_cast<int>(program_.symbols.size()) - 1;
  }

  Program& program_;
  std::vector<bool> accessed_;  // By symbol: whether a node reads or writes it.
};

// Calls fn(&id) for every symbol that a node or one of its members names.
template <typename Fn>
void ForSymbols(Node* node, const Fn& fn) {
  for (std::vector<int>* ids :
       {&node->inputs, &node->outputs, &node->operands}) {
    for (int& id : *ids) fn(&id);
  }
  for (Node& member : node->members) ForSymbols(&member, fn);
}

// The same for the nodes and the results of a program.
template <typename Fn>
void ForSymbols(Program* program, const Fn& fn) {
  for (Node& node : program->nodes) ForSymbols(&node, fn);
  for (int& id : program->results) fn(&id);
}

}  // namespace

void RemoveUnused(Program* program) {
  RemoveNodes(program);
  Divider(program).Run();
}

void RemoveUnusedSymbols(Program* program) {
  std::vector<Symbol>& symbols = program->symbols;
  std::vector<bool> used(symbols.size(), false);
  ForSymbols(program, [&](const int* id) {
    for (int at = *id; at >= 0; at = symbols[at].parent) used[at] = true;
  });
  std::vector<int> number(symbols.size(), -1);
  std::vector<Symbol> kept;
  for (size_t id = 0; id < symbols.size(); ++id) {
    if (!used[id]) continue;
    number[id] = static_cast<int>(kept.size());
    kept.push_back(std::move(symbols[id]));
  }
  for (Symbol& symbol : kept) {
    if (symbol.parent >= 0) symbol.parent = number[symbol.parent];
  }
  symbols = std::move(kept);
  ForSymbols(program, [&](int* id) { *id = number[*id]; });
}

}  // namespace cavs
