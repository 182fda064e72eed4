// Lowers TensorFlow operators to native nodes where possible.
#include <algorithm>
#include <string>

#include "cc/base/byte_count.h"
#include "cc/kernels/lower_mask.h"
#include "cc/kernels/program_builder.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace cavs {
namespace {

using Integers = std::vector<int64_t>;

// A NativeLowering lowers one node. If the sizes of a node do not fit its
// operator, it leaves the node to TensorFlow's own kernel, which reports the
// error.
class NativeLowering {
 public:
  NativeLowering(const TracedNode& traced, ProgramBuilder* builder)
      : traced_(traced), node_(*traced.node), builder_(*builder) {}

  bool Run() {
    const std::string& op = node_.type_string();
    if (op == "Identity" || op == "StopGradient" || op == "PreventGradient" ||
        op == "Snapshot" || op == "Reshape" || op == "ExpandDims" ||
        op == "Squeeze") {
      return Alias(0);
    }
    if (op == "IdentityN") return Aliases();
    if (op == "Split") return Split(1, 0);
    if (op == "SplitV") return Split(0, 2);
    if (op == "Unpack") return Split(0, -1);
    if (op == "Slice") return Slice();
    if (op == "StridedSlice") return StridedSlice();
    if (op == "ConcatV2") return Concat();
    if (op == "Pack") return Pack();
    if (op == "ZerosLike") return Zeros();
    if (op == "Fill") return IsZero(1) && Zeros();
    if (op == "CavsGather") return Spread();
    if (!IsNative(ToDType(node_.output_type(0)))) return false;
    if (op == "MatMul") return MatMul();
    if (op == "Sum") return Sum();
    if (op == "BiasAddGrad") return Rank(0) == 2 && SumOverRows();
    if (op == "AddN") return AddN();
    if (op == "SelectV2") return Select();
    if (op == "Cast") return Mask();
    if (op == "CavsScatter") return ReduceEdges(NodeKind::kSumEdges);
    if (op == "CavsScatterMax") return ReduceEdges(NodeKind::kMaxEdges);
    if (op == "LeakyRelu") return LeakyRelu();
    if (op == "LeakyReluGrad") return LeakyReluGrad();
    if (op == "Relu6") return Relu6();
    if (op == "Relu6Grad") return Relu6Grad();
    if (op == "Selu") return Selu();
    if (op == "SeluGrad") return SeluGrad();
    if (op == "Softsign") return Softsign();
    if (op == "SoftsignGrad") return SoftsignGrad();
    return ElementwiseNode();
  }

 private:
  const Symbol& in(int i) const { return builder_.symbol(traced_.inputs[i]); }
  int num_inputs() const { return static_cast<int>(traced_.inputs.size()); }
  bool IsRows(int i) const { return in(i).kind == SymbolKind::kRows; }
  int Rank(int i) const {
    return IsRows(i) ? 1 + static_cast<int>(in(i).shape.size()) : -1;
  }
  Symbol Out(int i) const { return builder_.RowSymbol(traced_, i); }
  bool OutputHasRows() const { return Out(0).kind == SymbolKind::kRows; }
  // Reads input `i` as `count` constant integers; false if it is not constant.
  bool Constants(int i, size_t count, Integers* values) const {
    return i < num_inputs() &&
           builder_.ConstantIntegers(traced_.inputs[i], values) &&
           values->size() == count;
  }
  void Emit(NodeKind kind, std::vector<int> inputs) {
    const int out = builder_.AddRowSymbol(traced_, 0);
    builder_.AddNode(kind, node_, std::move(inputs), {out});
    builder_.Map(node_, 0, out);
  }

  // Lowers an operator that returns its input, perhaps with another shape.
  bool Alias(int i) {
    const Symbol out = Out(0);
    if (out.kind != in(i).kind || out.dtype != in(i).dtype ||
        out.columns() != in(i).columns() ||
        (out.kind != SymbolKind::kRows && out.kind != SymbolKind::kReduced)) {
      return false;
    }
    const int id = out.shape == in(i).shape
                       ? traced_.inputs[i]
                       : builder_.AddView(traced_.inputs[i], 0, out);
    builder_.Map(node_, 0, id);
    return true;
  }

