#include "cc/device/cuda/plan_launches.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cc/device/cuda/source/group.h"
#include "cc/ir/operators.h"
#include "cc/ir/overlaps.h"

namespace cavs {
namespace {

// Which kind of launch a node is part of.
LaunchKind KindOf(const CompiledProgram& program, const Node& node) {
  switch (node.kind) {
    case NodeKind::kGroup:
    case NodeKind::kElementwise:
      return LaunchKind::kElementwise;
    case NodeKind::kCopy:
      return IsNative(program.symbols[node.outputs[0]].dtype)
                 ? LaunchKind::kElementwise
                 : LaunchKind::kMoves;
    case NodeKind::kMatMul:
      return LaunchKind::kProducts;
    case NodeKind::kWeightGrad:
    case NodeKind::kSumRows:
      return LaunchKind::kSums;
    case NodeKind::kSumColumns:
    case NodeKind::kToMask:
    case NodeKind::kSumEdges:
    case NodeKind::kMaxEdges:
    case NodeKind::kForeign:
      return LaunchKind::kNode;
    default:
      return LaunchKind::kMoves;
  }
}

// Launches of the first kinds are planned first: they make the others' operands
// ready, and a product that is planned late is planned with more of them.
constexpr LaunchKind kOrder[] = {LaunchKind::kElementwise, LaunchKind::kNode,
                                 LaunchKind::kMoves, LaunchKind::kProducts,
                                 LaunchKind::kSums};

// The operators of nodes, one after the other, as one group.
class GroupJoiner {
 public:
  explicit GroupJoiner(const CompiledProgram& program) : program_(program) {}

  // Adds a node, unless the threads of its elements would read what other
  // threads write, or there would be too many operands.
  bool Add(const Node& node) {
    const std::vector<int> operands = OperandsOf(node);
    size_t new_operands = 0;
    for (const int id : operands) {
      const bool writes = Contains(node.outputs, id);
      if (Conflicts(id, writes)) return false;
      new_operands += numbers_.count(ElementsOf(id)) == 0;
    }
    if (operands_.size() + new_operands > ElementwiseGroup::kMaxValues) {
      return false;
    }
    for (const int id : operands) {
      const bool writes = Contains(node.outputs, id);
      accesses_.emplace_back(id, writes);
      const auto [known, is_new] = numbers_.emplace(
          ElementsOf(id), static_cast<int16_t>(operands_.size()));
      if (is_new) operands_.push_back(id);
    }
    nodes_.push_back(&node);
    return true;
  }

  void Write(CudaLaunch* launch) const {
    launch->operands = operands_;
    launch->group.num_operands = static_cast<int>(operands_.size());
    auto next = static_cast<int16_t>(operands_.size());
    for (const Node* node : nodes_) {
      const ElementwiseGroup group = GroupOf(*node);
      const std::vector<int> operands = OperandsOf(*node);
      const auto number = [&](int16_t own) {
        return own < group.num_operands
                   ? numbers_.at(ElementsOf(operands[own]))
                   : static_cast<int16_t>(next + own - group.num_operands);
      };
      for (ElementwiseGroup::Instruction one : group.instructions) {
        one.x = number(one.x);
        one.y = number(one.y);
        if (one.then != Elementwise::kIdentity) one.z = number(one.z);
        one.out = number(one.out);
        launch->group.instructions.push_back(one);
      }
      next = static_cast<int16_t>(next + group.num_scratch);
    }
    launch->group.num_scratch = next - launch->group.num_operands;
  }

 private:
  using Elements = std::tuple<int, int64_t, int64_t>;

  static bool Contains(const std::vector<int>& ids, int id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }

  static std::vector<int> OperandsOf(const Node& node) {
    if (node.kind == NodeKind::kGroup) return node.operands;
    std::vector<int> operands = node.inputs;
    operands.push_back(node.outputs[0]);
    return operands;
  }

  static ElementwiseGroup GroupOf(const Node& node) {
    if (node.kind == NodeKind::kGroup) return node.group;
    return cavs::GroupOf(node.kind == NodeKind::kCopy ? Elementwise::kIdentity
                                                      : node.elementwise);
  }

  Elements ElementsOf(int id) const {
    const SymbolLayout& own = program_.layout[id];
    return {own.root, own.offset, own.columns};
  }

  // Whether an earlier access to the same memory is that of other threads.
  bool Conflicts(int id, bool writes) const {
    const SymbolLayout& own = program_.layout[id];
    return std::any_of(
        accesses_.begin(), accesses_.end(), [&](const auto& access) {
          const SymbolLayout& other = program_.layout[access.first];
          return own.root == other.root && (writes || access.second) &&
                 own.offset < other.offset + other.columns &&
                 other.offset < own.offset + own.columns &&
                 ElementsOf(id) != ElementsOf(access.first);
        });
  }

