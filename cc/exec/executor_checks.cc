#include "cc/exec/executor_checks.h"

#include <cstdint>

namespace cavs {
namespace {

int64_t NumElements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Does the tape hold what `symbol` is?
bool IsValueOf(const Symbol& symbol, const Slot& value) {
  const bool has_rows = value.rows.dtype() != DType::kOther;
  const bool is_dense = !has_rows && (value.dense.handle != nullptr ||
                                      value.dense.data != nullptr);
  switch (symbol.kind) {
    case SymbolKind::kRows:
      return value.rows.columns() == symbol.columns() &&
             value.rows.dtype() == symbol.dtype;
    case SymbolKind::kInvariant:
      return is_dense && value.dense.dtype == symbol.dtype &&
             (!symbol.shape_known || value.dense.shape == symbol.shape);
    case SymbolKind::kOpaque:
      return !has_rows && !is_dense;
    default:  // Is never kept.
      return false;
  }
}

}  // namespace

Status CheckPassing(const Program& program, const RunArguments& arguments,
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
                     const std::vector<TensorRef>& captures) {
  for (const Symbol& symbol : program.symbols) {
    if (symbol.source == SymbolSource::kCapture &&
        symbol.index >= static_cast<int>(captures.size())) {
      return InvalidArgument(
          "captures: got ", captures.size(), " of them but expected at least ",
          symbol.index + 1, ", as when the vertex function was traced.");
    }
  }
  return Status();
}

Status CheckSlots(const Model& model, const ScheduleView& schedule) {
  if (schedule.num_vertices() == 0 || schedule.arity >= model.num_slots) {
    return Status();
  }
  return InvalidArgument(
      "schedule: got child rows of ", schedule.arity,
      " slots but expected at least ", model.num_slots,
      ", as the vertex function gathers from slot ", model.num_slots - 1,
      ". Make the schedule with the arity of the vertex function.");
}

Status CheckSaved(const Program& program, const std::vector<Slot>& saved) {
  for (const Symbol& symbol : program.symbols) {
    if (symbol.source != SymbolSource::kSaved || symbol.parent >= 0) continue;
    const bool exists =
        symbol.index >= 0 && symbol.index < static_cast<int>(saved.size());
    if (!exists || !IsValueOf(symbol, saved[symbol.index])) {
      return InvalidArgument(
          "tape: got that of another model but expected that of the forward "
          "pass this is the gradient of.");
    }
  }
  return Status();
}

Status CheckResults(const Program& program,
                    const std::vector<TensorRef>& results) {
  bool fits = results.size() == program.results.size();
  for (size_t i = 0; fits && i < results.size(); ++i) {
    const Symbol& symbol = program.symbols[program.results[i]];
    fits = NumElements(results[i].shape) == symbol.columns() &&
           results[i].dtype == symbol.dtype;
  }
  if (fits) return Status();
  return InvalidArgument(
      "capture_grads: got shapes or types that differ from those of the "
      "gradients. Give each the shape and the type of its capture.");
}

}  // namespace cavs