  // Lowers an operator that returns its inputs, some of which may be invariant.
  bool Aliases() {
    for (int i = 0; i < num_inputs(); ++i) {
      const Symbol out = Out(i);
      if (in(i).kind == SymbolKind::kInvariant) continue;
      if (!IsRows(i) || out.kind != SymbolKind::kRows ||
          out.dtype != in(i).dtype || out.shape != in(i).shape) {
        return false;
      }
    }
    for (int i = 0; i < num_inputs(); ++i) {
      builder_.Map(node_, i, traced_.inputs[i]);
    }
    return true;
  }

  // Lowers an operator whose outputs are adjacent ranges of columns of input
  // `value`. The ranges are adjacent if the axis, which is input `axis` or an
  // attribute, is the first axis of a row.
  bool Split(int value, int axis) {
    if (!IsRows(value)) return false;
    Integers dims(1);
    if (axis >= 0) {
      if (!Constants(axis, 1, &dims)) return false;
    } else if (!GetNodeAttr(node_.attrs(), "axis", &dims[0]).ok()) {
      return false;
    }
    if (dims[0] < 0) dims[0] += Rank(value);
    if (dims[0] != 1) return false;
    int64_t columns = 0;
    for (int i = 0; i < node_.num_outputs(); ++i) {
      const Symbol output = Out(i);
      if (output.kind != SymbolKind::kRows || output.dtype != in(value).dtype) {
        return false;
      }
      columns += output.columns();
    }
    if (columns != in(value).columns()) return false;
    int64_t offset = 0;
    for (int i = 0; i < node_.num_outputs(); ++i) {
      const Symbol output = Out(i);
      builder_.Map(node_, i,
                   builder_.AddView(traced_.inputs[value], offset, output));
      offset += output.columns();
    }
    return true;
  }

  bool View(int64_t first_column) {
    const Symbol out = Out(0);
    if (first_column < 0 || first_column > in(0).columns() - out.columns() ||
        out.dtype != in(0).dtype) {
      return false;
    }
    builder_.Map(node_, 0,
                 builder_.AddView(traced_.inputs[0], first_column, out));
    return true;
  }

  bool Slice() {
    Integers begin;
    return Rank(0) == 2 && OutputHasRows() && Constants(1, 2, &begin) &&
           begin[0] == 0 && View(begin[1]);
  }

  // Lowers x[:, a:b], x[..., a:b] and x[:, a] of a matrix, and whole rows in
  // another shape, as x[:, None].
  bool StridedSlice() {
    Integers strides;
    if (!OutputHasRows() || !IsRows(0) ||
        !builder_.ConstantIntegers(traced_.inputs[3], &strides) ||
        std::any_of(strides.begin(), strides.end(),
                    [](int64_t stride) { return stride != 1; })) {
      return false;
    }
    const auto mask = [&](const char* name) {
      int value = 0;
      return GetNodeAttr(node_.attrs(), name, &value).ok() ? value : -1;
    };
    // A leading ellipsis includes the rows if fewer indices follow it than
    // there are axes.
    int axes = static_cast<int>(strides.size()) - 1;
    for (size_t i = 1; i < strides.size(); ++i) {
      axes -= (mask("new_axis_mask") >> i) & 1;
    }
    const bool whole_rows =
        mask("ellipsis_mask") == 1
            ? axes < Rank(0)
            : (mask("begin_mask") & mask("end_mask") & 1) == 1;
    if (!whole_rows || (mask("new_axis_mask") & 1) != 0 ||
        (mask("shrink_axis_mask") & 1) != 0) {
      return false;
    }
    if (Out(0).columns() == in(0).columns()) return View(0);
    Integers begin;
    if (Rank(0) != 2 || !Constants(1, 2, &begin) || mask("ellipsis_mask") > 1 ||
        mask("new_axis_mask") != 0) {
      return false;
    }
    int64_t first = (mask("begin_mask") & 2) != 0 ? 0 : begin[1];
    if (first < 0) first += in(0).columns();
    return View(first);
  }