  const CompiledProgram& program_;
  std::vector<const Node*> nodes_;
  std::vector<int> operands_;
  std::map<Elements, int16_t> numbers_;
  std::vector<std::pair<int, bool>> accesses_;  // Symbol, and if it is written.
};

class LaunchPlanner {
 public:
  LaunchPlanner(const CompiledProgram& program, Stage stage)
      : program_(program), overlaps_(program) {
    for (size_t i = 0; i < program.nodes.size(); ++i) {
      if (program.nodes[i].stage == stage && !IsNothing(program.nodes[i])) {
        nodes_.push_back(static_cast<int>(i));
      }
    }
    FindDependences();
  }

  std::vector<CudaLaunch> Plan() {
    std::vector<CudaLaunch> launches;
    done_.assign(nodes_.size(), false);
    for (size_t left = nodes_.size(); left > 0;) {
      CudaLaunch launch = Next();
      left -= launch.nodes.size();
      launch.is_epilogue =
          !launches.empty() && IsEpilogue(launch, launches.back());
      launches.push_back(std::move(launch));
    }
    for (size_t i = 2; i < launches.size(); ++i) {
      if (!launches[i].is_epilogue) continue;
      std::vector<int> summed = SummedIn(launches[i - 2]);
      if (CanForm(summed, launches[i - 1], launches[i])) {
        launches[i - 2].summed = std::move(summed);
      }
    }
    return launches;
  }

 private:
  const Node& node(size_t i) const { return program_.nodes[nodes_[i]]; }
  LaunchKind kind(size_t i) const { return KindOf(program_, node(i)); }

  // A group whose outputs no node reads has none.
  static bool IsNothing(const Node& node) {
    return node.kind == NodeKind::kGroup && node.outputs.empty();
  }

  void FindDependences() {
    before_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (DependsOn(node(i), node(j))) before_[i].push_back(j);
      }
    }
  }

  bool DependsOn(const Node& later, const Node& earlier) const {
    if (Overlap(earlier.outputs, later.inputs) ||
        Overlap(earlier.outputs, later.outputs) ||
        Overlap(earlier.inputs, later.outputs)) {
      return true;
    }
    // Two nodes that move rows out may write the same rows outside of the
    // program.
    if (MovesState(later.kind) && MovesState(earlier.kind)) {
      return later.kind != earlier.kind;
    }
    if (later.kind == NodeKind::kForeign &&
        earlier.kind == NodeKind::kForeign) {
      return true;
    }
    return later.kind == earlier.kind && later.outputs.empty() &&
           RowOf(later.kind).outside == Outside::kExternal &&
           later.index == earlier.index;
  }

  bool Overlap(const std::vector<int>& a, const std::vector<int>& b) const {
    for (const int x : a) {
      const std::vector<int>& others = overlaps_.of(x);
      for (const int y : b) {
        if (std::find(others.begin(), others.end(), y) != others.end()) {
          return true;
        }
      }
    }
    return false;
  }

  // Whether all that a node depends on has run, or runs in the same launch
  // where `may_join` allows it.
  template <typename MayJoin>
  bool IsReady(size_t i, const MayJoin& may_join) const {
    return !done_[i] &&
           std::all_of(before_[i].begin(), before_[i].end(),
                       [&](size_t j) { return done_[j] || may_join(j); });
  }
  bool IsReady(size_t i) const {
    return IsReady(i, [](size_t) { return false; });
  }

