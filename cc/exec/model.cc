#include "cc/exec/model.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "cc/ir/print.h"

namespace cavs {
namespace {

// Whether `saved`, a symbol of a derivative, can hold the value of `result`.
bool IsSame(const Symbol& saved, const Symbol& result) {
  if (saved.kind != result.kind || saved.dtype != result.dtype) return false;
  switch (saved.kind) {
    case SymbolKind::kRows:
      return saved.columns() == result.columns();
    case SymbolKind::kInvariant:
      return !saved.shape_known || !result.shape_known ||
             saved.shape == result.shape;
    case SymbolKind::kOpaque:
      return true;
    default:  // Never on a tape.
      return false;
  }
}

Status ReadState(Model* model) {
  bool found = false;
  for (const Program& program : model->programs) {
    for (const Node& node : program.nodes) {
      if (!MovesState(node.kind)) continue;
      if (IsNumbered(node.kind)) {
        model->num_slots =
            std::max<int64_t>(model->num_slots, int64_t{node.index} + 1);
      }
      const bool brings_in = RowOf(node.kind).brings_in;
      const int id = (brings_in ? node.outputs : node.inputs)[0];
      const Symbol& symbol = program.symbols[id];
      if (!found) {
        model->state_dtype = symbol.dtype;
        model->state_columns = symbol.columns();
        found = true;
      }
      if (symbol.dtype != model->state_dtype ||
          symbol.columns() != model->state_columns) {
        return InvalidArgument(
            "vertex function: ", node.name, " passes rows of ",
            symbol.columns(), " elements but expected ", model->state_columns,
            " of the same type, as in every gather and scatter of the model. "
            "All vertex functions of a model share one state.");
      }
    }
  }
  // The gradients of several parents are added.
  if (found && !IsNative(model->state_dtype)) {
    std::string native;
    for (DType dtype : FloatTypes::kDTypes) {
      native += std::string(native.empty() ? "" : ", ") + ToString(dtype);
    }
    return Status(StatusCode::kUnimplemented,
                  "state: got " + std::string(ToString(model->state_dtype)) +
                      " but expected one of " + native +
                      ". Pass dtype=\"float32\" to the GraphSupport and cast "
                      "inside of the vertex function.");
  }
  return Status();
}

// See Model::streams_share_sums and streams_share_state.
void FindWhatStreamsShare(Model* model) {
  for (const Program& program : model->programs) {
    std::vector<bool> critical(program.symbols.size(), false);
    std::vector<bool> other(program.symbols.size(), false);
    for (const Node& node : program.nodes) {
      if (node.stage == Stage::kPrologue || node.stage == Stage::kEpilogue) {
        continue;
      }
      const bool is_critical = node.stage == Stage::kCritical;
      if (node.kind == NodeKind::kGatherGrad && !is_critical) {
        model->streams_share_state = true;
      }
      for (int id : node.outputs) {
        int64_t offset;
        const int root = program.Root(id, &offset);
        if (program.symbols[root].kind != SymbolKind::kReduced) continue;
        (is_critical ? critical : other)[root] = true;
        if (critical[root] && other[root]) model->streams_share_sums = true;
      }
    }
  }
}

}  // namespace

Status CompileModel(std::vector<Program> traced, const PassOptions& options,
                    const Device* device, Model* model) {
  model->device = device;
  for (Program& program : traced) {
    model->programs.emplace_back(std::move(program));
    CAVS_RETURN_IF_ERROR(
        RunPasses(options, device->capabilities(), &model->programs.back()));
  }
  CAVS_RETURN_IF_ERROR(ReadState(model));
  FindWhatStreamsShare(model);
  for (const CompiledProgram& program : model->programs) {
    model->executables.push_back(device->Compile(program));
    model->result_captures.emplace_back(program.results.size());
    std::iota(model->result_captures.back().begin(),
              model->result_captures.back().end(), 0);
  }
  return Status();
}

bool MayBeDerivative(const Model& derivative, const Model& model) {
  if (derivative.programs.size() != model.programs.size()) return false;
  for (size_t type = 0; type < model.programs.size(); ++type) {
    const Program& forward = model.programs[type];
    const int count = static_cast<int>(forward.results.size());
    for (const Symbol& symbol : derivative.programs[type].symbols) {
      if (symbol.source != SymbolSource::kSaved || symbol.parent >= 0) continue;
      if (symbol.index < 0 || symbol.index >= count ||
          !IsSame(symbol, forward.symbols[forward.results[symbol.index]])) {
        return false;
      }
    }
  }
  return true;
}

bool Touches(const Program& program, NodeKind kind, size_t index) {
  return std::any_of(
      program.nodes.begin(), program.nodes.end(), [&](const Node& node) {
        return node.kind == kind && node.index == static_cast<int>(index);
      });
}

std::vector<SlotCounts> CountSlots(const Model& model) {
  std::vector<SlotCounts> counts;
  for (const Program& program : model.programs) {
    counts.emplace_back(model.num_slots, 0);
    for (const Node& node : program.nodes) {
      if (RowOf(node.kind).outside == Outside::kChildStates) {
        ++counts.back()[node.index];
      }
    }
  }
  return counts;
}

}  // namespace cavs
