#include "cc/ir/passes/merge_sums.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cc/ir/uses.h"

namespace cavs {
namespace {

// Lets nodes write the terms of a sum to the memory of the sum.
class Merger {
 public:
  explicit Merger(Program* program)
      : program_(*program),
        uses_(*program),
        removed_(program->nodes.size(), false) {}

  void MergeSumsOverRows() {
    for (size_t i = 0; i < removed_.size(); ++i) AddSums(static_cast<int>(i));
    RemoveNodes();
  }

  void MergeSumsOfProducts() {
    for (size_t i = 0; i < removed_.size(); ++i) {
      AddProducts(static_cast<int>(i));
    }
    RemoveNodes();
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }
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

  void RemoveNodes() {
    std::vector<Node> left;
    for (size_t i = 0; i < removed_.size(); ++i) {
      if (!removed_[i]) left.push_back(std::move(program_.nodes[i]));
    }
    program_.nodes = std::move(left);
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

  // Whether both sums may be formed in one symbol. The tiles of a sum are
  // divided among workers once, by its size, and with two streams critical sums
  // may run beside others.
  bool AreAlike(const Node& a, const Node& b) {
    return a.kind == b.kind &&
           symbol(a.inputs[0]).columns() == symbol(b.inputs[0]).columns() &&
           symbol(a.inputs.back()).columns() ==
               symbol(b.inputs.back()).columns() &&
           (a.stage == Stage::kCritical) == (b.stage == Stage::kCritical);
  }

  // Only sums of one kind are joined, since the kinds have different tiles.
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

  Program& program_;
  Uses uses_;
  std::vector<bool> removed_;
};

// Adds operands that are multiplied by the same factor before the product.
class Factorer {
 public:
  explicit Factorer(Program* program)
      : program_(*program),
        uses_(*program),
        is_added_(program->nodes.size(), false),
        addends_(program->nodes.size()) {}

  void Run() {
    for (size_t i = 0; i < is_added_.size(); ++i) {
      if (!is_added_[i]) FindEqual(static_cast<int>(i));
    }
    std::vector<Node> nodes;
    for (size_t i = 0; i < is_added_.size(); ++i) {
      if (is_added_[i]) continue;
      Node node = std::move(program_.nodes[i]);
      for (int addend : addends_[i]) AddUp(addend, &node, &nodes);
      nodes.push_back(std::move(node));
    }
    program_.nodes = std::move(nodes);
  }

 private:
  const Node& node(int i) const { return program_.nodes[i]; }

  // The number of the operand that differs between terms of a sum.
  static int Varying(const Node& node) {
    return node.kind == NodeKind::kWeightGrad ? 1 : 0;
  }

  bool IsTerm(const Node& node) const {
    return SumsRows(node.kind) ||
           (node.kind == NodeKind::kMatMul && node.inputs.size() == 2);
  }

  bool HaveOneFactor(const Node& a, const Node& b) const {
    const size_t fixed = 1 - Varying(a);
    return a.kind == b.kind && a.stage == b.stage &&
           SpaceOf(program_, a) == SpaceOf(program_, b) &&
           a.transpose == b.transpose && a.inputs.size() == b.inputs.size() &&
           (fixed >= a.inputs.size() || a.inputs[fixed] == b.inputs[fixed]);
  }

  // Whether the term of node `i` may be computed by node `j`. If node `i`
  // overwrites the sum, no other node may write to it in between.
  bool MayMove(int i, int j) const {
    if (SumsRows(node(i).kind) || node(i).accumulate) return true;
    const std::vector<int> writers = uses_.WritersOfAny(node(i).outputs[0]);
    const auto at = std::find(writers.begin(), writers.end(), i);
    return at + 1 != writers.end() && *(at + 1) == j;
  }

  // Adds the terms of node `i` to the terms of the next node with the same
  // factor.
  void FindEqual(int i) {
    if (!IsTerm(node(i))) return;
    for (int j : uses_.writers(node(i).outputs[0])) {
      if (j <= i || !HaveOneFactor(node(i), node(j)) || !MayMove(i, j)) {
        continue;
      }
      addends_[j] = std::move(addends_[i]);
      addends_[j].push_back(i);
      is_added_[i] = true;
      program_.nodes[j].accumulate = node(i).accumulate;
      return;
    }
  }

  // The varying operand of `node` becomes its sum with that of the addend. The
  // sum is formed in the first stage in which a node reads it.
  void AddUp(int addend, Node* node, std::vector<Node>* nodes) {
    const int varying = Varying(*node);
    int& operand = node->inputs[varying];
    const int other = program_.nodes[addend].inputs[varying];
    const auto [known, is_new] =
        sums_.emplace(std::minmax(operand, other), nodes->size());
    if (is_new) nodes->push_back(Sum(*node, operand, other));
    Node& add = (*nodes)[known->second];
    add.stage = std::min(add.stage, node->stage);
    operand = add.outputs[0];
  }

  Node Sum(const Node& reader, int a, int b) {
    Symbol sum = program_.symbols[a];
    sum.source = SymbolSource::kNode;
    sum.parent = -1;
    sum.offset = 0;
    program_.symbols.push_back(std::move(sum));
    Node add;
    add.kind = NodeKind::kElementwise;
    add.elementwise = Elementwise::kAdd;
    add.name = reader.name;
    add.op = reader.op;
    add.stage = reader.stage;
    add.inputs = {a, b};
    add.outputs = {static_cast<int>(program_.symbols.size()) - 1};
    return add;
  }

  Program& program_;
  const Uses uses_;
  // By node: whether another node has its term, and the nodes whose terms it
  // has.
  std::vector<bool> is_added_;
  std::vector<std::vector<int>> addends_;
  // The nodes that add, by operands.
  std::map<std::pair<int, int>, size_t> sums_;
};

}  // namespace

void MergeSumsOverRows(Program* program) {
  Merger(program).MergeSumsOverRows();
}

void MergeSumsOfProducts(Program* program) {
  Merger(program).MergeSumsOfProducts();
}

void FactorSums(Program* program) { Factorer(program).Run(); }

}  // namespace cavs
