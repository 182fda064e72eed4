#include "cc/ir/passes/merge_matmuls.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/ir/uses.h"

namespace cavs {
namespace {

class Merger {
 public:
  Merger(const Capabilities& capabilities, Program* program)
      : grain_(capabilities.column_grain),
        program_(*program),
        uses_(*program),
        removed_(program->nodes.size(), false) {}

  void Run() {
    const int count = static_cast<int>(program_.nodes.size());
    for (int i = 0; i < count; ++i) {
      AddProducts(i);
      AddSums(i);
    }
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

  void SetOutput(int i, int id) {
    uses_.Forget(i);
    node(i).outputs = {id};
    uses_.Add(i);
  }

  void Remove(int i) {
    uses_.Forget(i);
    removed_[i] = true;
  }

  // Whether `id` has memory of its own, which only node `reader` reads.
  bool IsReadOnlyBy(int id, int reader) {
    const Symbol& s = symbol(id);
    if (s.parent >= 0 || s.source != SymbolSource::kNode ||
        uses_.overlaps().of(id).size() != 1) {
      return false;
    }
    return !uses_.IsResult(id) &&
           uses_.ReadersOfAny(id) == std::vector<int>{reader};
  }

  // Whether node `i` adds two operands of the same number of columns.
  bool IsSumOfRows(int i) {
    const Node& n = node(i);
    if (n.kind != NodeKind::kElementwise ||
        n.elementwise != Elementwise::kAdd || n.inputs[0] == n.inputs[1]) {
      return false;
    }
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](int id) {
      return symbol(id).kind == SymbolKind::kRows &&
             symbol(id).columns() == symbol(n.outputs[0]).columns();
    });
  }

  // out = a + x U: the nodes that compute a write it to out, and the product
  // adds to it.
  void AddProducts(int i) {
    if (removed_[i] || !IsSumOfRows(i)) return;
    const int out = node(i).outputs[0];
    if (uses_.WritersOfAny(out) != std::vector<int>{i}) return;
    const int x = node(i).inputs[0], y = node(i).inputs[1];
    if (!AddProduct(i, x, y)) AddProduct(i, y, x);
  }

  bool AddProduct(int i, int a, int product) {
    if (!IsReadOnlyBy(a, i) || !IsReadOnlyBy(product, i)) return false;
    const std::vector<int> of_product = uses_.WritersOfAny(product);
    const std::vector<int> of_a = uses_.WritersOfAny(a);
    if (of_product.size() != 1 || of_a.empty()) return false;
    const int multiply = of_product[0];
    if (node(multiply).kind != NodeKind::kMatMul ||
        node(multiply).stage != node(i).stage) {
      return false;
    }
    for (int writer : of_a) {
      const NodeKind kind = node(writer).kind;
      if (kind != NodeKind::kMatMul && kind != NodeKind::kElementwise) {
        return false;
      }
    }
    const int out = node(i).outputs[0];
    for (int writer : of_a) SetOutput(writer, out);
    Remove(multiply);
    Node adding = node(multiply);
    adding.outputs = {out};
    adding.accumulate = true;
    uses_.Forget(i);
    node(i) = std::move(adding);
    uses_.Add(i);
    return true;
  }

  // Whether `id` is all of a sum that only node `reader` reads, in any shape.
  bool IsSumReadOnlyBy(int id, int reader) {
    int64_t offset;
    const int root = program_.Root(id, &offset);
    if (symbol(root).source != SymbolSource::kNode) return false;
    for (int other : uses_.overlaps().of(root)) {
      if (symbol(other).columns() != symbol(root).columns() ||
          uses_.IsResult(other)) {
        return false;
      }
    }
    return uses_.ReadersOfAny(id) == std::vector<int>{reader};
  }

  // Whether both sums may be formed in one place. The tiles of a sum are
  // divided among workers once, by its size, and with two streams critical sums
  // may run beside others.
  bool AreAlike(const Node& a, const Node& b) {
    return a.kind == b.kind &&
           symbol(a.inputs[0]).columns() == symbol(b.inputs[0]).columns() &&
           symbol(a.inputs.back()).columns() ==
               symbol(b.inputs.back()).columns() &&
           (a.stage == Stage::kCritical) == (b.stage == Stage::kCritical);
  }

  // The same for sums over rows, which add to their output anyway. Only sums of
  // one kind are joined, since the kinds have different tiles.
  void AddSums(int i) {
    const Node& n = node(i);
    if (removed_[i] || !n.adds || n.outputs.size() != 1) return;
    const int out = n.outputs[0];
    if (symbol(out).kind != SymbolKind::kReduced || symbol(out).parent >= 0 ||
        uses_.WritersOfAny(out) != std::vector<int>{i}) {
      return;
    }
    std::vector<int> writers;
    for (int id : n.inputs) {
      if (symbol(id).shape != symbol(out).shape || !IsSumReadOnlyBy(id, i) ||
          std::count(n.inputs.begin(), n.inputs.end(), id) != 1) {
        return;
      }
      for (int writer : uses_.WritersOfAny(id)) {
        const NodeKind kind = node(writer).kind;
        if ((kind != NodeKind::kWeightGrad && kind != NodeKind::kSumRows) ||
            std::count(writers.begin(), writers.end(), writer) > 0 ||
            (!writers.empty() && !AreAlike(node(writers[0]), node(writer)))) {
          return;
        }
        writers.push_back(writer);
      }
    }
    for (int writer : writers) SetOutput(writer, out);
    Remove(i);
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
    const int whole = node(first).accumulate ? AdjacentOutput(joined)
                                             : MoveSideBySide(joined);
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
  int MoveSideBySide(const std::vector<int>& joined) {
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
  Merger(capabilities, program).Run();
}

}  // namespace cavs
