#include "cc/ir/passes/find_zeros.h"

#include <algorithm>
#include <vector>

#include "cc/ir/overlaps.h"

namespace cavs {
namespace {

class ZeroFinder {
 public:
  explicit ZeroFinder(const Program& program)
      : program_(program),
        overlaps_(program),
        is_zero_(program.symbols.size(), false),
        is_wanted_(program.symbols.size(), false) {
    for (const Node& node : program.nodes) {
      if (node.kind != NodeKind::kGroup) writers_.push_back(&node);
      for (const Node& member : node.members) writers_.push_back(&member);
    }
  }

  Zeros Run() {
    Zeros zeros(program_);
    FindZeroSymbols();
    zeros.symbols = is_zero_;
    for (int id : program_.results) is_wanted_[id] = true;
    // Readers come first, since a node is needed if a reader of its output is.
    for (size_t i = program_.nodes.size(); i-- > 0;) {
      zeros.only_for_children[i] = IsOnlyForChildren(program_.nodes[i]);
    }
    return zeros;
  }

 private:
  // Starts from the assumption that every computed symbol is zero, and drops it
  // until every node that writes a remaining symbol, or one that overlaps it,
  // writes zeros.
  void FindZeroSymbols() {
    for (const Node* node : writers_) SetWritten(*node, true);
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Node* node : writers_) {
        if (!WritesZero(*node)) changed |= SetWritten(*node, false);
      }
    }
  }

  bool SetWritten(const Node& node, bool zero) {
    bool changed = false;
    for (int id : node.outputs) {
      if (program_.symbols[id].kind != SymbolKind::kRows) continue;
      for (int other : overlaps_.of(id)) {
        changed |= is_zero_[other] != zero;
        is_zero_[other] = zero;
      }
    }
    return changed;
  }

  bool WritesZero(const Node& node) const {
    if (node.kind == NodeKind::kElementwise) {
      return KeepsZero(node.elementwise) && AreZero(node.inputs);
    }
    switch (RowOf(node.kind).zero) {
      case Zero::kNever:
        return false;
      case Zero::kAlways:
        return true;
      case Zero::kKeeps:
        return is_zero_[node.inputs[0]];
    }
    return false;
  }

  bool AreZero(const std::vector<int>& ids) const {
    return std::all_of(ids.begin(), ids.end(),
                       [&](int id) { return is_zero_[id]; });
  }

  // Marks the inputs of `node` as wanted if it is not.
  bool IsOnlyForChildren(const Node& node) {
    if (node.kind == NodeKind::kGroup) return AreOnlyForChildren(node.members);
    const bool alone = node.stage == Stage::kCritical &&
                       (node.kind == NodeKind::kGatherGrad ||
                        (!node.outputs.empty() &&
                         !overlaps_.AnyMarked(is_wanted_, node.outputs)));
    if (alone) return true;
    for (int id : node.inputs) is_wanted_[id] = true;
    return false;
  }

  bool AreOnlyForChildren(const std::vector<Node>& members) {
    bool all = true;
    for (size_t i = members.size(); i-- > 0;) {
      all = IsOnlyForChildren(members[i]) && all;
    }
    return all;
  }

  const Program& program_;
  const Overlaps overlaps_;
  std::vector<const Node*> writers_;  // A group is replaced by its members.
  std::vector<bool> is_zero_, is_wanted_;  // Indexed by symbol.
};

}  // namespace

Zeros FindZeros(const Program& program) { return ZeroFinder(program).Run(); }

}  // namespace cavs