  CudaLaunch Next() {
    for (const LaunchKind wanted : kOrder) {
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (kind(i) == wanted && IsReady(i)) return Begin(i);
      }
    }
    return CudaLaunch();  // Not reached: the first node that is left is ready.
  }

  CudaLaunch Begin(size_t first) {
    CudaLaunch launch;
    launch.kind = kind(first);
    std::vector<size_t> chosen;
    switch (launch.kind) {
      case LaunchKind::kElementwise:
        chosen = JoinElementwise(first, &launch);
        break;
      case LaunchKind::kProducts:
        chosen = JoinProducts(first);
        break;
      case LaunchKind::kNode:
        chosen = {first};
        break;
      default:
        for (size_t i = first; i < nodes_.size(); ++i) {
          if (kind(i) == launch.kind && IsReady(i) && IsAlike(i, first)) {
            chosen.push_back(i);
          }
        }
    }
    for (const size_t i : chosen) {
      done_[i] = true;
      launch.nodes.push_back(nodes_[i]);
    }
    return launch;
  }

  bool IsEpilogue(const CudaLaunch& group, const CudaLaunch& products) const {
    if (group.kind != LaunchKind::kElementwise ||
        products.kind != LaunchKind::kProducts) {
      return false;
    }
    return std::all_of(
        products.nodes.begin(), products.nodes.end(), [&](int number) {
          const Node& product = program_.nodes[number];
          return HasColumnsOf(group, product) &&
                 std::none_of(group.nodes.begin(), group.nodes.end(),
                              [&](int i) {
                                return Overlap(product.inputs,
                                               program_.nodes[i].outputs);
                              });
        });
  }

  // Whether a product has the rows of a group, and has its columns side by side
  // once or more, so that each operand that overlaps the product is one of
  // them.
  bool HasColumnsOf(const CudaLaunch& group, const Node& product) const {
    const int to = product.outputs[0];
    const int64_t columns = program_.layout[group.out].columns;
    if (columns == 0 ||
        program_.symbols[to].space != program_.symbols[group.out].space ||
        program_.symbols[to].dtype != program_.symbols[group.out].dtype) {
      return false;
    }
    for (size_t i = 1; i < product.inputs.size(); ++i) {
      if (WidthOf(product, i) % columns != 0) return false;
    }
    return std::all_of(
        group.operands.begin(), group.operands.end(), [&](int id) {
          if (!Overlap({id}, {to})) return true;
          const SymbolLayout &own = program_.layout[id],
                             &all = program_.layout[to];
          return own.columns == columns && own.offset >= all.offset &&
                 (own.offset - all.offset) % columns == 0 &&
                 own.offset + columns <= all.offset + all.columns;
        });
  }

  // The terms of a launch that adds rows and does nothing else, and then their
  // sum; nothing for other launches.
  static std::vector<int> SummedIn(const CudaLaunch& launch) {
    std::vector<int> all;
    int sum = -1;
    for (const ElementwiseGroup::Instruction& one : launch.group.instructions) {
      const bool is_pair = one.then != Elementwise::kIdentity;
      const bool is_last = &one == &launch.group.instructions.back();
      const auto is_operand = [&](int value) {
        return value < launch.group.num_operands;
      };
      if (all.empty()) all = {launch.operands[sum = one.x]};
      const int term = one.x == sum ? one.y : one.x;
      if (one.op != Elementwise::kAdd ||
          (is_pair && (one.then != Elementwise::kAdd || !is_operand(one.z))) ||
          (one.x != sum && one.y != sum) || !is_operand(term) ||
          is_last != is_operand(one.out)) {
        return {};
      }
      all.push_back(launch.operands[term]);
      if (is_pair) all.push_back(launch.operands[one.z]);
      sum = one.out;
    }
    if (!all.empty()) all.push_back(launch.operands[sum]);
    return all;
  }

  // Whether products can form a sum that they read: all of it, while nothing
  // else of the launch touches it, or writes its terms.
  bool CanForm(std::vector<int> terms, const CudaLaunch& products,
               const CudaLaunch& epilogue) const {
    if (terms.empty()) return false;
    const int sum = terms.back();
    terms.pop_back();
    bool is_read = false;
    const SymbolLayout& own = program_.layout[sum];
    const auto is_alike = [&](int id) {
      const SymbolLayout& other = program_.layout[id];
      return other.has_rows() && other.columns == own.columns &&
             program_.symbols[id].space == program_.symbols[sum].space &&
             program_.symbols[id].dtype == program_.symbols[sum].dtype;
    };
    for (const int number : products.nodes) {
      const Node& product = program_.nodes[number];
      if (Overlap(terms, product.outputs)) return false;
      if (!Overlap({sum}, product.inputs)) continue;
      const SymbolLayout& read = program_.layout[product.inputs[0]];
      is_read = read.root == own.root && read.offset == own.offset &&
                is_alike(product.inputs[0]);
      if (!is_read) return false;
    }
    return is_read && std::all_of(terms.begin(), terms.end(), is_alike) &&
           !Overlap({sum}, terms) && !Overlap({sum}, epilogue.operands) &&
           std::none_of(epilogue.nodes.begin(), epilogue.nodes.end(),
                        [&](int i) {
                          return Overlap(terms, program_.nodes[i].outputs);
                        });
  }

  // Products and sums of a launch have one type.
  bool IsAlike(size_t i, size_t first) const {
    return kind(i) == LaunchKind::kMoves || TypeOf(i) == TypeOf(first);
  }
  DType TypeOf(size_t i) const {
    return program_.symbols[node(i).outputs[0]].dtype;
  }

  std::vector<size_t> JoinElementwise(size_t first, CudaLaunch* launch) const {
    GroupJoiner joiner(program_);
    std::vector<size_t> chosen;
    const auto is_chosen = [&](size_t j) {
      return std::find(chosen.begin(), chosen.end(), j) != chosen.end();
    };
    launch->out = OutOf(node(first));
    for (size_t i = first; i < nodes_.size(); ++i) {
      if (kind(i) != LaunchKind::kElementwise || !IsReady(i, is_chosen)) {
        continue;
      }
      if (IsOverTheSame(i, first) && joiner.Add(node(i))) chosen.push_back(i);
    }
    joiner.Write(launch);
    return chosen;
  }

  static int OutOf(const Node& node) {
    return node.kind == NodeKind::kGroup ? node.members[0].outputs[0]
                                         : node.outputs[0];
  }

  // Whether two elementwise nodes have the same rows and columns.
  bool IsOverTheSame(size_t i, size_t first) const {
    const int a = OutOf(node(i)), b = OutOf(node(first));
    return program_.symbols[a].space == program_.symbols[b].space &&
           program_.symbols[a].dtype == program_.symbols[b].dtype &&
           program_.symbols[a].columns() == program_.symbols[b].columns() &&
           program_.zeros.only_for_children[nodes_[i]] ==
               program_.zeros.only_for_children[nodes_[first]];
  }

  // A product that is added to another one of the launch is a term of it.
  std::vector<size_t> JoinProducts(size_t first) const {
    std::vector<size_t> chosen;
    for (size_t i = first; i < nodes_.size(); ++i) {
      if (kind(i) != LaunchKind::kProducts || !IsAlike(i, first)) continue;
      const auto is_term = [&](size_t j) {
        return std::find(chosen.begin(), chosen.end(), j) != chosen.end() &&
               node(i).accumulate && node(i).outputs[0] == node(j).outputs[0] &&
               HaveSameWidths(node(i), node(j));
      };
      if (IsReady(i, is_term)) chosen.push_back(i);
    }
    return chosen;
  }

  bool HaveSameWidths(const Node& a, const Node& b) const {
    if (a.inputs.size() != b.inputs.size()) return false;
    for (size_t i = 1; i < a.inputs.size(); ++i) {
      if (WidthOf(a, i) != WidthOf(b, i)) return false;
    }
    return true;
  }
  int64_t WidthOf(const Node& product, size_t i) const {
    return program_.symbols[product.inputs[i]].shape[product.transpose ? 0 : 1];
  }

  const CompiledProgram& program_;
  const Overlaps overlaps_;
  std::vector<int> nodes_;  // The nodes of the stage, by number.
  std::vector<std::vector<size_t>> before_;  // The nodes that each depends on.
  std::vector<bool> done_;
};

}  // namespace

