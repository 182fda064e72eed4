#include "cc/ir/make_instructions.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cavs {
namespace {

using Ids = std::vector<int>;

// Gives symbols with the same elements the same number.
class Values {
 public:
  explicit Values(const Program& program) : program_(program) {}

  int Of(int id) {
    const auto [known, is_new] = by_symbol_.emplace(id, 0);
    if (is_new) known->second = Find(id);
    return known->second;
  }

 private:
  int Find(int id) {
    const int64_t columns = program_.symbols[id].columns();
    int64_t offset = -1;
    const int root = columns == 0 ? id : program_.Root(id, &offset);
    const auto key = std::make_tuple(root, offset, columns);
    return numbers_.emplace(key, static_cast<int>(numbers_.size()))
        .first->second;
  }

  const Program& program_;
  std::unordered_map<int, int> by_symbol_;
  std::map<std::tuple<int, int64_t, int64_t>, int> numbers_;
};

// A member of the group, with the numbers of values in place of symbols.
struct Member {
  Elementwise op;
  bool can_pair;  // No operand is broadcast over columns.
  Ids inputs;
  int output;
  int before = -1;        // The member whose output it goes on with.
  bool is_first = false;  // Another member goes on with its output.
};

// Whether `value` can be the operand that a pair passes on in a register.
bool CanContinue(const Member& member, int value) {
  return member.inputs.back() == value ||
         (Commutes(member.op) && member.inputs[0] == value);
}

class InstructionMaker {
 public:
  InstructionMaker(const Program& program, Node* group)
      : values_(program), group_(*group) {
    FindOperands();
    for (const Node& node : group->members) {
      Member member;
      const bool copies = node.kind == NodeKind::kCopy;
      member.op = copies ? Elementwise::kIdentity : node.elementwise;
      member.output = values_.Of(node.outputs[0]);
      const int64_t columns = program.symbols[node.outputs[0]].columns();
      member.can_pair = true;
      for (int id : node.inputs) {
        member.inputs.push_back(values_.Of(id));
        member.can_pair =
            member.can_pair && program.symbols[id].columns() == columns;
      }
      writers_[member.output].push_back(members_.size());
      for (int id : member.inputs) ++reads_[id];
      members_.push_back(std::move(member));
    }
  }

  bool Run() {
    for (size_t i = 0; i < members_.size(); ++i) {
      members_[i].before = Before(i);
      if (members_[i].before >= 0) members_[members_[i].before].is_first = true;
    }
    FindLastUses();
    const int in_memory = static_cast<int>(group_.operands.size());
    group_.group.num_operands = in_memory;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].is_first) AddInstruction(i);
    }
    return group_.group.num_scratch <= ElementwiseGroup::kMaxScratch &&
           in_memory + group_.group.num_scratch <= ElementwiseGroup::kMaxValues;
  }

 private:
  void FindOperands() {
    std::set<int> in_memory;
    for (int id : group_.inputs) in_memory.insert(values_.Of(id));
    for (int id : group_.outputs) in_memory.insert(values_.Of(id));
    group_.operands.clear();
    for (const Node& node : group_.members) {
      for (const auto* ids : {&node.inputs, &node.outputs}) {
        for (int id : *ids) {
          const int value = values_.Of(id);
          const int number = static_cast<int>(group_.operands.size());
          if (in_memory.count(value) > 0 &&
              operand_.emplace(value, number).second) {
            group_.operands.push_back(id);
          }
        }
      }
    }
  }

  bool IsInMemory(int value) const { return operand_.count(value) > 0; }

  // The last member with which member `i` can be a pair.
  int Before(size_t i) const {
    int before = -1;
    for (int id : members_[i].inputs) {
      const int writer = OnlyWriter(id);
      if (writer > before && writer < static_cast<int>(i) &&
          CanPairWith(writer, i)) {
        before = writer;
      }
    }
    return before;
  }

  // The only member that writes a value; -1 if there are none or several.
  int OnlyWriter(int value) const {
    const auto found = writers_.find(value);
    const bool one = found != writers_.end() && found->second.size() == 1;
    return one ? static_cast<int>(found->second[0]) : -1;
  }

  // Only `then` must read the output of `first`, and no member between them may
  // overwrite what `first` reads.
  bool CanPairWith(size_t first, size_t then) const {
    const Member &m = members_[first], &n = members_[then];
    return m.can_pair && n.can_pair && m.before < 0 && CanPair(m.op, n.op) &&
           !IsInMemory(m.output) && CanContinue(n, m.output) &&
           reads_.at(m.output) == 1 &&
           std::none_of(
               m.inputs.begin(), m.inputs.end(),
               [&](int id) { return IsWrittenBetween(id, first, then); });
  }

  bool IsWrittenBetween(int value, size_t first, size_t then) const {
    const auto found = writers_.find(value);
    if (found == writers_.end()) return false;
    const auto next =
        std::upper_bound(found->second.begin(), found->second.end(), first);
    return next != found->second.end() && *next < then;
  }

  void FindLastUses() {
    for (size_t i = 0; i < members_.size(); ++i) {
      const Member& member = members_[i];
      for (int id : member.inputs) last_use_[id] = i;
      last_use_[member.output] = i;
      if (member.before < 0) continue;
      for (int id : members_[member.before].inputs) last_use_[id] = i;
    }
  }

  int16_t Value(int id) const {
    const auto found = operand_.find(id);
    return static_cast<int16_t>(found != operand_.end() ? found->second
                                                        : slot_.at(id));
  }

  void AddInstruction(size_t i) {
    const Member& member = members_[i];
    const Member& first = member.before < 0 ? member : members_[member.before];
    ElementwiseGroup::Instruction instruction;
    instruction.op = first.op;
    instruction.x = Value(first.inputs[0]);
    instruction.y = Value(first.inputs.back());
    if (member.before >= 0) {
      instruction.then = member.op;
      const bool swapped = member.inputs[0] == first.output;
      const int other = swapped ? member.inputs.back() : member.inputs[0];
      instruction.z = other == first.output ? instruction.x : Value(other);
    }
    TakeScratch(member.output);
    instruction.out = Value(member.output);
    group_.group.instructions.push_back(instruction);
    // A tile of scratch is free again after its last use.
    for (auto it = slot_.begin(); it != slot_.end();) {
      if (last_use_[it->first] == i) {
        free_.push_back(it->second);
        it = slot_.erase(it);
      } else {
        ++it;
      }
    }
  }

  void TakeScratch(int id) {
    if (IsInMemory(id) || slot_.count(id) > 0) return;
    if (free_.empty()) {
      free_.push_back(group_.group.num_operands + group_.group.num_scratch++);
    }
    slot_[id] = free_.back();
    free_.pop_back();
  }

  Values values_;
  Node& group_;
  std::map<int, int> operand_;  // Indexed by value.
  std::vector<Member> members_;
  // The writers of each value, in order.
  std::map<int, std::vector<size_t>> writers_;
  std::map<int, int> reads_;  // The number of reads of each value.
  std::map<int, size_t> last_use_;
  std::map<int, int> slot_;  // The tile of each value in scratch.
  std::vector<int> free_;
};

}  // namespace

bool MakeInstructions(const Program& program, Node* group) {
  return InstructionMaker(program, group).Run();
}

}  // namespace cavs