  bool Concat() {
    const int values = num_inputs() - 1;
    Integers axis;
    if (!Constants(values, 1, &axis)) return false;
    if (axis[0] < 0 && values > 0) axis[0] += Rank(0);
    return axis[0] == 1 && ConcatenateInputs(values);
  }

  bool Pack() {
    int axis = 0;
    if (!GetNodeAttr(node_.attrs(), "axis", &axis).ok()) return false;
    if (axis < 0) axis += Rank(0) + 1;
    return axis == 1 && ConcatenateInputs(num_inputs());
  }

  // Lowers an operator that concatenates its first `values` inputs. If an input
  // has storage of its own, its storage moves into the output's, so that the
  // node that computes the input writes there.
  bool ConcatenateInputs(int values) {
    if (!OutputHasRows()) return false;
    int64_t columns = 0;
    for (int i = 0; i < values; ++i) {
      if (!IsRows(i) || in(i).dtype != Out(0).dtype) return false;
      columns += in(i).columns();
    }
    if (columns != Out(0).columns()) return false;
    const int out = builder_.AddRowSymbol(traced_, 0);
    int64_t offset = 0;
    for (int i = 0; i < values; ++i) {
      const int id = traced_.inputs[i];
      const int64_t columns = in(i).columns();
      if (in(i).parent < 0 && in(i).source == SymbolSource::kNode) {
        builder_.symbol(id).parent = out;
        builder_.symbol(id).offset = offset;
      } else {
        const int copy = builder_.AddView(out, offset, in(i));
        builder_.symbol(copy).source = SymbolSource::kNode;
        builder_.AddNode(NodeKind::kCopy, node_, {id}, {copy});
      }
      offset += columns;
    }
    builder_.Map(node_, 0, out);
    return true;
  }

  bool IsZero(int i) const {
    return in(i).columns() == 1 && builder_.IsConstantZero(traced_.inputs[i]);
  }

  bool Zeros() {
    if (!OutputHasRows()) return false;
    Emit(NodeKind::kZero, {});
    return true;
  }

  bool MatMul() {
    bool transpose_a = false, transpose_b = false;
    if (!GetNodeAttr(node_.attrs(), "transpose_a", &transpose_a).ok() ||
        !GetNodeAttr(node_.attrs(), "transpose_b", &transpose_b).ok() ||
        Rank(0) != 2) {
      return false;
    }
    if (in(1).dtype != in(0).dtype || Out(0).dtype != in(0).dtype) {
      return false;
    }
    if (!transpose_a && OutputHasRows() &&
        in(1).kind == SymbolKind::kInvariant && in(1).shape.size() == 2 &&
        in(1).shape[transpose_b ? 1 : 0] == in(0).columns() &&
        in(1).shape[transpose_b ? 0 : 1] == Out(0).columns()) {
      Emit(NodeKind::kMatMul, {traced_.inputs[0], traced_.inputs[1]});
      builder_.program().nodes.back().transpose = transpose_b;
      return true;
    }
    if (transpose_a && !transpose_b && Rank(1) == 2 &&
        Out(0).kind == SymbolKind::kReduced &&
        CheckedProduct(Integers{in(0).columns(), in(1).columns()}) ==
            Out(0).columns()) {
      Emit(NodeKind::kWeightGrad, {traced_.inputs[0], traced_.inputs[1]});
      return true;
    }
    return false;
  }

  bool SumOverRows() {
    if (Out(0).kind != SymbolKind::kReduced || Out(0).dtype != in(0).dtype ||
        Out(0).columns() != in(0).columns()) {
      return false;
    }
    Emit(NodeKind::kSumRows, {traced_.inputs[0]});
    return true;
  }

