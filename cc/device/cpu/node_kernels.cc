#include "cc/device/cpu/node_kernels.h"

#include <algorithm>
#include <map>

#include "cc/ir/operators.h"

namespace cavs {

NodeKernels::NodeKernels(const CompiledProgram& program,
                         const Bindings& bindings, const PackedWeights& packed)
    : program_(program),
      bindings_(bindings),
      packed_(packed),
      operands_(program, bindings),
      is_product_of_zeros_(program.nodes.size(), false) {}

// Zero times a weight is zero, unless the weight is infinite or NaN.
void NodeKernels::FindProductsOfZeros(const CpuBackend& backend) {
  if (!bindings_.rows->any_childless()) return;
  std::map<int, bool> finite;  // Indexed by weight.
  const auto is_finite = [&](int id) {
    const auto [known, is_new] = finite.emplace(id, false);
    if (is_new) known->second = IsFinite(id, backend);
    return known->second;
  };
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    const Node& node = program_.nodes[i];
    is_product_of_zeros_[i] =
        node.kind == NodeKind::kMatMul && node.stage == Stage::kCritical &&
        operands_.IsZeroWithoutChildren(node.inputs[0]) &&
        std::all_of(node.inputs.begin() + 1, node.inputs.end(), is_finite);
  }
}

bool NodeKernels::IsFinite(int weight, const CpuBackend& backend) const {
  const Symbol& w = symbol(weight);
  return backend.IsFinite(w.dtype, {operands_.Dense(weight), w.shape[0],
                                    w.shape[1], w.row_pitch()});
}

void NodeKernels::Run(int number, const RowRange& at, const ColumnRange& range,
                      const CpuBackend& backend) const {
  const Node& node = program_.nodes[number];
  if (at.childless && program_.zeros.only_for_children[number]) return;
  const TraceScope scope(bindings_.tracer, node.stage,
                         [&] { return node.label; });
  switch (node.kind) {
    case NodeKind::kMatMul:
      return RunProduct(number, at, range, backend);
    case NodeKind::kGroup:
      return RunGroup(node, at, range, backend);
    case NodeKind::kSumColumns:
    case NodeKind::kToMask:
    case NodeKind::kElementwise:
    case NodeKind::kCopy:
    case NodeKind::kZero:
      return RunRows(node, at, range, backend);
    case NodeKind::kSpread:
    case NodeKind::kSumEdges:
    case NodeKind::kMaxEdges:
      return CrossSpaces(node, at, range, backend);
    default:
      return MoveRows(node, at, range, backend);
  }
}

void NodeKernels::RunRows(const Node& node, const RowRange& at,
                          const ColumnRange& range,
                          const CpuBackend& backend) const {
  const Block out = operands_.Rows(node.outputs[0], at);
  const DType dtype = symbol(node.outputs[0]).dtype;
  if (node.kind == NodeKind::kSumColumns) {
    return backend.SumColumns(dtype, operands_.Read(node.inputs[0], at), out);
  }
  if (node.kind == NodeKind::kToMask) {
    return backend.ToMask(dtype, operands_.Read(node.inputs[0], at), out);
  }
  ForRanges(out.cols, range, [&](int64_t begin, int64_t end) {
    const Block to = Columns(out, dtype, begin, end);
    if (node.kind == NodeKind::kZero) return backend.Zero(dtype, to);
    const auto operand = [&](int id) {
      const ConstBlock from = operands_.Read(id, at);
      return from.cols == out.cols ? Columns(from, dtype, begin, end) : from;
    };
    const ConstBlock in = operand(node.inputs[0]);
    if (node.kind == NodeKind::kCopy) {
      backend.Copy(dtype, in, to);
    } else if (IsBinary(node.elementwise)) {
      backend.Binary(node.elementwise, dtype, in, operand(node.inputs[1]), to);
    } else {
      backend.Unary(node.elementwise, dtype, in, to);
    }
  });
}

void NodeKernels::RunProduct(int number, const RowRange& at,
                             const ColumnRange& range,
                             const CpuBackend& backend) const {
  const Node& node = program_.nodes[number];
  const DType dtype = symbol(node.outputs[0]).dtype;
  const ConstBlock a = operands_.Read(node.inputs[0], at);
  const Block c = operands_.Rows(node.outputs[0], at);
  if (at.childless && is_product_of_zeros_[number]) {
    if (node.accumulate) return;
    return ForRanges(c.cols, range, [&](int64_t begin, int64_t end) {
      backend.Zero(dtype, Columns(c, dtype, begin, end));
    });
  }
  const void* packed = packed_.of(number);
  if (packed == nullptr) return MultiplyUnpacked(node, a, c, range, backend);
  if (range.unit == 0) {
    return backend.MatMulPacked(dtype, a, packed, c, node.accumulate);
  }
  ForRanges(c.cols, range, [&](int64_t begin, int64_t end) {
    backend.MatMulPackedColumns(dtype, a, packed, c, begin, end,
                                node.accumulate);
  });
}

