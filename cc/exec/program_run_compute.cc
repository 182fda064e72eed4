// ProgramRun's side of single nodes, by native kernels.
#include <algorithm>
#include <cassert>

#include "cc/exec/program_run.h"

namespace cavs {
namespace {

Block Columns(const Block& block, DType dtype, int64_t begin, int64_t end) {
  return {static_cast<char*>(block.data) + begin * SizeOf(dtype), block.rows,
          end - begin, block.pitch};
}

ConstBlock Columns(const ConstBlock& block, DType dtype, int64_t begin,
                   int64_t end) {
  ConstBlock columns = block;
  columns.data = static_cast<const char*>(block.data) + begin * SizeOf(dtype);
  columns.cols = end - begin;
  return columns;
}

// Calls fn(begin, end) for the share's ranges of `columns` columns, which are
// whole units (see passes/plan_phases.h).
template <typename Share, typename Fn>
void ForRanges(int64_t columns, const Share& share, const Fn& fn) {
  if (share.unit == 0) return fn(0, columns);
  assert(columns % share.unit == 0);
  for (int64_t first = 0; first < columns; first += share.unit) {
    fn(first + share.begin, first + share.end);
  }
}

}  // namespace

void ProgramRun::Compute(const Node& node, const Place& at, const Share& share,
                         const Backend& backend) {
  if (at.childless && IsOnlyForChildren(node)) return;
  const TraceScope scope(env_.tracer, node.stage, [&] { return node.label; });
  if (node.kind == NodeKind::kMatMul) {
    return ComputeProduct(node, at, share, backend);
  }
  if (node.kind == NodeKind::kGroup) {
    return ComputeGroup(node, at, share, backend);
  }
  if (PassesRows(node.kind)) {
    return ComputePassing(node, at, share, backend);
  }
  const Block out = Rows(node.outputs[0], at);
  const DType dtype = symbol(node.outputs[0]).dtype;
  if (node.kind == NodeKind::kSumColumns) {
    return backend.SumColumns(dtype, Operand(node.inputs[0], at), out);
  }
  ForRanges(out.cols, share, [&](int64_t begin, int64_t end) {
    const Block to = Columns(out, dtype, begin, end);
    if (node.kind == NodeKind::kZero) return backend.Zero(dtype, to);
    const auto operand = [&](int id) {
      const ConstBlock from = Operand(id, at);
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

bool ProgramRun::IsZeroWithoutChildren(int id) const {
  if (zeros_.symbols[id]) return true;
  for (; id >= 0; id = symbol(id).parent) {
    if (values_[id].zero_without_children) return true;
  }
  return false;
}

void ProgramRun::ComputeProduct(const Node& node, const Place& at,
                                const Share& share, const Backend& backend) {
  const DType dtype = symbol(node.outputs[0]).dtype;
  const ConstBlock a = Operand(node.inputs[0], at);
  const Block c = Rows(node.outputs[0], at);
  const int64_t number = &node - program_.nodes.data();
  if (at.childless && is_product_of_zeros_[number]) {
    if (node.accumulate) return;
    return ForRanges(c.cols, share, [&](int64_t begin, int64_t end) {
      backend.Zero(dtype, Columns(c, dtype, begin, end));
    });
  }
  const Packed* weights = packed_of_[number];
  if (weights != nullptr) {
    const void* packed = weights->data;
    if (share.unit == 0) {
      return backend.MatMulPacked(dtype, a, packed, c, node.accumulate);
    }
    return ForRanges(c.cols, share, [&](int64_t begin, int64_t end) {
      backend.MatMulPackedColumns(dtype, a, packed, c, begin, end,
                                  node.accumulate);
    });
  }
  int64_t column = 0;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Symbol& w = symbol(node.inputs[i]);
    const char* weight = Dense(node.inputs[i]);
    const int64_t width = w.shape[node.transpose ? 0 : 1];
    const int64_t pitch = w.shape[1];
    // The share's ranges of the columns that this weight gives.
    ForRanges(c.cols, share, [&](int64_t begin, int64_t end) {
      begin = std::max(begin - column, int64_t{0});
      end = std::min(end - column, width);
      if (begin >= end) return;
      const int64_t skip = begin * (node.transpose ? pitch : 1);
      const ConstBlock b(weight + skip * SizeOf(dtype),
                         node.transpose ? end - begin : w.shape[0],
                         node.transpose ? w.shape[1] : end - begin, pitch);
      backend.MatMul(dtype, a, b, node.transpose,
                     Columns(c, dtype, column + begin, column + end),
                     node.accumulate);
    });
    column += width;
  }
}

void ProgramRun::ComputeGroup(const Node& node, const Place& at,
                              const Share& share, const Backend& backend) {
  const Symbol& out = symbol(node.members[0].outputs[0]);
  const int64_t size = SizeOf(out.dtype);
  GroupOperand operands[ElementwiseGroup::kMaxValues];
  ForRanges(out.columns(), share, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ConstBlock block = Operand(node.operands[i], at);
      const bool column = block.cols == 1 && out.columns() > 1;
      operands[i].data =
          const_cast<char*>(static_cast<const char*>(block.data)) +
          (column ? 0 : begin * size);
      operands[i].pitch =
          symbol(node.operands[i]).kind == SymbolKind::kRows ? block.pitch : 0;
      operands[i].column = column;
      operands[i].index = block.index;
    }
    backend.Group(out.dtype, node.group, operands, at.count, end - begin);
  });
}

void ProgramRun::ComputePassing(const Node& node, const Place& at,
                                const Share& share, const Backend& backend) {
  const bool writes = !node.outputs.empty();
  const int id = writes ? node.outputs[0] : node.inputs[0];
  const DType dtype = symbol(id).dtype;
  const Block rows = Rows(id, at);
  const int32_t* state_row = rows_.state_row().data() + at.first;
  if (node.kind == NodeKind::kVertexIds) {
    const int32_t* vertex = rows_.vertex().data() + at.first;
    return backend.Copy(DType::kInt32, ConstBlock(vertex, at.count, 1, 1),
                        rows);
  }
  const bool in_state =
      node.kind == NodeKind::kScatter || node.kind == NodeKind::kScatterGrad;
  const DynamicTensor::Span span = values_[id].rows.span();
  if (in_state && span == DynamicTensor::Span::kState) return;
  const bool for_children =
      node.kind == NodeKind::kGather || node.kind == NodeKind::kGatherGrad;
  if (for_children && span == DynamicTensor::Span::kChildren) return;
  // Where the rows come from or go, and which of its rows they are.
  Block other = ext_.state;
  const int32_t* index = state_row;
  switch (node.kind) {
    case NodeKind::kGather:
    case NodeKind::kGatherGrad:
      index = rows_.child_row(node.index).data() + at.first;
      break;
    case NodeKind::kPull:
    case NodeKind::kPushGrad:
      other = ext_.inputs[node.index];
      index = ext_.input_rows[node.index] + at.first;
      break;
    case NodeKind::kPush:
    case NodeKind::kPullGrad:
      other = ext_.outputs[node.index];
      index = ext_.output_rows[node.index] + at.first;
      break;
    default:
      break;
  }
  ForRanges(rows.cols, share, [&](int64_t begin, int64_t end) {
    const Block mine = Columns(rows, dtype, begin, end);
    const Block theirs = Columns(other, dtype, begin, end);
    if (node.kind == NodeKind::kGatherGrad && !ext_.gathered_once) {
      backend.ScatterAddRows(dtype, mine, index, theirs);
    } else if (writes) {
      backend.GatherRows(dtype, theirs, index, mine);
    } else {
      backend.ScatterRows(dtype, mine, index, theirs);
    }
  });
}

}  // namespace cavs
