#include "cc/device/reference/reference_program.h"

#include <cstring>

#include "cc/base/byte_count.h"
#include "cc/device/reference/numbers.h"
#include "cc/ir/elementwise.h"

namespace cavs {
namespace {

// An operand of one column stands for as many as the others have.
double At(const std::vector<double>& operand, size_t column) {
  return operand[operand.size() == 1 ? 0 : column];
}

// Computes an element of an elementwise operator or a copy.
std::vector<double> Apply(const Node& node,
                          const std::vector<std::vector<double>>& operands,
                          int64_t columns) {
  std::vector<double> result;
  for (int64_t j = 0; j < columns; ++j) {
    const double x = At(operands[0], j), y = At(operands.back(), j);
    result.push_back(
        node.kind == NodeKind::kCopy ? x : Evaluate(node.elementwise, x, y));
  }
  return result;
}

// Row `i` of a block that has rows of `dtype`.
const char* RowOf(const ConstBlock& block, DType dtype, int64_t i) {
  const int64_t row = block.index == nullptr ? i : block.index[i];
  return static_cast<const char*>(block.data) +
         row * block.pitch * static_cast<int64_t>(SizeOf(dtype));
}
char* RowOf(const Block& block, DType dtype, int64_t i) {
  return const_cast<char*>(RowOf(ConstBlock(block), dtype, i));
}

// Copies one row as bytes. Zeros stand for `from` if it is null.
void CopyRow(const char* from, size_t bytes, char* to) {
  if (bytes == 0) return;
  if (from == nullptr) {
    std::memset(to, 0, bytes);
  } else if (from != to) {
    std::memmove(to, from, bytes);
  }
}

// Copies n numbers, and rounds them if `to_dtype` is another type.
void CopyNumbers(DType from_dtype, const char* from, DType to_dtype, int64_t n,
                 char* to) {
  if (from_dtype == to_dtype || from == nullptr) {
    return CopyRow(from, n * SizeOf(to_dtype), to);
  }
  for (int64_t j = 0; j < n; ++j) {
    WriteElement(to_dtype, ReadElement(from_dtype, from, j), to, j);
  }
}

}  // namespace

// Copies rows that the tape holds by an index.
Status ReferenceProgram::Prepare(Stream*) {
  for (const auto& [id, from] : bindings_.copies) {
    const DType dtype = symbol(id).dtype;
    const Block to = bindings_.slots[id].rows.View(0, from.rows);
    for (int64_t i = 0; i < from.rows; ++i) {
      const bool none = from.index[i] < 0;
      CopyRow(none ? nullptr : RowOf(from, dtype, i), to.cols * SizeOf(dtype),
              RowOf(to, dtype, i));
    }
  }
  return Status();
}

Status ReferenceProgram::Run(Stage stage, const RowRange& at, Stream* stream) {
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    const Node& node = program_.nodes[i];
    if (node.stage != stage) continue;
    if (at.childless && program_.zeros.only_for_children[i]) continue;
    if (node.kind == NodeKind::kForeign) {
      CAVS_RETURN_IF_ERROR(bindings_.foreign->Run(node, at, stream));
    } else {
      RunNode(node, at);
    }
  }
  return Status();
}

Status ReferenceProgram::FinishSums(Stream*) {
  for (int id : operands_.SumsOverNoRows()) {
    std::memset(operands_.Sum(id), 0,
                ByteCount(1, operands_.columns(id), operands_.TypeOfSum(id)));
  }
  for (size_t id = 0; id < program_.symbols.size(); ++id) {
    const Symbol& s = symbol(static_cast<int>(id));
    void* sum = bindings_.slots[id].dense;
    if (s.kind != SymbolKind::kReduced || s.parent >= 0 || sum == nullptr ||
        !bindings_.slots[id].rounded_last) {
      continue;
    }
    for (int64_t i = 0; i < s.columns(); ++i) {
      WriteElement(s.dtype, ReadElement(SumType(s.dtype), sum, i), sum, i);
    }
  }
  return Status();
}

void ReferenceProgram::RunNode(const Node& node, const RowRange& at) {
  const TraceScope scope(bindings_.tracer, node.stage,
                         [&] { return node.label; });
  const int64_t rows = at.of(SpaceOf(program_, node)).count;
  for (int64_t row = 0; row < rows; ++row) {
    switch (node.kind) {
      case NodeKind::kWeightGrad:
      case NodeKind::kSumRows:
        AddRow(node, at, row);
        break;
      case NodeKind::kGroup:
        RunGroup(node, at, row);
        break;
      case NodeKind::kMatMul:
      case NodeKind::kSumColumns:
      case NodeKind::kToMask:
      case NodeKind::kSpread:
      case NodeKind::kSumEdges:
      case NodeKind::kMaxEdges:
      case NodeKind::kElementwise:
      case NodeKind::kCopy:
      case NodeKind::kZero:
        ComputeRow(node, at, row);
        break;
      default:
        MoveRow(node, at, row);
    }
  }
}

