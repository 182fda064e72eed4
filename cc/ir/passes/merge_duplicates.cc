#include "cc/ir/passes/merge_duplicates.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cc/ir/uses.h"

namespace cavs {
namespace {

// A root, an offset in it, a pitch and a shape: equal for all views of the same
// elements.
using Value = std::tuple<int, int64_t, int64_t, std::vector<int64_t>>;

// An operator, the type and shape of its result, and its operands.
using Expression = std::tuple<NodeKind, Elementwise, bool, DType, RowSpace,
                              std::vector<int64_t>, std::vector<Value>>;

class Merger {
 public:
  explicit Merger(Program* program) : program_(*program), uses_(*program) {
    for (size_t id = 0; id < program_.symbols.size(); ++id) {
      const int parent = program_.symbols[id].parent;
      if (parent >= 0) views_[parent].push_back(static_cast<int>(id));
    }
  }

  void Run() {
    std::map<Expression, size_t> known;  // The nodes that compute them.
    std::vector<Node> kept;
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      Node& node = program_.nodes[i];
      if (IsCandidate(node, static_cast<int>(i))) {
        const auto [found, is_new] =
            known.emplace(ExpressionOf(node), kept.size());
        if (!is_new && MayReplace(node.outputs[0])) {
          Node& first = kept[found->second];
          first.stage = std::min(first.stage, node.stage);
          Replace(node.outputs[0], first.outputs[0]);
          continue;
        }
      }
      kept.push_back(std::move(node));
    }
    program_.nodes = std::move(kept);
    for (Node& node : program_.nodes) {
      for (int& id : node.inputs) id = ReplacementOf(id);
    }
    for (int& id : program_.results) id = ReplacementOf(id);
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  // The symbol that holds the value of `id`, perhaps a replacement of it.
  int ReplacementOf(int id) const {
    const auto replaced = replaced_by_.find(id);
    return replaced == replaced_by_.end() ? id : replaced->second;
  }

  Value ValueOf(int id) const {
    int64_t offset;
    const int root = program_.Root(ReplacementOf(id), &offset);
    return {root, offset, symbol(id).pitch, symbol(id).shape};
  }

  // Whether the only effect of the node is its result, which no other node
  // writes.
  bool IsCandidate(const Node& node, int number) const {
    switch (node.kind) {
      case NodeKind::kMatMul:
      case NodeKind::kElementwise:
      case NodeKind::kSumColumns:
      case NodeKind::kToMask:
      case NodeKind::kSpread:
      case NodeKind::kSumEdges:
      case NodeKind::kMaxEdges:
      case NodeKind::kZero:
        break;
      default:
        return false;
    }
    return !node.accumulate &&
           uses_.WritersOfAny(node.outputs[0]) == std::vector<int>{number};
  }

  Expression ExpressionOf(const Node& node) const {
    std::vector<Value> values;
    for (int id : node.inputs) values.push_back(ValueOf(id));
    if (node.kind == NodeKind::kElementwise && Commutes(node.elementwise)) {
      std::sort(values.begin(), values.end());
    }
    const Symbol& out = symbol(node.outputs[0]);
    return {node.kind, node.elementwise, node.transpose,   out.dtype,
            out.space, out.shape,        std::move(values)};
  }

  // A view must stay: without it, its root would not be written as a whole.
  // Gradients of captures must stay too, since each has a place of its own. On
  // the tape, two results may be one value.
  bool MayReplace(int id) const {
    return symbol(id).parent < 0 &&
           !(program_.is_derivative && uses_.IsResult(id));
  }

  // The views of `id` become views of `other`.
  void Replace(int id, int other) {
    replaced_by_[id] = other;
    for (int view : views_[id]) {
      program_.symbols[view].parent = other;
      views_[other].push_back(view);
    }
    views_.erase(id);
  }

  Program& program_;
  const Uses uses_;
  std::map<int, std::vector<int>> views_;  // Indexed by parent.
  std::map<int, int> replaced_by_;
};

}  // namespace

void MergeDuplicates(Program* program) { Merger(program).Run(); }

}  // namespace cavs
