#include "cc/core/passes/fuse_elementwise.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cc/core/overlaps.h"
#include "cc/core/passes/make_steps.h"
#include "cc/core/passes/split_elementwise.h"

namespace cavs {
namespace {

class Fuser {
 public:
  explicit Fuser(Program* program) : program_(*program), overlaps_(*program) {}

  void Run() {
    FindLevels();
    std::vector<int> order(program_.nodes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return Place(a) < Place(b); });
    std::vector<Node> fused;
    for (size_t first = 0; first < order.size();) {
      size_t end = first + 1;
      while (end < order.size() && fusable_[order[first]] &&
             Place(order[end]) == Place(order[first])) {
        ++end;
      }
      while (first < end) Emit(order, end, &first, &fused);
    }
    program_.nodes = std::move(fused);
  }

 private:
  // Nodes with equal places may be one group; others run place by place.
  using Key = std::tuple<Stage, int, bool, DType, int64_t, int>;

  const Symbol& symbol(int id) const { return program_.symbols[id]; }
  const Node& node(int i) const { return program_.nodes[i]; }

  Key Place(int i) const {
    if (!fusable_[i]) return {node(i).stage, level_[i], false, {}, 0, i};
    const Symbol& out = symbol(node(i).outputs[0]);
    return {node(i).stage, level_[i], true, out.dtype, out.columns(), 0};
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

  // The level of a node is above those of the nodes that must run before it, or
  // equal if both may be in one group.
  void FindLevels() {
    const int n = static_cast<int>(program_.nodes.size());
    for (int i = 0; i < n; ++i) fusable_.push_back(IsFusable(node(i)));
    level_.assign(n, 0);
    std::vector<std::vector<int>> readers(program_.symbols.size());
    std::vector<std::vector<int>> writers(program_.symbols.size());
    for (int i = 0; i < n; ++i) {
      for (int id : node(i).inputs) StayBehind(i, id, writers);
      for (int id : node(i).outputs) {
        StayBehind(i, id, writers);
        StayBehind(i, id, readers);
      }
      for (int id : node(i).inputs) readers[id].push_back(i);
      for (int id : node(i).outputs) writers[id].push_back(i);
    }
  }

  void StayBehind(int i, int id, const std::vector<std::vector<int>>& touched) {
    for (int other : overlaps_.of(id)) {
      for (int before : touched[other]) {
        if (node(before).stage != node(i).stage) continue;
        const bool together = fusable_[before] && fusable_[i] &&
                              SameElements(id, other) && SameSize(before, i);
        level_[i] = std::max(level_[i], level_[before] + (together ? 0 : 1));
      }
    }
  }

  // Do both symbols have the same elements at the same places?
  bool SameElements(int a, int b) const {
    int64_t offset_a, offset_b;
    program_.Root(a, &offset_a);
    program_.Root(b, &offset_b);
    return offset_a == offset_b && symbol(a).columns() == symbol(b).columns();
  }

  bool SameSize(int a, int b) const {
    const Symbol& x = symbol(node(a).outputs[0]);
    const Symbol& y = symbol(node(b).outputs[0]);
    return x.dtype == y.dtype && x.columns() == y.columns();
  }

  // Makes one node of as many of order[*first, end) as fit into a kernel.
  void Emit(const std::vector<int>& order, size_t end, size_t* first,
            std::vector<Node>* fused) {
    size_t limit = end;
    // Alone, a copy has a kernel of its own.
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

  // Symbols are the same value of a group if they are the same elements.
  int Canonical(int id) const {
    int64_t offset, other_offset;
    const int root = program_.Root(id, &offset);
    for (int other : overlaps_.of(id)) {
      if (other < id && program_.Root(other, &other_offset) == root &&
          SameElements(id, other)) {
        id = other;
      }
    }
    return id;
  }

  bool MakeGroup(const std::vector<int>& order, size_t first, size_t end,
                 Node* group) const {
    std::vector<bool> inside(program_.nodes.size(), false);
    for (size_t i = first; i < end; ++i) inside[order[i]] = true;
    group->kind = NodeKind::kGroup;
    group->stage = node(order[first]).stage;
    group->op = "Group";
    group->name = node(order[first]).name;
    for (size_t i = first; i < end; ++i) {
      group->members.push_back(node(order[i]));
    }
    // Where values live: those in memory first.
    std::map<int, int> operand;
    for (const Node& n : group->members) {
      for (int id : n.inputs) AddOperand(id, inside, &operand, group, false);
      for (int id : n.outputs) AddOperand(id, inside, &operand, group, true);
    }
    group->only_for_children =
        std::all_of(group->members.begin(), group->members.end(),
                    [](const Node& n) { return n.only_for_children; });
    for (int id : group->operands) {
      if (!IsWrittenBy(id, group->members)) group->inputs.push_back(id);
    }
    return MakeSteps(
        program_, [this](int id) { return Canonical(id); }, operand, group);
  }

  void AddOperand(int id, const std::vector<bool>& inside,
                  std::map<int, int>* operand, Node* group,
                  bool written) const {
    const int value = Canonical(id);
    if (!written && IsWrittenBy(id, group->members) &&
        !IsSeenOutside(id, inside)) {
      return;
    }
    if (written && !IsSeenOutside(id, inside)) return;
    if (operand->emplace(value, static_cast<int>(group->operands.size()))
            .second) {
      group->operands.push_back(id);
    }
    if (written &&
        std::count(group->outputs.begin(), group->outputs.end(), id) == 0) {
      group->outputs.push_back(id);
    }
  }

  bool IsWrittenBy(int id, const std::vector<Node>& members) const {
    for (const Node& n : members) {
      if (Canonical(n.outputs[0]) == Canonical(id)) return true;
    }
    return false;
  }

  // Is there anyone but the group who reads or writes it in memory?
  bool IsSeenOutside(int id, const std::vector<bool>& inside) const {
    const std::vector<int>& same = overlaps_.of(id);
    const auto any = [&](const std::vector<int>& list) {
      return std::any_of(list.begin(), list.end(), [&](int other) {
        return std::count(same.begin(), same.end(), other) > 0;
      });
    };
    if (any(program_.results)) return true;
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      if (inside[i]) {
        // A member that touches other elements of the same memory.
        for (const auto* list : {&node(static_cast<int>(i)).inputs,
                                 &node(static_cast<int>(i)).outputs}) {
          for (int other : *list) {
            if (std::count(same.begin(), same.end(), other) > 0 &&
                !SameElements(id, other)) {
              return true;
            }
          }
        }
      } else if (any(node(static_cast<int>(i)).inputs) ||
                 any(node(static_cast<int>(i)).outputs)) {
        return true;
      }
    }
    return false;
  }

  Program& program_;
  const Overlaps overlaps_;
  std::vector<bool> fusable_;
  std::vector<int> level_;
};

}  // namespace

void FuseElementwise(Program* program) {
  SplitElementwise(program);
  Fuser(program).Run();
}

}  // namespace cavs