  bool Sum() {
    Integers axes;
    if (!IsRows(0) || !builder_.ConstantIntegers(traced_.inputs[1], &axes)) {
      return false;
    }
    for (int64_t& axis : axes) axis += axis < 0 ? Rank(0) : 0;
    if (axes.empty()) return Alias(0);
    if (axes.size() != 1) return false;
    if (axes[0] == 0) return SumOverRows();
    if (axes[0] == 1 && Rank(0) == 2 && OutputHasRows() &&
        Out(0).columns() == 1 && Out(0).dtype == in(0).dtype) {
      Emit(NodeKind::kSumColumns, {traced_.inputs[0]});
      return true;
    }
    return false;
  }

  bool IsEdgeRows(int i) const {
    return builder_.edge_rows >= 0 && traced_.inputs[i] == builder_.edge_rows;
  }

  bool Spread() {
    if (!IsRows(0) || !IsEdgeRows(1) || !OutputHasRows()) return false;
    Emit(NodeKind::kSpread, {traced_.inputs[0]});
    return true;
  }

  bool ReduceEdges(NodeKind kind) {
    if (!IsRows(0) || !IsEdgeRows(1) || !OutputHasRows()) return false;
    Emit(kind, {traced_.inputs[0]});
    return true;
  }

  bool AddN() {
    const Symbol out = Out(0);
    if (!OutputHasRows() || num_inputs() == 0) return false;
    for (int i = 0; i < num_inputs(); ++i) {
      if (!IsRows(i) || in(i).shape != out.shape || in(i).dtype != out.dtype) {
        return false;
      }
    }
    if (num_inputs() == 1) return Alias(0);
    builder_.Map(node_, 0, SumOf(traced_.inputs));
    return true;
  }

  // Adds a node for a part of the operator. Its result has the type and shape
  // of the operator's result.
  int Compute(Elementwise op, std::vector<int> inputs) {
    const int out = builder_.AddRowSymbol(traced_, 0);
    builder_.AddNode(NodeKind::kElementwise, node_, std::move(inputs), {out})
        .elementwise = op;
    return out;
  }

  // Adds up the terms. Terms of narrow types are added in short runs, and then
  // the sums of the runs in the same way. One long run would lose small terms,
  // because it is rounded wherever a group of elementwise operators ends.
  int SumOf(std::vector<int> terms) {
    constexpr size_t kRun = 16;
    const size_t run = IsNarrow(Out(0).dtype) ? kRun : terms.size();
    while (terms.size() > 1) {
      std::vector<int> sums;
      for (size_t i = 0; i < terms.size(); ++i) {
        if (i % run == 0) {
          sums.push_back(terms[i]);
        } else {
          sums.back() = Compute(Elementwise::kAdd, {sums.back(), terms[i]});
        }
      }
      terms = std::move(sums);
    }
    return terms[0];
  }

  // Reads `alpha` as x and 1 - x. Returns false if it is not between 0 and 1.
  bool Slopes(int* alpha, int* rest) {
    float value = 0;
    if (!GetNodeAttr(node_.attrs(), "alpha", &value).ok() ||
        !(value >= 0 && value <= 1)) {
      return false;
    }
    *alpha = builder_.AddScalar(in(0).dtype, value);
    *rest = builder_.AddScalar(in(0).dtype, 1 - double{value});
    return true;
  }

  // Lowers LeakyRelu to max(x, alpha x).
  bool LeakyRelu() {
    int alpha, rest;
    if (!OutputHasRows() || !Slopes(&alpha, &rest)) return false;
    const int x = traced_.inputs[0];
    const int scaled = Compute(Elementwise::kMul, {x, alpha});
    builder_.Map(node_, 0, Compute(Elementwise::kMaximum, {x, scaled}));
    return true;
  }

