#include "cc/ir/passes/find_zeros.h"

#include <algorithm>
#include <vector>

#include "cc/ir/uses.h"

namespace cavs {
namespace {

class ZeroFinder {
 public:
  explicit ZeroFinder(Program* program) : program_(*program), uses_(*program) {}

  void Run() {
    FindZeroSymbols();
    FindNodesForChildren();
  }

 private:
  Symbol& symbol(int id) { return program_.symbols[id]; }

  // A piece of zeros is zero.
  bool IsZero(int id) {
    for (; id >= 0; id = symbol(id).parent) {
      if (symbol(id).zero_without_children) return true;
    }
    return false;
  }

  bool MakesZero(const Node& node) {
    switch (node.kind) {
      case NodeKind::kGather:
      case NodeKind::kZero:
        return true;
      case NodeKind::kMatMul:
      case NodeKind::kSumColumns:
      case NodeKind::kCopy:
        return IsZero(node.inputs[0]);
      case NodeKind::kElementwise:
        return KeepsZero(node.elementwise) &&
               std::all_of(node.inputs.begin(), node.inputs.end(),
                           [&](int id) { return IsZero(id); });
      default:
        return false;
    }
  }

  // What nodes write of a symbol: itself, a piece or the whole of it.
  std::vector<int> WrittenOf(int id) const {
    std::vector<int> written;
    for (int other : uses_.overlaps().of(id)) {
      written.insert(written.end(), uses_.writers(other).size(), other);
    }
    return written;
  }

  // Written once, and by no one else in any part.
  bool HasOneWriter(int id) const { return WrittenOf(id).size() == 1; }

  // A whole is zero if all that was written to its pieces is: what reads it
  // comes after that.
  bool HasZeroPieces(int id) {
    const std::vector<int> written = WrittenOf(id);
    return !written.empty() &&
           std::all_of(written.begin(), written.end(),
                       [&](int out) { return IsZero(out); });
  }

  void FindZeroSymbols() {
    for (const Node& node : program_.nodes) {
      for (int id : node.inputs) {
        if (HasZeroPieces(id)) symbol(id).zero_without_children = true;
      }
      if (node.outputs.size() != 1 || !MakesZero(node)) continue;
      const int out = node.outputs[0];
      if (HasOneWriter(out)) symbol(out).zero_without_children = true;
    }
  }

  // Readers first: a node serves what reads its outcome.
  void FindNodesForChildren() {
    std::vector<bool> wanted(program_.symbols.size(), false);
    for (int id : program_.results) wanted[id] = true;
    for (size_t i = program_.nodes.size(); i-- > 0;) {
      Node& node = program_.nodes[i];
      node.only_for_children =
          node.stage == Stage::kCritical &&
          (node.kind == NodeKind::kGatherGrad ||
           (!node.outputs.empty() &&
            !uses_.overlaps().AnyMarked(wanted, node.outputs)));
      if (node.only_for_children) continue;
      for (int id : node.inputs) wanted[id] = true;
    }
  }

  Program& program_;
  const Uses uses_;
};

}  // namespace

void FindZeros(Program* program) { ZeroFinder(program).Run(); }

}  // namespace cavs
