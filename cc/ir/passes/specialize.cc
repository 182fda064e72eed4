#include "cc/ir/passes/specialize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "cc/ir/passes/narrow_results.h"
#include "cc/ir/passes/remove_unused.h"
#include "cc/ir/passes/split_products.h"
#include "cc/ir/uses.h"

namespace cavs {
namespace {

// Whether the framework's operator moves numbers, or adds them up.
bool IsLinear(std::string_view op) {
  static constexpr std::string_view kLinear[] = {
      "Add",       "AddN",       "AddV2",        "Concat",
      "ConcatV2",  "ExpandDims", "Identity",     "Pack",
      "Pad",       "Reshape",    "Slice",        "Split",
      "SplitV",    "Squeeze",    "StridedSlice", "StridedSliceGrad",
      "Transpose", "Unpack"};
  return std::find(std::begin(kLinear), std::end(kLinear), op) !=
         std::end(kLinear);
}

// Whether the operator gives finite numbers for finite operands, unless one
// overflows.
bool KeepsFinite(Elementwise op) {
  switch (op) {
    case Elementwise::kSqrt:
    case Elementwise::kRsqrt:
    case Elementwise::kReciprocal:
    case Elementwise::kExp:
    case Elementwise::kLog:
    case Elementwise::kDiv:
      return false;
    default:
      return true;
  }
}

template <typename T>
bool AreFinite(const T* values, int64_t count) {
  return std::all_of(values, values + count,
                     [](T value) { return std::isfinite(value); });
}

bool IsFiniteConstant(const Symbol& s) {
  const int64_t count = s.columns();
  if (s.constant == nullptr || s.constant->data == nullptr) return false;
  if (s.dtype == DType::kFloat32) {
    return AreFinite(static_cast<const float*>(s.constant->data), count);
  }
  return s.dtype == DType::kFloat64 &&
         AreFinite(static_cast<const double*>(s.constant->data), count);
}

bool IsConstantZero(const Symbol& s) {
  if (s.constant == nullptr || s.constant->data == nullptr) return false;
  const char* const bytes = static_cast<const char*>(s.constant->data);
  return std::all_of(bytes, bytes + s.columns() * SizeOf(s.dtype),
                     [](char byte) { return byte == 0; });
}

// Whether the node pulls which slots have a child.
bool IsChildMask(const Program& program, const Node& pull,
                 const VertexTraits& traits) {
  return traits.of_children.count(pull.index) > 0 &&
         program.symbols[pull.outputs[0]].dtype == DType::kBool;
}

// Finds the symbols that are zero, and those that are one, in rows of vertices
// with these traits.
class Facts {
 public:
  // `function` has the facts of the function, if `program` is its derivative;
  // else it is null.
  Facts(const Program& program, const VertexTraits& traits, Facts* function,
        Variant* variant)
      : program_(program),
        traits_(traits),
        function_(function),
        variant_(*variant),
        uses_(program),
        is_finite_(program.nodes.size(), kUnknown) {
    is_one_ = FindOnes();
    is_absent_ = FindZeros(Zeros::kOfAbsentInputs);
    is_zero_ = FindZeros(Zeros::kAll);
  }

  const Uses& uses() const { return uses_; }
  const VertexTraits& traits() const { return traits_; }
  bool IsZero(int id) const { return is_zero_[id]; }
  bool IsOne(int id) const { return is_one_[id]; }
  // Whether it is zero because inputs are missing. Nothing is multiplied by an
  // input that a vertex does not have, not even infinity.
  bool IsAbsent(int id) const { return is_absent_[id]; }

