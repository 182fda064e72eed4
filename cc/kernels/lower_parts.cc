#include "cc/kernels/lower_parts.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/byte_count.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace cavs {
namespace {

using Integers = std::vector<int64_t>;

// Adjacent elements of a tensor.
struct Elements {
  int64_t offset = 0, count = 1;
};

// Returns the elements in [begin, end) of each axis, or nothing if they are not
// adjacent.
std::optional<Elements> Adjacent(const Integers& shape, const Integers& begin,
                                 const Integers& end) {
  Elements found;
  int64_t stride = 1;
  bool is_whole = true;  // Whether the later axes are taken whole.
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t count = end[i] - begin[i];
    if (begin[i] < 0 || count < 0 || end[i] > shape[i] ||
        (!is_whole && count != 1)) {
      return std::nullopt;
    }
    found.offset += begin[i] * stride;
    found.count *= count;
    stride *= shape[i];
    is_whole = is_whole && count == shape[i];
  }
  return found;
}

// Reads the arguments of StridedSlice and of its gradient.
class StridedArguments {
 public:
  // `first` is the number of the input that holds where the slice begins.
  StridedArguments(const TracedNode& traced, const ProgramBuilder& builder,
                   int first)
      : node_(*traced.node) {
    are_known_ = builder.ConstantIntegers(traced.inputs[first], &begin_) &&
                 builder.ConstantIntegers(traced.inputs[first + 1], &end_) &&
                 builder.ConstantIntegers(traced.inputs[first + 2], &strides_);
  }

  // Returns the elements of a tensor of this shape that the slice takes, or
  // nothing if they are not adjacent.
  std::optional<Elements> Of(const Integers& shape) const {
    if (!are_known_ ||
        std::any_of(strides_.begin(), strides_.end(),
                    [](int64_t stride) { return stride != 1; })) {
      return std::nullopt;
    }
    Integers begin, end;
    const auto rank = static_cast<int64_t>(shape.size());
    int64_t after = NumAxes();  // Number of axes that later indices take.
    for (size_t i = 0; i < begin_.size(); ++i) {
      if (Is("new_axis_mask", i)) continue;
      const auto axis = static_cast<int64_t>(begin.size());
      if (Is("ellipsis_mask", i)) {
        if (axis + after > rank) return std::nullopt;
        AddWhole(shape, rank - after, &begin, &end);
        continue;
      }
      if (axis >= rank) return std::nullopt;
      Add(i, shape[axis], &begin, &end);
      --after;
    }
    AddWhole(shape, rank, &begin, &end);
    return Adjacent(shape, begin, end);
  }

 private:
  bool Is(const char* mask, size_t i) const {
    int value = 0;
    return GetNodeAttr(node_.attrs(), mask, &value).ok() &&
           ((value >> i) & 1) != 0;
  }

  int64_t NumAxes() const {
    int64_t count = 0;
    for (size_t i = 0; i < begin_.size(); ++i) {
      count += !Is("new_axis_mask", i) && !Is("ellipsis_mask", i);
    }
    return count;
  }

  // Adds all elements of the next axes before axis `until`.
  static void AddWhole(const Integers& shape, int64_t until, Integers* begin,
                       Integers* end) {
    while (static_cast<int64_t>(begin->size()) < until) {
      end->push_back(shape[begin->size()]);
      begin->push_back(0);
    }
  }

  // Adds the elements that index `i` takes of the next axis, which has this
  // size.
  void Add(size_t i, int64_t size, Integers* begin, Integers* end) const {
    const auto counted = [&](int64_t at) { return at < 0 ? at + size : at; };
    const auto within = [&](int64_t at) {
      return std::clamp<int64_t>(counted(at), 0, size);
    };
    if (Is("shrink_axis_mask", i)) {
      begin->push_back(counted(begin_[i]));
      end->push_back(begin->back() + 1);
      return;
    }
    begin->push_back(Is("begin_mask", i) ? 0 : within(begin_[i]));
    end->push_back(
        std::max(begin->back(), Is("end_mask", i) ? size : within(end_[i])));
  }

  const tensorflow::Node& node_;
  Integers begin_, end_, strides_;
  bool are_known_ = false;
};