void ReferenceProgram::MoveRow(const Node& node, const RowRange& at,
                               int64_t row) {
  const bool writes = !node.outputs.empty();
  const int id = writes ? node.outputs[0] : node.inputs[0];
  const Slot& slot = bindings_.slots[id];
  const Extent extent = slot.rows.extent();
  if (slot.index != nullptr) return;  // Its rows are read in place.
  const DType dtype = symbol(id).dtype;
  const DType there = MovesState(node.kind) ? bindings_.state_dtype : dtype;
  const int64_t columns = symbol(id).columns();
  const int64_t absolute = operands_.RowsOf(id, at).first + row;
  char* mine = RowOf(operands_.Rows(id, at), dtype, row);
  // Where the row comes from or goes, and which of its rows that is.
  Block other = bindings_.state;
  int64_t number = -1;
  switch (node.kind) {
    case NodeKind::kVertexIds:
      return CopyRow(
          reinterpret_cast<const char*>(bindings_.lists.vertex + absolute),
          columns * SizeOf(dtype), mine);
    case NodeKind::kScatter:
    case NodeKind::kScatterGrad:
      if (extent == Extent::kState) return;  // It is there already.
      number = bindings_.lists.state_row[absolute];
      break;
    case NodeKind::kGather:
    case NodeKind::kGatherGrad:
      if (extent == Extent::kChildren) return;  // It is there already.
      number = node.index < 0 ? bindings_.lists.edge_child[absolute]
                              : bindings_.lists.child_row(node.index)[absolute];
      break;
    case NodeKind::kPull:
    case NodeKind::kPushGrad:
      other = bindings_.inputs[node.index];
      number = bindings_.input_rows[node.index][absolute];
      break;
    default:  // A push, or the gradient of a pull.
      other = bindings_.outputs[node.index];
      number = bindings_.output_rows[node.index][absolute];
  }
  char* theirs = number < 0 ? nullptr : RowOf(other, there, number);
  if (writes) return CopyNumbers(there, theirs, dtype, columns, mine);
  if (theirs == nullptr) return;
  if (node.kind != NodeKind::kGatherGrad || bindings_.gathered_once) {
    return CopyNumbers(dtype, mine, there, columns, theirs);
  }
  for (int64_t j = 0; j < columns; ++j) {
    const double sum =
        ReadElement(there, theirs, j) + ReadElement(dtype, mine, j);
    WriteElement(there, sum, theirs, j);
  }
}

void ReferenceProgram::AddRow(const Node& node, const RowRange& at,
                              int64_t row) {
  const int id = node.outputs[0];
  const DType dtype = SumType(symbol(id).dtype);
  void* sum = operands_.Sum(id);
  if (!*bindings_.sum_begun[id]) {
    std::memset(sum, 0, ByteCount(1, symbol(id).columns(), dtype));
    *bindings_.sum_begun[id] = true;
  }
  const Numbers y = Read(node.inputs.back(), at, row);
  const Numbers x = node.kind == NodeKind::kSumRows
                        ? Numbers{1}
                        : Read(node.inputs[0], at, row);
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < y.size(); ++j) {
      const int64_t k = static_cast<int64_t>(i * y.size() + j);
      WriteElement(dtype, ReadElement(dtype, sum, k) + x[i] * y[j], sum, k);
    }
  }
}