  // Whether no element is infinite or NaN, if the captures and inputs that it
  // adds to the variant are finite.
  bool IsFinite(int id) {
    int64_t offset;
    const Symbol& root = program_.symbols[program_.Root(id, &offset)];
    switch (root.source) {
      case SymbolSource::kSaved:
        return function_->IsFinite(function_->program_.results[root.index]);
      case SymbolSource::kConstant:
        return IsFiniteConstant(root);
      case SymbolSource::kCapture:
        if (!IsNative(root.dtype)) return false;
        MustBeFinite(root.index, root.shape_known
                                     ? CaptureRange{offset, offset + extent(id)}
                                     : CaptureRange());
        return true;
      case SymbolSource::kNode:
        break;
    }
    const std::vector<int> writers = uses_.WritersOfAny(id);
    return !writers.empty() &&
           std::all_of(writers.begin(), writers.end(),
                       [this](int node) { return WritesFinite(node); });
  }

  // Whether `node`, a product or a sum over rows, adds nothing but zeros.
  bool AddsZero(const Node& node) {
    return AddsZero(node, is_zero_, Zeros::kAll);
  }

 private:
  void MustBeFinite(int capture, const CaptureRange& range) {
    const auto [known, is_new] =
        variant_.finite_captures.insert({capture, range});
    if (is_new) return;
    known->second.begin = std::min(known->second.begin, range.begin);
    known->second.end = std::max(known->second.end, range.end);
  }

  int64_t extent(int id) const { return program_.symbols[id].extent(); }

  enum Answer : uint8_t { kUnknown, kNo, kYes };

  // Which zeros are looked for.
  enum class Zeros { kAll, kOfAbsentInputs };

  std::vector<bool> FindZeros(Zeros which) {
    return FindAll(
        [&](int saved) {
          return which == Zeros::kAll ? function_->IsZero(saved)
                                      : function_->IsAbsent(saved);
        },
        [&](const Node& node, const std::vector<bool>& zeros) {
          return WritesZero(node, zeros, which);
        });
  }

  std::vector<bool> FindOnes() {
    const std::vector<bool> none(program_.symbols.size(), false);
    if (!traits_.all_children && !traits_.childless) return none;
    const std::vector<bool> zeros =
        FindAll([&](int saved) { return function_->IsZero(saved); },
                [&](const Node& node, const std::vector<bool>& found) {
                  return WritesMask(node, traits_.childless, found, none);
                });
    return FindAll([&](int saved) { return function_->IsOne(saved); },
                   [&](const Node& node, const std::vector<bool>& found) {
                     return WritesMask(node, traits_.all_children, found,
                                       zeros);
                   });
  }

  // Finds the symbols all of whose elements are such a number. Starts from the
  // assumption that every computed symbol is, and drops it until every node
  // that writes a remaining symbol, or one that overlaps it, writes such
  // numbers.
  template <typename IsSavedSo, typename WritesSo>
  std::vector<bool> FindAll(const IsSavedSo& is_saved_so,
                            const WritesSo& writes_so) {
    std::vector<bool> found(program_.symbols.size(), false);
    for (size_t id = 0; id < found.size(); ++id) {
      int64_t offset;
      const Symbol& root =
          program_.symbols[program_.Root(static_cast<int>(id), &offset)];
      if (root.kind != SymbolKind::kRows) continue;
      if (root.source == SymbolSource::kSaved) {
        found[id] = is_saved_so(function_->program_.results[root.index]);
      } else {
        found[id] = !uses_.WritersOfAny(static_cast<int>(id)).empty();
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const Node& node : program_.nodes) {
        if (!writes_so(node, found)) changed |= Drop(node, &found);
      }
    }
    return found;
  }

  bool Drop(const Node& node, std::vector<bool>* found) const {
    bool changed = false;
    for (int id : node.outputs) {
      for (int other : uses_.overlaps().of(id)) {
        changed = changed || (*found)[other];
        (*found)[other] = false;
      }
    }
    return changed;
  }

  // Whether the node writes a mask whose elements are all the number that the
  // elements of the masks in `same` are. `negated` are masks of the other
  // number. `of_children` says whether the masks of children are such.
  bool WritesMask(const Node& node, bool of_children,
                  const std::vector<bool>& same,
                  const std::vector<bool>& negated) const {
    const std::vector<int>& in = node.inputs;
    switch (node.kind) {
      case NodeKind::kPull:
        return of_children && IsChildMask(program_, node, traits_);
      case NodeKind::kToMask:
      case NodeKind::kCopy:
        return same[in[0]];
      case NodeKind::kElementwise:
        if (IsNegation(node)) return negated[in[0]];
        return (node.elementwise == Elementwise::kMul ||
                node.elementwise == Elementwise::kMaximum) &&
               same[in[0]] && same[in[1]];
      default:
        return false;
    }
  }