void NodeKernels::MultiplyUnpacked(const Node& node, const ConstBlock& a,
                                   const Block& c, const ColumnRange& range,
                                   const CpuBackend& backend) const {
  const DType dtype = symbol(node.outputs[0]).dtype;
  int64_t column = 0;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Symbol& w = symbol(node.inputs[i]);
    const char* weight = operands_.Dense(node.inputs[i]);
    const int64_t width = w.shape[node.transpose ? 0 : 1];
    const int64_t pitch = w.row_pitch();
    // The columns of this weight's product that are in the range.
    ForRanges(c.cols, range, [&](int64_t begin, int64_t end) {
      begin = std::max(begin - column, int64_t{0});
      end = std::min(end - column, width);
      if (begin >= end) return;
      const int64_t skip = begin * (node.transpose ? pitch : 1);
      const ConstBlock b(weight + skip * static_cast<int64_t>(SizeOf(dtype)),
                         node.transpose ? end - begin : w.shape[0],
                         node.transpose ? w.shape[1] : end - begin, pitch);
      backend.MatMul(dtype, a, b, node.transpose,
                     Columns(c, dtype, column + begin, column + end),
                     node.accumulate);
    });
    column += width;
  }
}

void NodeKernels::RunGroup(const Node& node, const RowRange& at,
                           const ColumnRange& range,
                           const CpuBackend& backend) const {
  const int out = node.members[0].outputs[0];
  const DType dtype = symbol(out).dtype;
  const int64_t columns = operands_.columns(out);
  const int64_t size = SizeOf(dtype);
  const int64_t rows = operands_.RowsOf(out, at).count;
  GroupOperand operands[ElementwiseGroup::kMaxValues];
  ForRanges(columns, range, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const int id = node.operands[i];
      const ConstBlock block = operands_.Read(id, at);
      const bool column = block.cols == 1 && columns > 1;
      operands[i].data =
          const_cast<char*>(static_cast<const char*>(block.data)) +
          (column ? 0 : begin * size);
      operands[i].pitch = operands_.HasRows(id) ? block.pitch : 0;
      operands[i].column = column;
      operands[i].index = block.index;
    }
    backend.Group(dtype, node.group, operands, rows, end - begin);
  });
}

// Between rows of vertices and rows of edges.
void NodeKernels::CrossSpaces(const Node& node, const RowRange& at,
                              const ColumnRange& range,
                              const CpuBackend& backend) const {
  const int out = node.outputs[0];
  const DType dtype = symbol(out).dtype;
  const ConstBlock from = operands_.Read(node.inputs[0], at);
  const Block to = operands_.Rows(out, at);
  const IndexLists& lists = bindings_.lists;
  const Elementwise reduction = node.kind == NodeKind::kMaxEdges
                                    ? Elementwise::kMaximum
                                    : Elementwise::kAdd;
  ForRanges(to.cols, range, [&](int64_t begin, int64_t end) {
    const ConstBlock in = Columns(from, dtype, begin, end);
    const Block own = Columns(to, dtype, begin, end);
    if (node.kind == NodeKind::kSpread) {
      backend.SpreadRows(dtype, in, lists.edge_row + at.edges.first, at.first,
                         own);
    } else {
      backend.ReduceSegments(reduction, dtype, in, lists.edge_splits + at.first,
                             own);
    }
  });
}

void NodeKernels::MoveRows(const Node& node, const RowRange& at,
                           const ColumnRange& range,
                           const CpuBackend& backend) const {
  const bool writes = !node.outputs.empty();
  const int id = writes ? node.outputs[0] : node.inputs[0];
  const DType dtype = symbol(id).dtype;
  const Block rows = operands_.Rows(id, at);
  const IndexLists& lists = bindings_.lists;
  const Extent extent = bindings_.slots[id].rows.extent();
  // Where the rows come from or go, and the numbers of the rows there.
  Block other = bindings_.state;
  const DType there =
      MovesState(node.kind) ? bindings_.state_dtype : symbol(id).dtype;
  const int32_t* index = nullptr;
  switch (node.kind) {
    case NodeKind::kVertexIds:
      return backend.Copy(DType::kInt32,
                          {lists.vertex + at.first, at.count, 1, 1}, rows);
    case NodeKind::kScatter:
    case NodeKind::kScatterGrad:
      if (extent == Extent::kState) return;
      index = lists.state_row;
      break;
    case NodeKind::kGather:
    case NodeKind::kGatherGrad:
      if (extent == Extent::kChildren) return;
      index = node.index < 0 ? lists.edge_child : lists.child_row(node.index);
      break;
    case NodeKind::kPull:
    case NodeKind::kPushGrad:
      other = bindings_.inputs[node.index];
      index = bindings_.input_rows[node.index];
      break;
    default:  // A push, or the gradient of a pull.
      other = bindings_.outputs[node.index];
      index = bindings_.output_rows[node.index];
  }
  index += operands_.RowsOf(id, at).first;
  ForRanges(rows.cols, range, [&](int64_t begin, int64_t end) {
    const Block mine = Columns(rows, dtype, begin, end);
    const Block theirs = Columns(other, there, begin, end);
    if (node.kind == NodeKind::kGatherGrad && !bindings_.gathered_once) {
      backend.ScatterAddRows(dtype, mine, index, theirs);
    } else if (there != dtype) {
      backend.RoundRows(dtype, theirs, index, mine);
    } else if (writes) {
      backend.GatherRows(dtype, theirs, index, mine);
    } else {
      backend.ScatterRows(dtype, mine, index, theirs);
    }
  });
}

}  // namespace cavs