void ReferenceProgram::ComputeRow(const Node& node, const RowRange& at,
                                  int64_t row) {
  const int id = node.outputs[0];
  const int64_t columns = symbol(id).columns();
  if (!IsNative(symbol(id).dtype)) {  // A copy, or zeros.
    const DType dtype = symbol(id).dtype;
    const bool zero = node.kind == NodeKind::kZero;
    return CopyRow(
        zero ? nullptr : RowOf(operands_.Read(node.inputs[0], at), dtype, row),
        columns * SizeOf(dtype), RowOf(operands_.Rows(id, at), dtype, row));
  }
  Numbers result(columns);
  std::vector<Numbers> operands;
  switch (node.kind) {
    case NodeKind::kMatMul:
      result = MatMul(node, at, row);
      break;
    case NodeKind::kSumColumns:
      for (double x : Read(node.inputs[0], at, row)) result[0] += x;
      break;
    case NodeKind::kToMask: {
      const char* in =
          RowOf(operands_.Read(node.inputs[0], at), DType::kBool, row);
      for (int64_t j = 0; j < columns; ++j) result[j] = in[j] != 0;
      break;
    }
    case NodeKind::kSpread:
      result = Read(node.inputs[0], at,
                    bindings_.lists.edge_row[at.edges.first + row] - at.first);
      break;
    case NodeKind::kSumEdges:
    case NodeKind::kMaxEdges:
      result = ReduceEdges(node, at, row);
      break;
    case NodeKind::kElementwise:
    case NodeKind::kCopy:
      for (int in : node.inputs) operands.push_back(Read(in, at, row));
      result = Apply(node, operands, columns);
      break;
    default:  // Zeros.
      break;
  }
  Write(id, at, row, result);
}

ReferenceProgram::Numbers ReferenceProgram::ReduceEdges(const Node& node,
                                                        const RowRange& at,
                                                        int64_t row) const {
  const bool sums = node.kind == NodeKind::kSumEdges;
  const int32_t* splits = bindings_.lists.edge_splits + at.first + row;
  Numbers result(symbol(node.outputs[0]).columns());
  for (int32_t edge = splits[0]; edge < splits[1]; ++edge) {
    const Numbers term = Read(node.inputs[0], at, edge - at.edges.first);
    for (size_t j = 0; j < term.size(); ++j) {
      result[j] = edge == splits[0] ? term[j]
                  : sums ? result[j] + term[j]
                         : Evaluate(Elementwise::kMaximum, result[j], term[j]);
    }
  }
  return result;
}

// The columns that each weight gives, side by side.
ReferenceProgram::Numbers ReferenceProgram::MatMul(const Node& node,
                                                   const RowRange& at,
                                                   int64_t row) const {
  const Numbers x = Read(node.inputs[0], at, row);
  Numbers result;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Symbol& w = symbol(node.inputs[i]);
    const char* weight = operands_.Dense(node.inputs[i]);
    const int64_t width = w.shape[node.transpose ? 0 : 1];
    const int64_t depth = w.shape[node.transpose ? 1 : 0];
    const int64_t pitch = w.row_pitch();
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        const int64_t at_weight =
            node.transpose ? j * pitch + k : k * pitch + j;
        sum += x[k] * ReadElement(w.dtype, weight, at_weight);
      }
      result.push_back(sum);
    }
  }
  if (!node.accumulate) return result;
  const Numbers before = Read(node.outputs[0], at, row);
  for (size_t j = 0; j < result.size(); ++j) result[j] += before[j];
  return result;
}

// Member by member. What they make is rounded only where it is written.
void ReferenceProgram::RunGroup(const Node& group, const RowRange& at,
                                int64_t row) {
  Inner made;
  for (const Node& member : group.members) {
    std::vector<Numbers> operands;
    for (int id : member.inputs) {
      const auto found = made.find(Elements(id));
      operands.push_back(found != made.end() ? found->second
                                             : Read(id, at, row));
    }
    const int out = member.outputs[0];
    made[Elements(out)] = Apply(member, operands, symbol(out).columns());
  }
  for (int id : group.outputs) Write(id, at, row, made[Elements(id)]);
}

ReferenceProgram::Inner::key_type ReferenceProgram::Elements(int id) const {
  int64_t offset;
  const int root = program_.Root(id, &offset);
  return {root, offset, symbol(id).columns()};
}

ReferenceProgram::Numbers ReferenceProgram::Read(int id, const RowRange& at,
                                                 int64_t row) const {
  const ConstBlock block = operands_.Read(id, at);
  const DType dtype = symbol(id).dtype;
  const bool has_rows = symbol(id).kind == SymbolKind::kRows;
  const char* from = RowOf(block, dtype, has_rows ? row : 0);
  Numbers numbers;
  for (int64_t j = 0; j < symbol(id).columns(); ++j) {
    numbers.push_back(ReadElement(dtype, from, j));
  }
  return numbers;
}

void ReferenceProgram::Write(int id, const RowRange& at, int64_t row,
                             const Numbers& numbers) {
  const DType dtype = symbol(id).dtype;
  char* to = RowOf(operands_.Rows(id, at), dtype, row);
  for (size_t j = 0; j < numbers.size(); ++j) {
    WriteElement(dtype, numbers[j], to, static_cast<int64_t>(j));
  }
}

}  // namespace cavs
