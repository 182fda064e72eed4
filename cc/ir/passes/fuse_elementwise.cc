#include "cc/ir/passes/fuse_elementwise.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cc/ir/make_instructions.h"
#include "cc/ir/passes/split_elementwise.h"
#include "cc/ir/uses.h"

namespace cavs {
namespace {

class Fuser {
 public:
  explicit Fuser(Program* program) : program_(*program), uses_(*program) {}

  void Run() {
    FindCanonical();
    FindLevels();
    std::vector<int> order(program_.nodes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return KeyOf(a) < KeyOf(b); });
    position_.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    std::vector<Node> fused;
    for (size_t first = 0; first < order.size();) {
      size_t end = first + 1;
      while (end < order.size() && fusable_[order[first]] &&
             KeyOf(order[end]) == KeyOf(order[first])) {
        ++end;
      }
      while (first < end) Emit(order, end, &first, &fused);
    }
    program_.nodes = std::move(fused);
  }

 private:
  // Nodes with equal keys may be one group; nodes run in the order of their
  // keys.
  using Key = std::tuple<Stage, int, bool, DType, RowSpace, int64_t, int>;

  const Symbol& symbol(int id) const { return program_.symbols[id]; }
  const Node& node(int i) const { return program_.nodes[i]; }

  Key KeyOf(int i) const {
    if (!fusable_[i]) return {node(i).stage, level_[i], false, {}, {}, 0, i};
    const Symbol& out = symbol(node(i).outputs[0]);
    return {node(i).stage, level_[i],     true, out.dtype,
            out.space,     out.columns(), 0};
  }

  bool IsFusable(const Node& n) const {
    if (n.kind != NodeKind::kElementwise && n.kind != NodeKind::kCopy) {
      return false;
    }
    if (n.stage == Stage::kPrologue || n.stage == Stage::kEpilogue)
      return false;
    const Symbol& out = symbol(n.outputs[0]);
    if (out.kind != SymbolKind::kRows || !IsNative(out.dtype)) return false;
    int broadcast = 0;
    for (int id : n.inputs) {
      const Symbol& s = symbol(id);
      if (s.dtype != out.dtype) return false;
      if (s.columns() != out.columns()) {
        if (s.columns() != 1) return false;
        ++broadcast;
      }
    }
    return broadcast < static_cast<int>(n.inputs.size());
  }

  // The level of a node is higher than the levels of the nodes that must run
  // before it, or equal where both may be in one group.
  void FindLevels() {
    const int n = static_cast<int>(program_.nodes.size());
    for (int i = 0; i < n; ++i) fusable_.push_back(IsFusable(node(i)));
    level_.assign(n, 0);
    std::vector<std::vector<int>> readers(program_.symbols.size());
    std::vector<std::vector<int>> writers(program_.symbols.size());
    for (int i = 0; i < n; ++i) {
      for (int id : node(i).inputs) RunAfter(i, id, writers);
      for (int id : node(i).outputs) {
        RunAfter(i, id, writers);
        RunAfter(i, id, readers);
      }
      for (int id : node(i).inputs) readers[id].push_back(i);
      for (int id : node(i).outputs) writers[id].push_back(i);
    }
  }

  void RunAfter(int i, int id, const std::vector<std::vector<int>>& accesses) {
    for (int other : uses_.overlaps().of(id)) {
      for (int before : accesses[other]) {
        if (node(before).stage != node(i).stage) continue;
        const bool together = fusable_[before] && fusable_[i] &&
                              canonical_[id] == canonical_[other] &&
                              SameSize(before, i);
        level_[i] = std::max(level_[i], level_[before] + (together ? 0 : 1));
      }
    }
  }

  bool SameSize(int a, int b) const {
    const Symbol& x = symbol(node(a).outputs[0]);
    const Symbol& y = symbol(node(b).outputs[0]);
    return x.dtype == y.dtype && x.space == y.space &&
           x.columns() == y.columns();
  }

