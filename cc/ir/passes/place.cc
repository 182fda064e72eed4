#include "cc/ir/passes/place.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "cc/ir/operators.h"

namespace cavs {
namespace {

// How nodes use one root, as far as joined children are concerned.
struct ChildUses {
  // Slots gathered into its views, or whose gradients are sent from them.
  std::set<int> slots;
  int num_gathers = 0, num_gather_grads = 0;
  int64_t view_columns = 0;
  bool in_order = true;  // Whether slot k has the k-th view.
  bool others_read = false, others_write = false;
  // Rows of other inputs or outputs, or operands of foreign nodes.
  bool must_own = false;
  bool only_critical = true, only_for_children = true;
};

// Whether the node's rows come from a place where they may be read by an index.
bool BringsInRows(NodeKind kind) {
  const Operator& row = RowOf(kind);
  return row.brings_in && (row.outside == Outside::kChildStates ||
                           row.outside == Outside::kExternal);
}

class Placer {
 public:
  Placer(const Program& program, const Zeros& zeros,
         const Capabilities& capabilities)
      : program_(program), zeros_(zeros), capabilities_(capabilities) {
    placement_.candidates.resize(program.symbols.size());
  }

  Placement Run(bool views) {
    FindResults();
    FindExtents();
    FindState();
    if (views && capabilities_.most_indexed_columns >= 0) FindReadByIndex();
    if (views) FindJoined();
    return std::move(placement_);
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }
  int root(int id) const {
    int64_t offset;
    return program_.Root(id, &offset);
  }
  Candidate& at_root(int id) { return placement_.candidates[root(id)]; }

  bool IsComputedRows(int id) const {
    const Symbol& s = symbol(id);
    return s.kind == SymbolKind::kRows && s.parent < 0 &&
           s.source == SymbolSource::kNode;
  }

  void FindResults() {
    for (size_t i = 0; i < program_.results.size(); ++i) {
      const int id = program_.results[i];
      Candidate& candidate = at_root(id);
      candidate.used = true;
      if (!program_.is_derivative) {
        candidate.on_tape = true;
      } else if (symbol(id).kind == SymbolKind::kReduced &&
                 symbol(id).columns() == symbol(root(id)).columns()) {
        candidate.result = static_cast<int>(i);
      }
    }
  }

  void FindExtents() {
    // Indexed by root.
    std::vector<std::set<Stage>> stages(program_.symbols.size());
    for (const Node& node : program_.nodes) {
      for (const auto* ids : {&node.inputs, &node.outputs}) {
        for (int id : *ids) {
          at_root(id).used = true;
          stages[root(id)].insert(node.stage);
        }
      }
      if (node.stage == Stage::kEpilogue) continue;
      for (int id : node.outputs) {
        const Symbol& s = symbol(root(id));
        if (s.kind != SymbolKind::kReduced) continue;
        at_root(id).rounded_last = SumType(s.dtype) != s.dtype;
        if (node.kind != NodeKind::kForeign) continue;
        ++at_root(id).foreign_writers;
        at_root(id).foreign_by_task |= node.stage == Stage::kCritical;
      }
    }
    for (int id : program_.results) stages[root(id)].clear();
    for (size_t id = 0; id < stages.size(); ++id) {
      Candidate& candidate = placement_.candidates[id];
      if (candidate.rounded_last) candidate.result = -1;
      if (!IsComputedRows(static_cast<int>(id)) || candidate.on_tape) continue;
      candidate.extent = Extent::kChunk;
      if (stages[id].size() != 1) continue;
      candidate.extent = *stages[id].begin() == Stage::kCritical
                             ? Extent::kTask
                             : Extent::kBlock;
    }
  }

  void FindState() {
    for (const Node& node : program_.nodes) {
      if (RowOf(node.kind).outside != Outside::kOwnState) continue;
      const bool brings_in = RowOf(node.kind).brings_in;
      const int whole = WholeOf((brings_in ? node.outputs : node.inputs)[0]);
      if (IsComputedRows(whole)) placement_.candidates[whole].in_state = true;
    }
  }

  // The root of a view of all of it; another symbol itself.
  int WholeOf(int id) const {
    int64_t offset;
    const int root = program_.Root(id, &offset);
    const bool all =
        offset == 0 && symbol(root).columns() == symbol(id).columns();
    return all ? root : id;
  }

