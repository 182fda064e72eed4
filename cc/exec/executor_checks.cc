#include "cc/exec/executor_checks.h"

#include <cstdint>
#include <string>

#include "cc/base/byte_count.h"

namespace cavs {
namespace {

// Whether the tape holds a value for `symbol`.
bool IsValueOf(const Symbol& symbol, const Slot& value) {
  const bool has_rows = value.rows.dtype() != DType::kOther;
  const bool is_dense = !has_rows && value.tensor != nullptr;
  switch (symbol.kind) {
    case SymbolKind::kRows:
      return value.rows.columns() == symbol.columns() &&
             value.rows.dtype() == symbol.dtype;
    case SymbolKind::kInvariant:
      return is_dense && value.tensor->dtype == symbol.dtype &&
             (!symbol.shape_known || value.tensor->shape == symbol.shape);
    case SymbolKind::kOpaque:
      return !has_rows && !is_dense;
    default:  // Never on a tape.
      return false;
  }
}

}  // namespace

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (int64_t d : shape) text += StrCat(text.size() > 1 ? ", " : "", d);
  return text + "]";
}

Status CheckMovedRows(const Program& program, const RunArguments& arguments,
                      const char* input_name, const char* output_name) {
  for (const Node& node : program.nodes) {
    if (RowOf(node.kind).outside != Outside::kExternal) continue;
    const bool reads = RowOf(node.kind).brings_in;
    const std::vector<Block>& blocks =
        reads ? arguments.inputs : arguments.outputs;
    const char* name = reads ? input_name : output_name;
    const int64_t columns =
        program.symbols[reads ? node.outputs[0] : node.inputs[0]].columns();
    if (node.index < 0 || node.index >= static_cast<int>(blocks.size())) {
      return InvalidArgument(name, ": got ", blocks.size(),
                             " of them but expected at least ", node.index + 1,
                             ", as when the vertex function was traced.");
    }
    if (blocks[node.index].cols != columns) {
      return InvalidArgument(name, "[", node.index, "]: got rows of ",
                             blocks[node.index].cols, " elements but expected ",
                             columns,
                             ", as when the vertex function was traced.");
    }
  }
  return Status();
}

Status CheckCaptures(const Program& program,
                     const std::vector<TensorRef>& captures, size_t before) {
  for (const Symbol& symbol : program.symbols) {
    if (symbol.source != SymbolSource::kCapture) continue;
    if (symbol.index >= static_cast<int>(captures.size())) {
      return InvalidArgument(
          "captures: got ", captures.size(), " of them but expected at least ",
          symbol.index + 1, ", as when the vertex function was traced.");
    }
    const std::vector<int64_t>& shape = captures[symbol.index].shape;
    if (!symbol.shape_known || shape == symbol.shape) continue;
    return InvalidArgument(
        "captures[", before + symbol.index, "] (", symbol.name, "): got shape ",
        ShapeText(shape), " but expected ", ShapeText(symbol.shape),
        ", as when the vertex function was traced. Use a new GraphSupport for "
        "weights of another shape.");
  }
  return Status();
}

Status CheckSlots(const Model& model, const ScheduleView& schedule) {
  if (model.reads_edges && !schedule.has_edges() &&
      schedule.num_vertices() > 0) {
    return InvalidArgument(
        "schedule: got one without edges but expected edge_splits, edge_child "
        "and edge_number, as the vertex function reads edges. Make the "
        "schedule with edges=True.");
  }
  if (schedule.num_vertices() == 0 || schedule.arity >= model.num_slots) {
    return Status();
  }
  return InvalidArgument(
      "schedule: got child rows of ", schedule.arity,
      " slots but expected at least ", model.num_slots,
      ", as the vertex function gathers from slot ", model.num_slots - 1,
      ". Make the schedule with the arity of the vertex function.");
}

Status CheckSaved(const Program& program, const std::vector<Slot>& saved,
                  bool has_rows) {
  for (const Symbol& symbol : program.symbols) {
    if (symbol.source != SymbolSource::kSaved || symbol.parent >= 0) continue;
    if (symbol.kind == SymbolKind::kRows && !has_rows) continue;
    const bool exists =
        symbol.index >= 0 && symbol.index < static_cast<int>(saved.size());
    if (!exists || !IsValueOf(symbol, saved[symbol.index])) {
      return InvalidArgument(
          "tape: got that of another model but expected that of the "
          "CavsForward of which this is the gradient.");
    }
  }
  return Status();
}

Status CheckResults(const Program& program, const std::vector<int>& captures,
                    const std::vector<TensorRef>& grads, size_t before) {
  for (size_t i = 0; i < captures.size(); ++i) {
    const Symbol& sum = program.symbols[program.results[i]];
    const size_t capture = captures[i];
    const bool fits = capture < grads.size() &&
                      CheckedProduct(grads[capture].shape) == sum.columns() &&
                      grads[capture].dtype == sum.dtype;
    if (fits) continue;
    return InvalidArgument(
        "capture_grads[", before + capture,
        "]: got another number, type or shape than that of what is computed "
        "but expected the same. Give each the type and the shape of its "
        "capture.");
  }
  return Status();
}

}  // namespace cavs