std::vector<CudaLaunch> PlanLaunches(const CompiledProgram& program,
                                     Stage stage) {
  return LaunchPlanner(program, stage).Plan();
}

std::vector<int> FindSentBack(const CompiledProgram& program) {
  const Overlaps overlaps(program);
  std::vector<int> sent_by(program.symbols.size(), -1);
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& sends = program.nodes[i];
    if (sends.kind != NodeKind::kGatherGrad) continue;
    const SymbolLayout& all = program.layout[sends.inputs[0]];
    std::vector<bool> is_sent(program.symbols.size()), is_written = is_sent;
    is_sent[sends.inputs[0]] = true;
    bool is_possible = !overlaps.AnyMarked(is_sent, program.results);
    for (const Node& node : program.nodes) {
      if (&node == &sends) continue;
      is_possible = is_possible && !overlaps.AnyMarked(is_sent, node.inputs);
      for (const int id : node.outputs) {
        if (!overlaps.AnyMarked(is_sent, {id})) continue;
        const SymbolLayout& own = program.layout[id];
        is_possible = is_possible && node.stage == Stage::kCritical &&
                      KindOf(program, node) == LaunchKind::kElementwise &&
                      own.offset >= all.offset &&
                      own.offset + own.columns <= all.offset + all.columns &&
                      !overlaps.AnyMarked(is_written, {id});
        is_written[id] = true;
      }
    }
    if (!is_possible) continue;
    for (const int id : overlaps.of(sends.inputs[0])) {
      sent_by[id] = static_cast<int>(i);
    }
  }
  return sent_by;
}

}  // namespace cavs