  // Lowers the gradient of LeakyRelu to alpha dy, plus (1 - alpha) dy where x
  // is positive.
  bool LeakyReluGrad() {
    int alpha, rest;
    if (!OutputHasRows() || !IsRows(1) || in(0).shape != in(1).shape ||
        in(0).shape != Out(0).shape || !Slopes(&alpha, &rest)) {
      return false;
    }
    const int dy = traced_.inputs[0];
    const int scaled = Compute(Elementwise::kMul, {dy, alpha});
    const int kept = Compute(Elementwise::kReluGrad, {dy, traced_.inputs[1]});
    const int more = Compute(Elementwise::kMul, {kept, rest});
    builder_.Map(node_, 0, Compute(Elementwise::kAdd, {scaled, more}));
    return true;
  }

  // Returns the mask of the boolean that is input `i`, or -1.
  int MaskOf(int i, DType dtype) {
    const tensorflow::Edge* edge;
    if (!node_.input_edge(i, &edge).ok()) return -1;
    return LowerMask(*edge->src(), edge->src_output(), dtype, &builder_);
  }

  // Lowers a cast of a boolean to a number.
  bool Mask() {
    if (!OutputHasRows() || in(0).dtype != DType::kBool) return false;
    const int mask = MaskOf(0, Out(0).dtype);
    if (mask >= 0) builder_.Map(node_, 0, mask);
    return mask >= 0;
  }

  // Lowers a selection to x where the mask is 1, plus y where it is 0.
  bool Select() {
    const Symbol out = Out(0);
    if (!OutputHasRows() || !builder_.Broadcasts(traced_.inputs[1], out) ||
        !builder_.Broadcasts(traced_.inputs[2], out)) {
      return false;
    }
    const int mask = MaskOf(0, out.dtype);
    if (mask < 0 || !builder_.Broadcasts(mask, out)) return false;
    const int x = IsZero(1) ? -1 : Masked(Elementwise::kKeep, 1, mask);
    const int y = IsZero(2) ? -1 : Masked(Elementwise::kDrop, 2, mask);
    if (x < 0 && y < 0) return Zeros();
    if (x >= 0 && y >= 0) {
      builder_.Map(node_, 0, Compute(Elementwise::kAdd, {x, y}));
      return true;
    }
    const int only = std::max(x, y);
    if (builder_.symbol(only).shape != out.shape) return false;
    builder_.Map(node_, 0, only);
    return true;
  }

  // Adds a node that keeps input `i` or replaces it by 0, as `op` and the mask
  // say. The result is one column if input and mask are.
  int Masked(Elementwise op, int i, int mask) {
    Symbol like = Out(0);
    if (in(i).columns() == 1) like.shape = builder_.symbol(mask).shape;
    const int out = builder_.AddSymbol(like);
    builder_
        .AddNode(NodeKind::kElementwise, node_, {traced_.inputs[i], mask},
                 {out})
        .elementwise = op;
    return out;
  }

  int Scalar(double value) {
    return builder_.AddScalar(ToDType(node_.output_type(0)), value);
  }
  // Returns whether all operands are rows of the type and shape of the result.
  bool AreLikeResult() const {
    const Symbol out = Out(0);
    for (int i = 0; i < num_inputs(); ++i) {
      if (!IsRows(i) || in(i).shape != out.shape || in(i).dtype != out.dtype) {
        return false;
      }
    }
    return OutputHasRows();
  }

  // Lowers Relu6 to min(max(x, 0), 6).
  bool Relu6() {
    if (!AreLikeResult()) return false;
    const int above = Compute(Elementwise::kRelu, {traced_.inputs[0]});
    const int six = Scalar(6);
    builder_.Map(node_, 0, Compute(Elementwise::kMinimum, {above, six}));
    return true;
  }

  // Lowers the gradient of Relu6 to dy where x is between 0 and 6.
  bool Relu6Grad() {
    if (!AreLikeResult()) return false;
    const int six = Scalar(6);
    const int dy = Compute(Elementwise::kReluGrad, traced_.inputs);
    const int below = Compute(Elementwise::kGreater, {six, traced_.inputs[1]});
    builder_.Map(node_, 0, Compute(Elementwise::kKeep, {dy, below}));
    return true;
  }