  // Makes one node of as many nodes from order[*first] on, and before `end`, as
  // fit into a kernel.
  void Emit(const std::vector<int>& order, size_t end, size_t* first,
            std::vector<Node>* fused) {
    size_t limit = end;
    // A single copy has a kernel of its own.
    const size_t least = node(order[*first]).kind == NodeKind::kCopy ? 2 : 1;
    while (fusable_[order[*first]] && limit - *first >= least) {
      Node group;
      if (MakeGroup(order, *first, limit, &group)) {
        fused->push_back(std::move(group));
        *first = limit;
        return;
      }
      limit = *first + (limit - *first) / 2;
    }
    fused->push_back(node(order[(*first)++]));
  }

  // Symbols are the same value of a group if they are the same elements, and
  // have at least one.
  void FindCanonical() {
    const int n = static_cast<int>(program_.symbols.size());
    std::vector<int64_t> offset(n);
    for (int id = 0; id < n; ++id) program_.Root(id, &offset[id]);
    for (int id = 0; id < n; ++id) {
      const std::vector<int>& overlapping = uses_.overlaps().of(id);
      canonical_.push_back(
          *std::find_if(overlapping.begin(), overlapping.end(), [&](int other) {
            return offset[other] == offset[id] &&
                   symbol(other).columns() == symbol(id).columns();
          }));
    }
  }

  // The nodes order[first, end), which may become a group.
  struct Candidates {
    const std::vector<int>& order;
    size_t first, end;
    std::set<int> written;  // Canonical numbers of symbols.
  };

  bool MakeGroup(const std::vector<int>& order, size_t first, size_t end,
                 Node* group) const {
    Candidates members{order, first, end, {}};
    for (size_t i = first; i < end; ++i) {
      for (int id : node(order[i]).outputs) {
        members.written.insert(canonical_[id]);
      }
    }
    std::set<int> in_memory;  // Canonical numbers of symbols.
    for (size_t i = first; i < end; ++i) {
      const Node& n = node(order[i]);
      for (int id : n.inputs) AddInput(id, members, &in_memory, group);
      for (int id : n.outputs) AddOutput(id, members, &in_memory, group);
      if (in_memory.size() > ElementwiseGroup::kMaxValues) return false;
    }
    group->kind = NodeKind::kGroup;
    group->stage = node(order[first]).stage;
    group->op = "Group";
    group->name = node(order[first]).name;
    for (size_t i = first; i < end; ++i) {
      group->members.push_back(node(order[i]));
    }
    return MakeInstructions(program_, group);
  }

  void AddInput(int id, const Candidates& members, std::set<int>* in_memory,
                Node* group) const {
    // Outputs of members are outputs of the group, or live in scratch.
    if (members.written.count(canonical_[id]) > 0) return;
    if (in_memory->insert(canonical_[id]).second) group->inputs.push_back(id);
  }

  void AddOutput(int id, const Candidates& members, std::set<int>* in_memory,
                 Node* group) const {
    if (!IsSeenOutside(id, members)) return;
    in_memory->insert(canonical_[id]);
    if (std::count(group->outputs.begin(), group->outputs.end(), id) == 0) {
      group->outputs.push_back(id);
    }
  }

  // Whether a node outside the group reads or writes it in memory, or a member
  // reads or writes other elements of the same memory.
  bool IsSeenOutside(int id, const Candidates& members) const {
    for (int other : uses_.overlaps().of(id)) {
      if (uses_.IsResult(other)) return true;
      const bool same = canonical_[other] == canonical_[id];
      for (const auto* nodes : {&uses_.readers(other), &uses_.writers(other)}) {
        for (int i : *nodes) {
          const bool inside =
              position_[i] >= members.first && position_[i] < members.end;
          if (!inside || !same) return true;
        }
      }
    }
    return false;
  }

  Program& program_;
  const Uses uses_;
  std::vector<int> canonical_;  // Canonical number of each symbol.
  std::vector<bool> fusable_;
  std::vector<int> level_;
  // Position of each node in the order of levels.
  std::vector<size_t> position_;
};

}  // namespace

void FuseElementwise(Program* program) {
  SplitElementwise(program);
  Fuser(program).Run();
}

}  // namespace cavs