  // Whether it writes ones where its operand is zero, and zeros elsewhere:
  // LogicalNot of a mask.
  bool IsNegation(const Node& node) const {
    return node.elementwise == Elementwise::kEqual &&
           IsConstantZero(program_.symbols[node.inputs[1]]);
  }

  bool WritesZero(const Node& node, const std::vector<bool>& zeros,
                  Zeros which) {
    switch (node.kind) {
      case NodeKind::kGather:
        return which == Zeros::kAll && IsMissing(node);
      case NodeKind::kPull:
        return IsMissing(node) || (which == Zeros::kAll && traits_.childless &&
                                   traits_.of_children.count(node.index) > 0);
      case NodeKind::kSpread:
      case NodeKind::kSumEdges:
      case NodeKind::kMaxEdges:
        return (which == Zeros::kAll && traits_.childless) ||
               zeros[node.inputs[0]];
      case NodeKind::kZero:
        return which == Zeros::kAll;
      case NodeKind::kCopy:
      case NodeKind::kSumColumns:
      case NodeKind::kToMask:
        return zeros[node.inputs[0]];
      case NodeKind::kMatMul:
        return AddsZero(node, zeros, which);
      case NodeKind::kElementwise:
        return WritesElementwiseZero(node, zeros, which);
      default:
        return false;
    }
  }

  bool AddsZero(const Node& node, const std::vector<bool>& zeros, Zeros which) {
    const std::vector<int>& in = node.inputs;
    switch (node.kind) {
      case NodeKind::kMatMul:
        return std::all_of(in.begin() + 1, in.end(), [&](int factor) {
          return IsZeroTimes(in[0], factor, zeros, which);
        });
      case NodeKind::kWeightGrad:
        return IsZeroTimes(in[0], in[1], zeros, which) ||
               IsZeroTimes(in[1], in[0], zeros, which);
      case NodeKind::kSumRows:
        return zeros[in[0]];
      default:
        return false;
    }
  }

  bool IsMissing(const Node& node) const {
    if (node.kind == NodeKind::kGather) return traits_.childless;
    return traits_.missing_pulls.count(node.index) > 0 &&
           IsNative(program_.symbols[node.outputs[0]].dtype);
  }

  bool WritesElementwiseZero(const Node& node, const std::vector<bool>& zeros,
                             Zeros which) {
    const std::vector<int>& in = node.inputs;
    switch (node.elementwise) {
      case Elementwise::kMul:
        return IsZeroTimes(in[0], in[1], zeros, which) ||
               IsZeroTimes(in[1], in[0], zeros, which);
      case Elementwise::kSigmoidGrad:
      case Elementwise::kTanhGrad:
        return IsZeroTimes(in[1], in[0], zeros, which);
      case Elementwise::kReluGrad:
      case Elementwise::kSoftplusGrad:
        return IsZeroTimes(in[0], in[1], zeros, which);
      case Elementwise::kKeep:
        return zeros[in[0]] || zeros[in[1]];
      case Elementwise::kDrop:
        return zeros[in[0]] || (which == Zeros::kAll && is_one_[in[1]]);
      case Elementwise::kEqual:
        return which == Zeros::kAll && IsNegation(node) && is_one_[in[0]];
      default:
        return KeepsZero(node.elementwise) &&
               std::all_of(in.begin(), in.end(),
                           [&](int id) { return zeros[id]; });
    }
  }

  // Whether x is zero, and so is its product with a number of y.
  bool IsZeroTimes(int x, int y, const std::vector<bool>& zeros, Zeros which) {
    if (!zeros[x]) return false;
    return which == Zeros::kOfAbsentInputs || is_absent_[x] || IsFinite(y);
  }