  // Klambauer et al. 2017, arXiv:1706.02515, equation 2.
  static constexpr double kSeluScale = 1.0507009873554804934193349852946;
  static constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

  // Lowers Selu to scale alpha (exp(x) - 1) below 0, and scale x above.
  bool Selu() {
    if (!AreLikeResult()) return false;
    const int zero = Scalar(0), scale = Scalar(kSeluScale);
    const int scale_alpha = Scalar(kSeluScaleAlpha);
    const int x = traced_.inputs[0];
    const int below = Compute(Elementwise::kMinimum, {x, zero});
    const int curve = Compute(Elementwise::kElu, {below});
    const int low = Compute(Elementwise::kMul, {curve, scale_alpha});
    const int above = Compute(Elementwise::kRelu, {x});
    const int high = Compute(Elementwise::kMul, {above, scale});
    builder_.Map(node_, 0, Compute(Elementwise::kAdd, {low, high}));
    return true;
  }

  // Lowers the gradient of Selu to dy (y + scale alpha) where y is negative,
  // and scale dy elsewhere.
  bool SeluGrad() {
    if (!AreLikeResult()) return false;
    const int zero = Scalar(0), scale = Scalar(kSeluScale);
    const int scale_alpha = Scalar(kSeluScaleAlpha);
    const int dy = traced_.inputs[0], y = traced_.inputs[1];
    const int is_below = Compute(Elementwise::kGreater, {zero, y});
    const int slope = Compute(Elementwise::kAdd, {y, scale_alpha});
    const int steep = Compute(Elementwise::kMul, {dy, slope});
    const int low = Compute(Elementwise::kKeep, {steep, is_below});
    const int straight = Compute(Elementwise::kMul, {dy, scale});
    const int high = Compute(Elementwise::kDrop, {straight, is_below});
    builder_.Map(node_, 0, Compute(Elementwise::kAdd, {low, high}));
    return true;
  }

  // Returns 1 + |x|, where x is input `i`.
  int OnePlusAbs(int i) {
    const int one = Scalar(1);
    const int size = Compute(Elementwise::kAbs, {traced_.inputs[i]});
    return Compute(Elementwise::kAdd, {size, one});
  }

  // Lowers Softsign to x / (1 + |x|).
  bool Softsign() {
    if (!AreLikeResult()) return false;
    const int sum = OnePlusAbs(0);
    const int out = Compute(Elementwise::kDiv, {traced_.inputs[0], sum});
    builder_.Map(node_, 0, out);
    return true;
  }

  // Lowers the gradient of Softsign to dy / (1 + |x|)^2.
  bool SoftsignGrad() {
    if (!AreLikeResult()) return false;
    const int squared = Compute(Elementwise::kSquare, {OnePlusAbs(1)});
    const int out = Compute(Elementwise::kDiv, {traced_.inputs[0], squared});
    builder_.Map(node_, 0, out);
    return true;
  }

  bool ElementwiseNode() {
    const ElementwiseOperator* found =
        FindFrameworkElementwise(node_.type_string());
    if (found == nullptr || !OutputHasRows()) return false;
    const Symbol out = Out(0);
    if (num_inputs() != found->operands) return false;
    for (int i = 0; i < found->operands; ++i) {
      if (!builder_.Broadcasts(traced_.inputs[i], out)) return false;
    }
    std::string format = "NHWC";
    if (node_.type_string() == "BiasAdd" &&
        (!GetNodeAttr(node_.attrs(), "data_format", &format).ok() ||
         format != "NHWC" || out.shape.size() != 1)) {
      return false;
    }
    Emit(NodeKind::kElementwise, traced_.inputs);
    builder_.program().nodes.back().elementwise = found->op;
    return true;
  }

  const TracedNode& traced_;
  const tensorflow::Node& node_;
  ProgramBuilder& builder_;
};

}  // namespace

bool LowerNative(const TracedNode& traced, ProgramBuilder* builder) {
  return NativeLowering(traced, builder).Run();
}

}  // namespace cavs
