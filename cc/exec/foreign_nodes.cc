#include "cc/exec/foreign_nodes.h"

#include <utility>
#include <vector>

#include "cc/base/byte_count.h"

namespace cavs {

TensorRef ForeignNodes::Refer(int id, const RowRange& at) {
  const Symbol& s = program_.symbols[id];
  TensorRef ref;
  ref.dtype = s.dtype;
  switch (s.kind) {
    case SymbolKind::kRows: {
      const Block block = operands_.Rows(id, at);
      ref.shape.push_back(block.rows);
      ref.shape.insert(ref.shape.end(), s.shape.begin(), s.shape.end());
      ref.data = block.data;
      ref.pitch = block.pitch;
      return ref;
    }
    case SymbolKind::kRowCount: {
      ref.shape = s.shape;
      for (size_t i = 0; i < s.scale.size(); ++i) {
        ref.numbers.push_back(s.scale[i] * at.of(s.space).count + s.bias[i]);
      }
      return ref;
    }
    case SymbolKind::kOpaque: {
      std::vector<TensorRef>& per_task = bindings_.slots[id].per_task;
      if (static_cast<int64_t>(per_task.size()) <= at.task) {
        per_task.resize(at.task + 1);
      }
      ref = per_task[at.task];
      ref.dtype = s.dtype;
      ref.opaque = true;
      return ref;
    }
    case SymbolKind::kInvariant:
    case SymbolKind::kReduced: {
      const Slot& slot = bindings_.slots[id];
      if (slot.tensor != nullptr) {
        ref = *slot.tensor;
      } else {
        ref.shape = s.shape;
      }
      ref.data = operands_.Dense(id);
      return ref;
    }
  }
  return ref;
}

TensorRef ForeignNodes::ReferToOutput(int id, const RowRange& at) {
  const Symbol& s = program_.symbols[id];
  TensorRef output = Refer(id, at);
  if (s.kind == SymbolKind::kInvariant || s.kind == SymbolKind::kOpaque) {
    output = TensorRef();
    output.dtype = s.dtype;
    output.opaque = s.kind == SymbolKind::kOpaque;
  } else if (s.kind == SymbolKind::kReduced &&
             (*bindings_.sum_begun[id] || bindings_.slots[id].rounded_last)) {
    output.data = bindings_.slots[id].terms;
  }
  return output;
}

Status ForeignNodes::Run(const Node& node, const RowRange& at, Stream* stream) {
  const TraceScope scope(bindings_.tracer, node.stage,
                         [&] { return node.label; });
  std::vector<TensorRef> inputs, outputs;
  for (int id : node.inputs) inputs.push_back(Refer(id, at));
  for (int id : node.outputs) outputs.push_back(ReferToOutput(id, at));
  CAVS_RETURN_IF_ERROR(node.foreign->Run(host_, inputs, &outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    CAVS_RETURN_IF_ERROR(Take(node, node.outputs[i], at, outputs[i], stream));
  }
  return Status();
}

Status ForeignNodes::Take(const Node& node, int id, const RowRange& at,
                          const TensorRef& output, Stream* stream) {
  Slot& slot = bindings_.slots[id];
  switch (program_.symbols[id].kind) {
    case SymbolKind::kInvariant:
      slot.dense = output.data;
      slot.tensor = std::make_shared<const TensorRef>(output);
      return Status();
    case SymbolKind::kOpaque:
      slot.per_task[at.task] = output;
      return Status();
    case SymbolKind::kReduced:
      return AddTerms(node, id, output, stream);
    default:  // The output is in its place.
      return Status();
  }
}

Status ForeignNodes::AddTerms(const Node& node, int id, const TensorRef& terms,
                              Stream* stream) {
  const Symbol& s = program_.symbols[id];
  Slot& slot = bindings_.slots[id];
  const bool begun = *bindings_.sum_begun[id];
  *bindings_.sum_begun[id] = true;
  // The first terms are stored as the sum.
  if (!begun && !slot.rounded_last) return Status();
  if (!begun) {
    const size_t bytes = ByteCount(1, s.columns(), SumType(s.dtype));
    CAVS_RETURN_IF_ERROR(stream->Zero(slot.dense, bytes));
  }
  Status status = stream->Add(s.dtype, terms.data, s.columns(), slot.dense);
  if (status.code() != StatusCode::kUnimplemented) return status;
  return Status(
      StatusCode::kUnimplemented,
      StrCat("vertex function: operator ", node.name, " (", node.op,
             ") sums rows of a type that cannot be added up task by task. Use "
             "float32."));
}

Status ForeignNodes::RunRowFree(Stage stage, Stream* stream) {
  for (const Node& node : program_.nodes) {
    if (node.stage != stage) continue;
    CAVS_RETURN_IF_ERROR(Run(node, RowRange(), stream));
  }
  return Status();
}

}  // namespace cavs