  // Whether the kernel of `node` can read its input number `i` by an index.
  bool ReadsByIndex(const Node& node, size_t i) const {
    switch (node.kind) {
      case NodeKind::kMatMul:
        return i == 0 && symbol(node.inputs[i]).columns() <=
                             capabilities_.most_indexed_columns;
      case NodeKind::kWeightGrad:
      case NodeKind::kGroup:
      case NodeKind::kCopy:
      case NodeKind::kSumEdges:
      case NodeKind::kMaxEdges:
        return true;
      default:
        return false;
    }
  }

  void FindReadByIndex() {
    for (size_t id = 0; id < program_.symbols.size(); ++id) {
      const Symbol& s = program_.symbols[id];
      placement_.candidates[id].by_index = s.source == SymbolSource::kSaved &&
                                           s.kind == SymbolKind::kRows &&
                                           s.parent < 0 && IsNative(s.dtype);
    }
    for (const Node& node : program_.nodes) {
      if (!BringsInRows(node.kind)) continue;
      const int id = node.outputs[0];
      Candidate& candidate = placement_.candidates[id];
      candidate.by_index = symbol(id).parent < 0 && IsNative(symbol(id).dtype);
      candidate.gathered = node.kind == NodeKind::kGather;
      candidate.source = node.index;
    }
    for (const Node& node : program_.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!ReadsByIndex(node, i)) at_root(node.inputs[i]).by_index = false;
      }
      if (BringsInRows(node.kind)) continue;
      for (int id : node.outputs) at_root(id).by_index = false;
    }
  }

  void FindJoined() {
    const std::vector<ChildUses> uses = FindChildUses();
    for (size_t id = 0; id < uses.size(); ++id) {
      const ChildUses& use = uses[id];
      const int slots = static_cast<int>(use.slots.size());
      if (!IsComputedRows(static_cast<int>(id)) ||
          !IsNative(program_.symbols[id].dtype) || use.must_own ||
          !use.in_order ||
          program_.symbols[id].columns() != slots * use.view_columns) {
        continue;
      }
      // The rows of a single slot are read by an index instead.
      const bool is_gathered =
          slots > 1 && use.num_gathers == slots && !use.others_write;
      const bool is_sent_back =
          slots > 0 && use.num_gather_grads == slots && !use.others_read;
      if (is_gathered == is_sent_back) continue;
      placement_.candidates[id].joined = {
          slots, is_sent_back, use.only_critical, use.only_for_children};
    }
  }

  std::vector<ChildUses> FindChildUses() const {
    std::vector<ChildUses> uses(program_.symbols.size());
    for (const Node& node : program_.nodes) {
      const bool is_slot = SpaceOf(program_, node) == RowSpace::kVertices;
      const bool gathers = node.kind == NodeKind::kGather && is_slot;
      const bool sends_back = node.kind == NodeKind::kGatherGrad && is_slot;
      int64_t offset;
      const auto use_of = [&](int id) -> ChildUses& {
        ChildUses& use = uses[program_.Root(id, &offset)];
        use.only_critical &= node.stage == Stage::kCritical;
        use.must_own |= node.kind == NodeKind::kForeign ||
                        (MovesRows(node.kind) && !gathers && !sends_back);
        use.only_for_children &=
            zeros_.only_for_children[&node - program_.nodes.data()];
        return use;
      };
      for (int id : node.inputs) use_of(id).others_read |= !sends_back;
      for (int id : node.outputs) use_of(id).others_write |= !gathers;
      if (!gathers && !sends_back) continue;
      const int id = (gathers ? node.outputs : node.inputs)[0];
      ChildUses& use = use_of(id);
      use.view_columns = symbol(id).columns();
      use.in_order &= offset == node.index * use.view_columns;
      use.slots.insert(node.index);
      ++(gathers ? use.num_gathers : use.num_gather_grads);
    }
    // The derivative reads the rows of several tasks at once.
    for (int id : program_.results) uses[root(id)].only_critical = false;
    return uses;
  }

  const Program& program_;
  const Zeros& zeros_;
  const Capabilities& capabilities_;
  Placement placement_;
};

}  // namespace

Placement Place(const Program& program, const Zeros& zeros,
                const Capabilities& capabilities, bool views) {
  return Placer(program, zeros, capabilities).Run(views);
}

}  // namespace cavs