  bool WritesFinite(int number) {
    Answer& answer = is_finite_[number];
    if (answer == kUnknown) {
      answer = kYes;  // A sum in place reads its own result.
      answer = FindFinite(program_.nodes[number]) ? kYes : kNo;
    }
    return answer == kYes;
  }

  bool FindFinite(const Node& node) {
    switch (node.kind) {
      case NodeKind::kGather:
        return IsMissing(node);
      case NodeKind::kZero:
        return true;
      case NodeKind::kScatterGrad:
      case NodeKind::kPushGrad:
        variant_.finite_gradients = true;
        return true;
      case NodeKind::kPull:
        if (IsMissing(node)) return true;
        if (!IsNative(program_.symbols[node.outputs[0]].dtype)) return false;
        variant_.finite_pulls.insert(node.index);
        return true;
      case NodeKind::kElementwise:
        if (!KeepsFinite(node.elementwise)) return false;
        break;
      case NodeKind::kSpread:
      case NodeKind::kSumEdges:
      case NodeKind::kMaxEdges:
        if (traits_.childless) return true;
        break;
      case NodeKind::kToMask:
        return true;
      case NodeKind::kForeign:
        if (!IsLinear(node.op)) return false;
        break;
      case NodeKind::kMatMul:
      case NodeKind::kCopy:
      case NodeKind::kSumColumns:
        break;
      default:
        return false;
    }
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](int id) {
      const bool is_size = node.kind == NodeKind::kForeign &&
                           !IsNative(program_.symbols[id].dtype);
      return is_size || IsFinite(id);
    });
  }

  const Program& program_;
  const VertexTraits& traits_;
  Facts* const function_;
  Variant& variant_;
  const Uses uses_;
  std::vector<bool> is_one_, is_absent_, is_zero_;  // By symbol.
  std::vector<Answer> is_finite_;                   // By node, as it was found.
};

// Leaves out what computes zeros.
class Folder {
 public:
  Folder(Program* program, Facts* facts) : program_(*program), facts_(*facts) {}