// Returns whether parts along this axis are adjacent, one after the other.
bool IsOutermost(const Integers& shape, int64_t axis) {
  return axis >= 0 && axis <= static_cast<int64_t>(shape.size()) &&
         std::all_of(shape.begin(), shape.begin() + axis,
                     [](int64_t size) { return size == 1; });
}

class PartLowering {
 public:
  PartLowering(const TracedNode& traced, ProgramBuilder* builder)
      : traced_(traced), node_(*traced.node), builder_(*builder) {}

  bool Run() {
    const std::string& op = node_.type_string();
    if (op == "Reshape" || op == "ExpandDims" || op == "Squeeze") {
      return HasElements(0) && View(Elements{0, in(0).columns()});
    }
    if (op == "ZerosLike") return Zeros();
    if (op == "Split") return HasElements(1) && Split(1, Constant(0));
    if (op == "SplitV") return HasElements(0) && Split(0, Constant(2));
    if (op == "Unpack") return HasElements(0) && Split(0, Axis());
    if (op == "Slice") return HasElements(0) && Slice();
    if (op == "StridedSlice") {
      return HasElements(0) &&
             View(StridedArguments(traced_, builder_, 1).Of(in(0).shape));
    }
    return false;
  }

 private:
  const Symbol& in(int i) const { return builder_.symbol(traced_.inputs[i]); }

  // Returns whether the input is known when the program is bound, so that views
  // of it have addresses.
  bool HasElements(int i) const {
    int64_t offset;
    const int root = builder_.program().Root(traced_.inputs[i], &offset);
    return IsNative(in(i).dtype) && in(i).kind == SymbolKind::kInvariant &&
           in(i).shape_known &&
           builder_.symbol(root).source != SymbolSource::kNode;
  }

  std::optional<int64_t> Constant(int i) const {
    Integers values;
    if (!builder_.ConstantIntegers(traced_.inputs[i], &values) ||
        values.size() != 1) {
      return std::nullopt;
    }
    return values[0];
  }

  std::optional<int64_t> Axis() const {
    int axis;
    if (!GetNodeAttr(node_.attrs(), "axis", &axis).ok()) return std::nullopt;
    return axis;
  }

  bool IsPart(int value, int output, int64_t count) const {
    const Symbol out = builder_.InvariantSymbol(traced_, output);
    return out.shape_known && out.dtype == in(value).dtype &&
           out.columns() == count;
  }

  bool View(const std::optional<Elements>& part) {
    if (!part.has_value() || !IsPart(0, 0, part->count)) return false;
    builder_.Map(node_, 0,
                 builder_.AddView(traced_.inputs[0], part->offset,
                                  builder_.InvariantSymbol(traced_, 0)));
    return true;
  }

  // Lowers the gradient of a part that nothing reads.
  bool Zeros() {
    const Symbol out = builder_.InvariantSymbol(traced_, 0);
    if (!out.shape_known || !IsNative(out.dtype)) return false;
    builder_.Map(node_, 0, builder_.AddZeros(out));
    return true;
  }

  bool Slice() {
    Integers begin, end;
    if (!builder_.ConstantIntegers(traced_.inputs[1], &begin) ||
        !builder_.ConstantIntegers(traced_.inputs[2], &end) ||
        begin.size() != in(0).shape.size() || end.size() != begin.size()) {
      return false;
    }
    for (size_t i = 0; i < end.size(); ++i) {
      end[i] = end[i] == -1 ? in(0).shape[i] : begin[i] + end[i];
    }
    return View(Adjacent(in(0).shape, begin, end));
  }

  bool Split(int value, std::optional<int64_t> axis) {
    const Integers& shape = in(value).shape;
    if (!axis.has_value()) return false;
    if (*axis < 0) *axis += static_cast<int64_t>(shape.size());
    if (!IsOutermost(shape, *axis)) return false;
    std::vector<Symbol> parts;
    int64_t columns = 0;
    for (int i = 0; i < node_.num_outputs(); ++i) {
      parts.push_back(builder_.InvariantSymbol(traced_, i));
      if (!IsPart(value, i, parts.back().columns())) return false;
      columns += parts.back().columns();
    }
    if (columns != in(value).columns()) return false;
    int64_t offset = 0;
    for (int i = 0; i < node_.num_outputs(); ++i) {
      builder_.Map(node_, i,
                   builder_.AddView(traced_.inputs[value], offset, parts[i]));
      offset += parts[i].columns();
    }
    return true;
  }

