#include "cc/ir/verify.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "cc/base/byte_count.h"

namespace cavs {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), written_(program.symbols.size()) {}

  Status Run() {
    for (size_t id = 0; id < program_.symbols.size(); ++id) {
      CAVS_RETURN_IF_ERROR(CheckSymbol(static_cast<int>(id)));
    }
    for (int stage = 0; stage < kNumStages; ++stage) {
      for (const Node& node : program_.nodes) {
        if (static_cast<int>(node.stage) != stage) continue;
        CAVS_RETURN_IF_ERROR(CheckNode(node));
        for (int id : node.outputs) SetWritten(id);
      }
    }
    for (int id : program_.results) {
      if (!Exists(id) || !IsAvailable(id)) {
        return InvalidArgument("vertex function ", program_.name, ": result ",
                               id, " is not computed by it.", kAdvice);
      }
    }
    return Status();
  }

 private:
  static constexpr char kAdvice[] =
      " Trace the vertex function again: it was changed since.";

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  bool Exists(int id) const {
    return id >= 0 && id < static_cast<int>(program_.symbols.size());
  }

  int RootOf(int id) const {
    int64_t offset;
    return program_.Root(id, &offset);
  }

  // Whether `id` is given, or nodes have written every element of it so far.
  bool IsAvailable(int id) const {
    int64_t begin;
    const int root = program_.Root(id, &begin);
    if (symbol(root).source != SymbolSource::kNode ||
        symbol(root).kind == SymbolKind::kRowCount) {
      return true;
    }
    const int64_t end = begin + symbol(id).columns();
    const auto after = written_[root].upper_bound(begin);
    if (begin == end) return true;
    return after != written_[root].begin() && std::prev(after)->second >= end;
  }

  void SetWritten(int id) {
    int64_t begin;
    std::map<int64_t, int64_t>& ranges = written_[program_.Root(id, &begin)];
    int64_t end = begin + symbol(id).columns();
    // Merges the new range with those that it overlaps or adjoins.
    auto next = ranges.upper_bound(begin);
    if (next != ranges.begin() && std::prev(next)->second >= begin) --next;
    while (next != ranges.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = ranges.erase(next);
    }
    ranges[begin] = end;
  }

  Status Wrong(const Symbol& s, const char* got, const char* expected) const {
    return InvalidArgument("vertex function ", program_.name, ": tensor ",
                           s.name, " got ", got, " but expected ", expected,
                           ".", kAdvice);
  }

  Status Wrong(const Node& node, const char* expected) const {
    return InvalidArgument("vertex function ", program_.name, ": operator ",
                           node.name, " (", node.op, ") got operands of other ",
                           "sizes or types but expected ", expected, ".",
                           kAdvice);
  }

  Status CheckSymbol(int id) const {
    const Symbol& s = symbol(id);
    if (CheckedProduct(s.shape) < 0) {
      return Wrong(s, "a shape with a negative or too large size",
                   "at most 2^48 elements");
    }
    const bool is_stored =
        s.kind == SymbolKind::kRows || s.kind == SymbolKind::kReduced;
    if (is_stored && SizeOf(s.dtype) == 0) {
      return Wrong(s, "a type without a size", "numbers");
    }
    if (s.source == SymbolSource::kConstant &&
        (s.constant == nullptr || s.constant->shape != s.shape ||
         s.constant->dtype != s.dtype)) {
      return Wrong(s, "no such constant", "its value");
    }
    const bool is_given =
        s.source == SymbolSource::kCapture || s.source == SymbolSource::kSaved;
    if (is_given && s.index < 0) return Wrong(s, "no number", "one");
    if (s.kind == SymbolKind::kRowCount) return CheckRowCount(s);
    return s.parent == -1 ? Status() : CheckView(id);
  }

  Status CheckRowCount(const Symbol& s) const {
    const size_t n = s.columns();
    const bool is_integer =
        s.dtype == DType::kInt32 || s.dtype == DType::kInt64;
    if (is_integer && s.scale.size() == n && s.bias.size() == n) {
      return Status();
    }
    return Wrong(s, "other numbers of factors and terms",
                 "one integer of each per element");
  }

  Status CheckView(int id) const {
    const Symbol& s = symbol(id);
    size_t links = 0;
    for (int i = id; i >= 0; i = symbol(i).parent) {
      if (!Exists(i) || ++links > program_.symbols.size()) {
        return Wrong(s, "itself as a tensor that it is a view of",
                     "another tensor");
      }
      const int parent = symbol(i).parent;
      if (parent < -1 || (parent >= 0 && !Exists(parent))) {
        return Wrong(s, "no tensor that it is a view of", "one");
      }
    }
    const Symbol& whole = symbol(s.parent);
    if (s.pitch != 0 &&
        (s.kind != SymbolKind::kInvariant || !s.shape_known ||
         s.shape.size() != 2 || s.shape[0] == 0 || s.pitch < s.shape[1] ||
         s.pitch > kMostElements / s.shape[0])) {
      return Wrong(s, "columns of another tensor", "columns of a matrix");
    }
    if (s.offset < 0 || s.offset > kMostElements ||
        s.offset + s.extent() > whole.columns() || s.kind != whole.kind ||
        s.dtype != whole.dtype || s.space != whole.space ||
        (s.kind != SymbolKind::kRows && s.kind != SymbolKind::kReduced &&
         s.kind != SymbolKind::kInvariant)) {
      return Wrong(
          s, "other elements than those of the tensor that it is a view of",
          "some of them");
    }
    return Status();
  }

  bool IsRows(int id) const { return symbol(id).kind == SymbolKind::kRows; }
  bool IsRowsOf(RowSpace space, int id) const {
    return IsRows(id) && symbol(id).space == space;
  }

  // Whether all rows that the node reads or writes are of one space.
  bool HasOneSpace(const Node& node) const {
    const RowSpace* space = nullptr;
    for (const std::vector<int>* ids : {&node.inputs, &node.outputs}) {
      for (int id : *ids) {
        const Symbol& s = symbol(id);
        if (s.kind != SymbolKind::kRows && s.kind != SymbolKind::kRowCount) {
          continue;
        }
        if (space != nullptr && *space != s.space) return false;
        space = &s.space;
      }
    }
    return true;
  }

  bool HasSizes(const Node& node, size_t inputs, size_t outputs) const {
    return node.inputs.size() == inputs && node.outputs.size() == outputs;
  }

  bool AllHaveType(const Node& node, DType dtype) const {
    const auto has = [&](int id) { return symbol(id).dtype == dtype; };
    return std::all_of(node.inputs.begin(), node.inputs.end(), has) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), has);
  }

  Status CheckNode(const Node& node) {
    for (const std::vector<int>* ids : {&node.inputs, &node.outputs}) {
      if (!std::all_of(ids->begin(), ids->end(),
                       [&](int id) { return Exists(id); })) {
        return Wrong(node, "tensors that there are");
      }
    }
    for (int id : node.inputs) {
      if (!IsAvailable(id)) {
        return Wrong(node, "values that were computed before");
      }
    }
    for (int id : node.outputs) {
      if (symbol(RootOf(id)).source != SymbolSource::kNode) {
        return Wrong(node, "results that were not given");
      }
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_weight = node.kind == NodeKind::kMatMul && i > 0;
      if (!is_weight && symbol(node.inputs[i]).pitch != 0) {
        return Wrong(node, "adjacent rows, as it is no product");
      }
    }
    if (MovesRows(node.kind)) return CheckMovedRows(node);
    if (node.kind != NodeKind::kSpread && !ReducesEdges(node.kind) &&
        !HasOneSpace(node)) {
      return Wrong(node, "either rows of vertices or rows of edges");
    }
    if (node.kind == NodeKind::kForeign) return Status();
    if (node.kind == NodeKind::kGroup) return CheckGroup(node);
    return Computes(node) ? Status()
                          : Wrong(node, "those that its kernel takes");
  }

  // Members run one after the other. Their outputs stay in scratch unless they
  // are outputs of the group.
  Status CheckGroup(const Node& node) {
    const int values = node.group.num_operands + node.group.num_scratch;
    if (node.group.num_scratch > ElementwiseGroup::kMaxScratch ||
        values > ElementwiseGroup::kMaxValues ||
        node.group.num_operands != static_cast<int>(node.operands.size())) {
      return Wrong(node, "no more values than its kernel has room for");
    }
    for (const ElementwiseGroup::Instruction& instruction :
         node.group.instructions) {
      for (int value :
           {instruction.x, instruction.y, instruction.z, instruction.out}) {
        if (value < 0 || value >= values) return Wrong(node, "its own values");
      }
    }
    std::vector<int> written;
    for (const Node& member : node.members) {
      if (member.kind != NodeKind::kElementwise &&
          member.kind != NodeKind::kCopy) {
        return Wrong(node, "elementwise operators");
      }
      CAVS_RETURN_IF_ERROR(CheckNode(member));
      for (int id : member.outputs) SetWritten(id);
      written.insert(written.end(), member.outputs.begin(),
                     member.outputs.end());
    }
    for (int id : node.outputs) {
      if (std::count(written.begin(), written.end(), id) == 0) {
        return Wrong(node, "outputs that its members write");
      }
    }
    return Status();
  }

  Status CheckMovedRows(const Node& node) const {
    const bool leaves = !RowOf(node.kind).brings_in;
    if (!HasSizes(node, leaves ? 1 : 0, leaves ? 0 : 1)) {
      return Wrong(node, "one tensor");
    }
    const Symbol& s = symbol(leaves ? node.inputs[0] : node.outputs[0]);
    if (s.kind != SymbolKind::kRows) return Wrong(node, "a row per vertex");
    if (node.kind == NodeKind::kVertexIds) {
      const bool is_id = s.dtype == DType::kInt32 && s.columns() == 1;
      return is_id ? Status() : Wrong(node, "one int32 per vertex");
    }
    if (s.space == RowSpace::kEdges) {
      if (RowOf(node.kind).outside == Outside::kChildStates) {
        return node.index < 0 ? Status() : Wrong(node, "no slot, for edges");
      }
      if (RowOf(node.kind).outside != Outside::kExternal) {
        return Wrong(node, "a row per vertex");
      }
    }
    if (IsNumbered(node.kind) && node.index < 0) return Wrong(node, "a number");
    return Status();
  }

  // Whether a native kernel computes the node.
  bool Computes(const Node& node) const {
    if (node.outputs.size() != 1) return false;
    const Symbol& out = symbol(node.outputs[0]);
    if (out.kind !=
        (SumsRows(node.kind) ? SymbolKind::kReduced : SymbolKind::kRows)) {
      return false;
    }
    if (node.accumulate && !IsAvailable(node.outputs[0])) return false;
    if (node.kind == NodeKind::kZero) return node.inputs.empty();
    if (node.kind == NodeKind::kToMask) {
      return HasSizes(node, 1, 1) && IsRows(node.inputs[0]) &&
             symbol(node.inputs[0]).dtype == DType::kBool &&
             IsNative(out.dtype) &&
             symbol(node.inputs[0]).columns() == out.columns();
    }
    if (!AllHaveType(node, out.dtype)) return false;
    if (node.kind == NodeKind::kCopy) {
      return HasSizes(node, 1, 1) && IsRows(node.inputs[0]) &&
             symbol(node.inputs[0]).columns() == out.columns();
    }
    if (!IsNative(out.dtype)) return false;
    switch (node.kind) {
      case NodeKind::kMatMul:
        return IsProduct(node, out);
      case NodeKind::kWeightGrad:
        return HasSizes(node, 2, 1) && IsRows(node.inputs[0]) &&
               IsRows(node.inputs[1]) &&
               CheckedProduct(std::vector<int64_t>{
                   symbol(node.inputs[0]).columns(),
                   symbol(node.inputs[1]).columns()}) == out.columns();
      case NodeKind::kSumRows:
        return HasSizes(node, 1, 1) && IsRows(node.inputs[0]) &&
               symbol(node.inputs[0]).columns() == out.columns();
      case NodeKind::kSumColumns:
        return HasSizes(node, 1, 1) && IsRows(node.inputs[0]) &&
               out.columns() == 1;
      case NodeKind::kSpread:
        return HasSizes(node, 1, 1) && out.space == RowSpace::kEdges &&
               IsRowsOf(RowSpace::kVertices, node.inputs[0]) &&
               symbol(node.inputs[0]).columns() == out.columns();
      case NodeKind::kSumEdges:
      case NodeKind::kMaxEdges:
        return HasSizes(node, 1, 1) && out.space == RowSpace::kVertices &&
               IsRowsOf(RowSpace::kEdges, node.inputs[0]) &&
               symbol(node.inputs[0]).columns() == out.columns();
      case NodeKind::kElementwise:
        return IsElementwise(node, out);
      default:
        return false;
    }
  }

  bool IsProduct(const Node& node, const Symbol& out) const {
    if (node.inputs.size() < 2 || !IsRows(node.inputs[0])) return false;
    int64_t columns = 0;  // Total of all weights.
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const Symbol& weight = symbol(node.inputs[i]);
      if (weight.kind != SymbolKind::kInvariant || !weight.shape_known ||
          weight.shape.size() != 2 ||
          weight.shape[node.transpose ? 1 : 0] !=
              symbol(node.inputs[0]).columns()) {
        return false;
      }
      columns += weight.shape[node.transpose ? 0 : 1];
    }
    return columns == out.columns();
  }

  bool IsElementwise(const Node& node, const Symbol& out) const {
    if (!HasSizes(node, IsBinary(node.elementwise) ? 2 : 1, 1)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](int id) {
      const Symbol& s = symbol(id);
      const bool is_operand =
          s.kind == SymbolKind::kRows ||
          (s.kind == SymbolKind::kInvariant && s.shape_known);
      return is_operand && (s.columns() == out.columns() || s.columns() == 1);
    });
  }

  const Program& program_;
  // By root, the disjoint ranges of elements that nodes have written so far, as
  // a map from begin to end.
  std::vector<std::map<int64_t, int64_t>> written_;
};

}  // namespace

Status VerifyProgram(const Program& program) { return Verifier(program).Run(); }

}  // namespace cavs