  void Run() {
    std::vector<Node> kept;
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      Node& node = program_.nodes[i];
      if (Fold(static_cast<int>(i), &node)) kept.push_back(std::move(node));
    }
    program_.nodes = std::move(kept);
    BeginSums();
  }

 private:
  bool IsZero(int id) const { return facts_.IsZero(id); }

  // Changes `node`; returns whether it is still needed.
  bool Fold(int number, Node* node) {
    switch (node->kind) {
      case NodeKind::kGather:
        return true;  // Reads the row of zeros, which takes no time.
      case NodeKind::kGatherGrad:
        return !facts_.traits().childless;
      case NodeKind::kPullGrad:
        if (facts_.traits().missing_pull_grads.count(node->index) > 0)
          return false;
        [[fallthrough]];
      case NodeKind::kPush:
        return !IsZero(node->inputs[0]);  // Rows that are not written are zero.
      case NodeKind::kWeightGrad:
      case NodeKind::kSumRows:
        return !facts_.AddsZero(*node) || !MayLeaveOut(node->outputs[0]);
      default:
        break;
    }
    if (node->outputs.size() == 1 && IsZero(node->outputs[0])) {
      return BecomesZero(node);
    }
    if (node->kind == NodeKind::kMatMul && facts_.AddsZero(*node)) {
      return !IsAddedTo(number) && BecomesZero(node);
    }
    return node->kind != NodeKind::kElementwise || !IsLeftOut(number, node);
  }

  // Whether the next node that writes the product is another product.
  bool IsAddedTo(int number) const {
    const int product = program_.nodes[number].outputs[0];
    const std::vector<int> writers = facts_.uses().WritersOfAny(product);
    const auto next = std::upper_bound(writers.begin(), writers.end(), number);
    return next != writers.end() &&
           program_.nodes[*next].kind == NodeKind::kMatMul &&
           program_.nodes[*next].outputs[0] == product;
  }

  static bool BecomesZero(Node* node) {
    if (node->accumulate) return false;
    node->kind = NodeKind::kZero;
    node->inputs.clear();
    return true;
  }

  // Whether a part of a sum need not be written: nodes do not read the sum, and
  // write whole parts of it.
  bool MayLeaveOut(int part) const {
    int64_t offset;
    const int root = program_.Root(part, &offset);
    const Uses& uses = facts_.uses();
    if (!uses.ReadersOfAny(root).empty()) return false;
    const std::vector<int>& others = uses.overlaps().of(part);
    return std::all_of(others.begin(), others.end(), [&](int other) {
      return other == part || uses.writers(other).empty();
    });
  }

  // The operand that a binary operator returns unchanged, since the other one
  // is zero or one; -1 if there is none.
  int Unchanged(const Node& node) const {
    const int x = node.inputs[0], y = node.inputs[1];
    switch (node.elementwise) {
      case Elementwise::kAdd:
        return IsZero(y) ? x : IsZero(x) ? y : -1;
      case Elementwise::kSub:
      case Elementwise::kDrop:
        return IsZero(y) ? x : -1;
      case Elementwise::kKeep:
        return facts_.IsOne(y) ? x : -1;
      case Elementwise::kMul:
        return facts_.IsOne(y) ? x : facts_.IsOne(x) ? y : -1;
      default:
        return -1;
    }
  }

  // Returns whether the result is, or became a view of, an operand. 0 - x
  // becomes -x.
  bool IsLeftOut(int number, Node* node) {
    const int out = node->outputs[0];
    if (node->elementwise == Elementwise::kSub && IsZero(node->inputs[0]) &&
        !IsZero(node->inputs[1]) && HasShapeOf(out, node->inputs[1])) {
      node->elementwise = Elementwise::kNeg;
      node->inputs.erase(node->inputs.begin());
      return false;
    }
    if (node->inputs.size() != 2) return false;
    const int unchanged = Unchanged(*node);
    if (unchanged < 0 || !HasShapeOf(out, unchanged)) return false;
    node->inputs = {unchanged};
    if (unchanged == out) return true;  // A sum in place.
    const bool may_view =
        program_.symbols[out].parent < 0 &&
        facts_.uses().WritersOfAny(out) == std::vector<int>{number};
    if (may_view) {
      program_.symbols[out].parent = node->inputs[0];
      return true;
    }
    node->kind = NodeKind::kCopy;
    return false;
  }

  bool HasShapeOf(int id, int other) const {
    const Symbol &a = program_.symbols[id], &b = program_.symbols[other];
    return a.kind == b.kind && a.dtype == b.dtype && a.columns() == b.columns();
  }

  // The first node that writes a sum sets it, and does not add to it.
  void BeginSums() {
    std::vector<bool> is_begun(program_.symbols.size(), false);
    const Overlaps overlaps(program_);
    for (Node& node : program_.nodes) {
      if (node.accumulate && !overlaps.AnyMarked(is_begun, node.outputs)) {
        node.accumulate = false;
      }
      for (int id : node.outputs) is_begun[id] = true;
    }
  }

  Program& program_;
  Facts& facts_;
};

// Finds which parts of the results are still written. The other results and
// parts are zero.
class PartFinder {
 public:
  explicit PartFinder(Variant* variant)
      : variant_(*variant), program_(variant->derivative), uses_(program_) {}

  void Run() {
    for (size_t i = 0; i < program_.results.size(); ++i) {
      const int sum = program_.results[i];
      // The general derivative computes what does not depend on rows.
      if (program_.symbols[sum].kind != SymbolKind::kReduced) continue;
      for (int part : WrittenParts(sum)) {
        results_.push_back(part);
        variant_.parts.push_back(
            {static_cast<int>(i), OffsetOf(part) - OffsetOf(sum)});
      }
    }
    program_.results = std::move(results_);
  }

 private:
  int64_t OffsetOf(int id) const {
    int64_t offset;
    program_.Root(id, &offset);
    return offset;
  }