  const TracedNode& traced_;
  const tensorflow::Node& node_;
  ProgramBuilder& builder_;
};

class SumLowering {
 public:
  SumLowering(const TracedNode& traced, ProgramBuilder* builder)
      : traced_(traced),
        node_(*traced.node),
        builder_(*builder),
        out_(builder->RowSymbol(traced, 0)) {}

  bool Run() {
    const std::string& op = node_.type_string();
    if (out_.kind != SymbolKind::kReduced || !IsNative(out_.dtype)) {
      return false;
    }
    if (op == "Pack") return Pack();
    if (op == "ConcatV2") return Concat();
    if (op == "StridedSliceGrad") return SliceGrad();
    if (op == "Pad") return Pad();
    if (op == "AddN" || op == "AddV2") return Add();
    return false;
  }

 private:
  // A sum, and the place of its first element in the result.
  struct Part {
    int root = -1;
    int64_t offset = 0;
  };

  const Symbol& in(int i) const { return builder_.symbol(traced_.inputs[i]); }
  int num_inputs() const { return static_cast<int>(traced_.inputs.size()); }
  int RootOf(int id) const {
    int64_t offset;
    return builder_.program().Root(id, &offset);
  }

  bool Pack() {
    int axis;
    if (!GetNodeAttr(node_.attrs(), "axis", &axis).ok()) return false;
    if (axis < 0) axis += static_cast<int>(out_.shape.size());
    return IsOutermost(out_.shape, axis) && SideBySide(num_inputs());
  }

  bool Concat() {
    Integers axis;
    if (!builder_.ConstantIntegers(traced_.inputs.back(), &axis) ||
        axis.size() != 1) {
      return false;
    }
    if (axis[0] < 0) axis[0] += static_cast<int64_t>(out_.shape.size());
    return IsOutermost(out_.shape, axis[0]) && SideBySide(num_inputs() - 1);
  }

  bool SideBySide(int values) {
    std::vector<Part> parts;
    int64_t offset = 0;
    for (int i = 0; i < values; ++i) {
      if (!builder_.IsConstantZero(traced_.inputs[i])) {
        if (!IsMovable(traced_.inputs[i])) return false;
        parts.push_back({RootOf(traced_.inputs[i]), offset});
      }
      offset += in(i).columns();
    }
    return offset == out_.columns() && Arrange(std::move(parts));
  }

  bool SliceGrad() {
    constexpr int kBegin = 1, kGrad = 4;
    return AmongZeros(
        traced_.inputs[kGrad],
        StridedArguments(traced_, builder_, kBegin).Of(out_.shape));
  }

  // Lowers the gradient of Slice.
  bool Pad() {
    Integers paddings;  // Per axis, the numbers of zeros before and after.
    if (!builder_.ConstantIntegers(traced_.inputs[1], &paddings) ||
        paddings.size() != 2 * out_.shape.size()) {
      return false;
    }
    Integers begin, end;
    for (size_t i = 0; i < out_.shape.size(); ++i) {
      begin.push_back(paddings[2 * i]);
      end.push_back(out_.shape[i] - paddings[2 * i + 1]);
    }
    return AmongZeros(traced_.inputs[0], Adjacent(out_.shape, begin, end));
  }

  bool AmongZeros(int grad, const std::optional<Elements>& part) {
    return part.has_value() && IsMovable(grad) &&
           builder_.symbol(grad).columns() == part->count &&
           Arrange({{RootOf(grad), part->offset}});
  }

