#include "cc/ir/passes/merge_matmuls.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/ir/uses.h"

namespace cavs {
namespace {

class Joiner {
 public:
  Joiner(const Capabilities& capabilities, Program* program)
      : grain_(capabilities.column_grain),
        program_(*program),
        uses_(*program),
        removed_(program->nodes.size(), false) {}

  void Run() {
    const int count = static_cast<int>(program_.nodes.size());
    for (int i = 0; i < count; ++i) {
      if (!removed_[i]) JoinProducts(i);
    }
    std::vector<Node> left;
    for (int i = 0; i < count; ++i) {
      if (!removed_[i]) left.push_back(std::move(program_.nodes[i]));
    }
    program_.nodes = std::move(left);
  }

 private:
  Symbol& symbol(int id) { return program_.symbols[id]; }
  Node& node(int i) { return program_.nodes[i]; }

  void Remove(int i) {
    uses_.Forget(i);
    removed_[i] = true;
  }

  bool SameOperand(const Node& a, const Node& b) {
    return b.kind == NodeKind::kMatMul && a.inputs[0] == b.inputs[0] &&
           a.stage == b.stage && a.transpose == b.transpose &&
           a.accumulate == b.accumulate &&
           symbol(a.outputs[0]).dtype == symbol(b.outputs[0]).dtype;
  }

  // Whether all other nodes that write to the output of node `i` belong to
  // earlier stages.
  bool IsLastStageToWrite(int i) {
    for (int writer : uses_.WritersOfAny(node(i).outputs[0])) {
      if (writer != i && node(writer).stage >= node(i).stage) return false;
    }
    return true;
  }

  // Makes one product of node `first` and all later ones that share its
  // operand.
  void JoinProducts(int first) {
    if (node(first).kind != NodeKind::kMatMul) return;
    std::vector<int> joined = {first};
    for (int i : uses_.readers(node(first).inputs[0])) {
      if (i > first && SameOperand(node(first), node(i)) &&
          Width(joined.back()) % grain_ == 0) {
        joined.push_back(i);
      }
    }
    if (joined.size() == 1) return;
    const int whole =
        node(first).accumulate ? AdjacentOutput(joined) : MakeAdjacent(joined);
    if (whole < 0) return;
    uses_.Forget(first);
    for (size_t j = 1; j < joined.size(); ++j) {
      node(first).merged.push_back(node(joined[j]).name);
      const std::vector<int>& from = node(joined[j]).inputs;
      std::vector<int>& to = node(first).inputs;
      to.insert(to.end(), from.begin() + 1, from.end());
      Remove(joined[j]);
    }
    node(first).outputs = {whole};
    uses_.Add(first);
  }

  int64_t Width(int i) { return symbol(node(i).outputs[0]).columns(); }

  int NewSymbol(int64_t columns, int like) {
    Symbol whole = symbol(node(like).outputs[0]);
    whole.shape = {columns};
    whole.parent = -1;
    whole.offset = 0;
    program_.symbols.push_back(whole);
    const int id = static_cast<int>(program_.symbols.size()) - 1;
    uses_.Update(id);
    return id;
  }

  // Makes the outputs views of a new symbol, which it returns; -1 if an output
  // cannot move.
  int MakeAdjacent(const std::vector<int>& joined) {
    int64_t columns = 0;
    for (int i : joined) {
      const int out = node(i).outputs[0];
      const Symbol& s = symbol(out);
      if (s.parent >= 0 || s.source != SymbolSource::kNode ||
          s.kind != SymbolKind::kRows) {
        return -1;
      }
      for (int writer : uses_.WritersOfAny(out)) {
        // Nodes that add to the output run later.
        if (writer != i && !node(writer).accumulate) return -1;
      }
      columns += s.columns();
    }
    return MakeViews(joined, columns);
  }

  // Makes the outputs views of a new symbol.
  int MakeViews(const std::vector<int>& joined, int64_t columns) {
    const int whole = NewSymbol(columns, joined[0]);
    int64_t offset = 0;
    for (int i : joined) {
      Symbol& view = symbol(node(i).outputs[0]);
      view.parent = whole;
      view.offset = offset;
      offset += view.columns();
      uses_.Update(node(i).outputs[0]);
    }
    return whole;
  }

  // For products that add to their outputs: the symbol that contains the
  // outputs side by side; if they lie elsewhere, they are moved if possible. -1
  // if not.
  int AdjacentOutput(const std::vector<int>& joined) {
    int64_t columns = 0;
    bool apart = true;
    for (int i : joined) {
      const Symbol& s = symbol(node(i).outputs[0]);
      if (!IsLastStageToWrite(i)) return -1;
      apart = apart && s.parent < 0 && s.source == SymbolSource::kNode &&
              s.kind == SymbolKind::kRows;
      columns += s.columns();
    }
    if (apart) return MakeViews(joined, columns);
    const Symbol& first = symbol(node(joined[0]).outputs[0]);
    const int parent = first.parent;
    const int64_t begin = first.offset;
    int64_t offset = begin;
    if (parent < 0) return -1;
    for (int i : joined) {
      const Symbol& s = symbol(node(i).outputs[0]);
      if (s.parent != parent || s.offset != offset) return -1;
      offset += s.columns();
    }
    const int whole = NewSymbol(offset - begin, joined[0]);
    symbol(whole).parent = parent;
    symbol(whole).offset = begin;
    return whole;
  }

  // Weights that stand side by side begin at multiples of this number of
  // columns.
  const int64_t grain_;
  Program& program_;
  Uses uses_;
  std::vector<bool> removed_;
};

}  // namespace

void MergeMatMuls(const Capabilities& capabilities, Program* program) {
  Joiner(capabilities, program).Run();
}

}  // namespace cavs