  std::vector<int> WrittenParts(int sum) const {
    std::vector<int> parts;
    for (int part : uses_.overlaps().of(sum)) {
      if (uses_.writers(part).empty()) continue;
      const int64_t offset = OffsetOf(part) - OffsetOf(sum);
      const bool is_within =
          offset >= 0 && offset + program_.symbols[part].columns() <=
                             program_.symbols[sum].columns();
      if (part == sum || !is_within) return {sum};
      parts.push_back(part);
    }
    return parts;
  }

  Variant& variant_;
  Program& program_;
  const Uses uses_;
  std::vector<int> results_;
};

// Leaves out the results of the function that the derivative does not read.
void LeaveOutResults(Variant* variant) {
  Program& derivative = variant->derivative;
  const Uses uses(derivative);
  std::set<int> kept;
  for (size_t id = 0; id < derivative.symbols.size(); ++id) {
    Symbol& saved = derivative.symbols[id];
    if (saved.source != SymbolSource::kSaved || saved.parent >= 0) continue;
    const int symbol = static_cast<int>(id);
    if (!uses.ReadersOfAny(symbol).empty() || uses.IsResult(symbol)) {
      kept.insert(saved.index);
    } else {
      saved.source = SymbolSource::kNode;
    }
  }
  std::vector<int> results;
  for (int number : kept) {
    variant->kept.push_back(number);
    results.push_back(variant->function.results[number]);
  }
  variant->function.results = std::move(results);
}

// Whether a node of a derivative may run once for the sums over leaves and once
// for those over other vertices, and the results be added up. A user's gradient
// of a weight may clip it.
bool IsLinearInSums(const Program& program, const Node& node) {
  if (node.stage != Stage::kEpilogue) return true;
  const auto is_sum_or_size = [&](int id) {
    const Symbol& s = program.symbols[id];
    return s.kind == SymbolKind::kReduced || !IsNative(s.dtype);
  };
  return IsLinear(node.op) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), is_sum_or_size);
}

}  // namespace

bool MaySpecialize(const Program& function, const Program* derivative,
                   const VertexTraits& traits) {
  bool gathers = false, pulls = false, asks = false;
  for (const Node& node : function.nodes) {
    gathers |= node.kind == NodeKind::kGather;
    if (node.kind != NodeKind::kPull) continue;
    pulls |= traits.missing_pulls.count(node.index) > 0;
    asks |= IsChildMask(function, node, traits);
  }
  const bool reads_all = gathers >= traits.childless &&
                         asks >= traits.all_children &&
                         pulls >= !traits.missing_pulls.empty();
  if (!reads_all) return false;
  if (derivative == nullptr) return function.results.empty();
  for (int id : derivative->results) {
    const DType dtype = derivative->symbols[id].dtype;
    // The sums of the programs are added up when they have been rounded.
    if (!IsNative(dtype) || SumType(dtype) != dtype) return false;
  }
  return std::all_of(
      derivative->nodes.begin(), derivative->nodes.end(),
      [&](const Node& node) { return IsLinearInSums(*derivative, node); });
}

Variant Specialize(const Program& function, const Program* derivative,
                   const VertexTraits& traits) {
  Variant variant;
  variant.function = function;
  Facts facts(function, traits, nullptr, &variant);
  if (derivative != nullptr) {
    variant.derivative = *derivative;
    Facts of_derivative(*derivative, traits, &facts, &variant);
    Folder(&variant.derivative, &of_derivative).Run();
    LeaveOutZeroColumns(
        [&](int weight) { return of_derivative.IsFinite(weight); },
        &variant.derivative);
    PartFinder(&variant).Run();
    RemoveUnused(&variant.derivative);
    LeaveOutResults(&variant);
  }
  Folder(&variant.function, &facts).Run();
  LeaveOutZeroColumns([&](int weight) { return facts.IsFinite(weight); },
                      &variant.function);
  RemoveUnused(&variant.function);
  NarrowResults(&variant.function);
  RemoveUnused(&variant.function);
  return variant;
}

}  // namespace cavs