  // Lowers a sum of operands that are sums among zeros, if no other operator
  // reads the operands.
  bool Add() {
    std::vector<Part> parts;
    std::vector<int> roots;
    for (int i = 0; i < num_inputs(); ++i) {
      roots.push_back(RootOf(traced_.inputs[i]));
      if (in(i).shape != out_.shape || !IsReadHereOnly(i) ||
          !IsMovable(roots.back()) || !Writers(roots.back()).empty()) {
        return false;
      }
    }
    const auto count = static_cast<int>(builder_.program().symbols.size());
    for (int id = 0; id < count; ++id) {
      const int parent = builder_.symbol(id).parent;
      if (std::count(roots.begin(), roots.end(), parent) > 0 && !IsZero(id)) {
        parts.push_back({id, builder_.symbol(id).offset});
      }
    }
    if (!AreDisjoint(parts)) return false;
    std::vector<Node>& nodes = builder_.program().nodes;
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const Node& node) {
                                 return node.kind == NodeKind::kZero &&
                                        std::count(roots.begin(), roots.end(),
                                                   RootOf(node.outputs[0])) > 0;
                               }),
                nodes.end());
    return Arrange(std::move(parts));
  }

  static bool ArrangesSums(const std::string& op) {
    return op == "StridedSliceGrad" || op == "Pad" || op == "Pack" ||
           op == "ConcatV2";
  }

  bool IsReadHereOnly(int i) const {
    const tensorflow::Edge* edge;
    if (!node_.input_edge(i, &edge).ok() ||
        !ArrangesSums(edge->src()->type_string())) {
      return false;
    }
    return std::count_if(edge->src()->out_edges().begin(),
                         edge->src()->out_edges().end(),
                         [](const tensorflow::Edge* out) {
                           return !out->IsControlEdge();
                         }) == 1;
  }

  // Returns the nodes that write this symbol, but not nodes that write a part
  // of it.
  std::vector<const Node*> Writers(int id) const {
    std::vector<const Node*> writers;
    for (const Node& node : builder_.program().nodes) {
      if (std::count(node.outputs.begin(), node.outputs.end(), id) > 0) {
        writers.push_back(&node);
      }
    }
    return writers;
  }

  bool IsZero(int id) const {
    const std::vector<const Node*> writers = Writers(id);
    return !writers.empty() &&
           std::all_of(writers.begin(), writers.end(), [](const Node* node) {
             return node->kind == NodeKind::kZero;
           });
  }

  // Returns whether `id` is a whole sum that native nodes compute, so that it
  // may be computed in other memory.
  bool IsMovable(int id) const {
    const int root = RootOf(id);
    const Symbol& sum = builder_.symbol(root);
    const std::vector<Node>& nodes = builder_.program().nodes;
    return sum.kind == SymbolKind::kReduced && sum.dtype == out_.dtype &&
           sum.columns() == builder_.symbol(id).columns() &&
           std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
             return SumsRows(node.kind) || node.kind == NodeKind::kZero ||
                    node.outputs.empty() || RootOf(node.outputs[0]) != root;
           });
  }

  // Sorts the parts, and returns whether no two of them have elements in
  // common.
  bool AreDisjoint(std::vector<Part>& parts) const {
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return std::pair(a.offset, a.root) < std::pair(b.offset, b.root);
    });
    int64_t end = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto is_same = [&](const Part& other) {
        return other.root == parts[i].root;
      };
      if (parts[i].offset < end ||
          std::count_if(parts.begin(), parts.end(), is_same) != 1) {
        return false;
      }
      end = parts[i].offset + builder_.symbol(parts[i].root).columns();
    }
    return end <= out_.columns();
  }

  // Makes the result from these parts, with zeros elsewhere.
  bool Arrange(std::vector<Part> parts) {
    if (!AreDisjoint(parts)) return false;
    const int out = builder_.AddSymbol(out_);
    int64_t end = 0;
    for (const Part& part : parts) {
      AddZeros(out, end, part.offset);
      builder_.symbol(part.root).parent = out;
      builder_.symbol(part.root).offset = part.offset;
      end = part.offset + builder_.symbol(part.root).columns();
    }
    AddZeros(out, end, out_.columns());
    builder_.Map(node_, 0, out);
    return true;
  }

  void AddZeros(int out, int64_t begin, int64_t end) {
    if (begin == end) return;
    Symbol zeros = out_;
    zeros.shape = {end - begin};
    builder_.AddNode(NodeKind::kZero, node_, {},
                     {builder_.AddView(out, begin, zeros)});
  }

  const TracedNode& traced_;
  const tensorflow::Node& node_;
  ProgramBuilder& builder_;
  const Symbol out_;
};

}  // namespace

bool LowerParts(const TracedNode& traced, ProgramBuilder* builder) {
  return PartLowering(traced, builder).Run();
}

bool LowerSumOfParts(const TracedNode& traced, ProgramBuilder* builder) {
  return SumLowering(traced, builder).Run();
}

}  // namespace cavs
