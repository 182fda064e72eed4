#include "cc/exec/model.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "cc/exec/shared_sums.h"
#include "cc/ir/print.h"

namespace cavs {
namespace {

// Whether `saved`, a symbol of a derivative, can hold the value of `result`.
bool IsSame(const Symbol& saved, const Symbol& result) {
  if (saved.kind != result.kind || saved.dtype != result.dtype) return false;
  switch (saved.kind) {
    case SymbolKind::kRows:
      return saved.space == result.space && saved.columns() == result.columns();
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

void FindEdges(Model* model) {
  for (const Program& program : model->programs) {
    for (const Symbol& symbol : program.symbols) {
      model->reads_edges |= symbol.space == RowSpace::kEdges;
    }
    for (const Node& node : program.nodes) {
      if (SpaceOf(program, node) != RowSpace::kEdges) continue;
      if (node.kind == NodeKind::kPull) model->edge_pulls.insert(node.index);
      if (node.kind == NodeKind::kPush) model->edge_pushes.insert(node.index);
    }
  }
}

void FindPrologues(Model* model) {
  for (const Program& program : model->programs) {
    model->computes_weights.push_back(std::any_of(
        program.nodes.begin(), program.nodes.end(),
        [](const Node& node) { return node.stage == Stage::kPrologue; }));
  }
}

void CountGathers(Model* model) {
  for (const Program& program : model->programs) {
    model->gathers.emplace_back();
    GatherCounts& own = model->gathers.back();
    own.slots.assign(model->num_slots, 0);
    for (const Node& node : program.nodes) {
      if (RowOf(node.kind).outside != Outside::kChildStates) continue;
      ++(node.index < 0 ? own.edges : own.slots[node.index]);
    }
  }
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

namespace {

// Whether `derivative` reads only results of `function`, with the same kind and
// shape.
bool IsDerivative(const Program& derivative, const Program& function) {
  const int count = static_cast<int>(function.results.size());
  for (const Symbol& symbol : derivative.symbols) {
    if (symbol.source != SymbolSource::kSaved || symbol.parent >= 0) continue;
    if (symbol.index < 0 || symbol.index >= count ||
        !IsSame(symbol, function.symbols[function.results[symbol.index]])) {
      return false;
    }
  }
  return true;
}

bool AreDerivatives(const std::vector<Program>& derivatives,
                    const std::vector<Program>& functions) {
  return derivatives.size() == functions.size() &&
         std::equal(derivatives.begin(), derivatives.end(), functions.begin(),
                    IsDerivative);
}

Status SimplifyAll(const PassOptions& options, std::vector<Program>* programs) {
  for (Program& program : *programs) {
    CAVS_RETURN_IF_ERROR(Simplify(options, &program));
  }
  return Status();
}

Status Finish(std::vector<Program> programs, const PassOptions& options,
              const Device* device, Model* model) {
  model->device = device;
  for (Program& program : programs) {
    model->programs.emplace_back(std::move(program));
    CAVS_RETURN_IF_ERROR(
        Arrange(options, device->capabilities(), &model->programs.back()));
  }
  model->shared_sums.resize(model->programs.size());
  for (size_t i = model->num_types; i < model->programs.size(); ++i) {
    CompiledProgram& variant = model->programs[i];
    if (!variant.is_derivative) continue;
    model->shared_sums[i] = ShareSums(model->programs[model->type_of[i]],
                                      model->parts[i], &variant);
  }
  CAVS_RETURN_IF_ERROR(ReadState(model));
  FindEdges(model);
  FindPrologues(model);
  CountGathers(model);
  FindWhatStreamsShare(model);
  for (const CompiledProgram& program : model->programs) {
    model->executables.push_back(device->Compile(program));
  }
  for (int type = 0; type < model->num_types; ++type) {
    model->result_captures.emplace_back(model->programs[type].results.size());
    std::iota(model->result_captures.back().begin(),
              model->result_captures.back().end(), 0);
  }
  return Status();
}

// Adds the tables of a program of this type.
void AddTables(int type, const Variant& variant, Model* model) {
  model->type_of.push_back(type);
  model->finite_captures.push_back(variant.finite_captures);
  model->finite_pulls.push_back(variant.finite_pulls);
  model->finite_gradients.push_back(variant.finite_gradients);
  model->kept.push_back(variant.kept);
  model->parts.push_back(variant.parts);
}

// Adds the tables of a program for each type.
void BeginPrograms(int num_types, Model* model) {
  model->num_types = num_types;
  model->variants.resize(num_types);
  for (auto& of_type : model->variants) of_type.fill(-1);
  for (int type = 0; type < num_types; ++type) AddTables(type, {}, model);
}

VertexTraits TraitsOf(int traits, const PartialPulls& partial) {
  VertexTraits own;
  own.childless = (traits & kChildless) != 0;
  own.all_children = (traits & kAllChildren) != 0;
  own.of_children = partial.of_children;
  if ((traits & kWithoutInputs) != 0) {
    own.missing_pulls = partial.pulls;
    own.missing_pull_grads = partial.grads;
  }
  return own;
}

// Such as " (leaves, no input)".
std::string NameOf(int traits) {
  std::string name = (traits & kChildless) != 0     ? "leaves"
                     : (traits & kAllChildren) != 0 ? "all children"
                                                    : "";
  if ((traits & kWithoutInputs) != 0) {
    name += name.empty() ? "no input" : ", no input";
  }
  return StrCat(" (", name, ")");
}

// Adds a variant of each type for each set of traits where that is of use and
// the device can use it, after the programs of all types. `derivatives` is null
// if there are none.
void AddVariants(const PartialPulls& partial, const Capabilities& capabilities,
                 std::vector<Program>* programs, Model* model,
                 std::vector<Program>* derivatives, Model* derivative) {
  for (int traits = 1; traits < kNumTraitSets; ++traits) {
    const VertexTraits own = TraitsOf(traits, partial);
    if (own.childless && own.all_children) continue;
    if ((traits & kWithoutInputs) != 0 && partial.pulls.empty()) continue;
    for (int type = 0; type < model->num_types; ++type) {
      const Program* const general =
          derivatives == nullptr ? nullptr : &(*derivatives)[type];
      if (!MaySpecialize((*programs)[type], general, own)) continue;
      Variant variant = Specialize((*programs)[type], general, own);
      if (variant.NeedsFinite() && !capabilities.asks_if_finite) continue;
      variant.function.name += NameOf(traits);
      model->variants[type][traits] = static_cast<int>(programs->size());
      programs->push_back(std::move(variant.function));
      if (derivatives != nullptr) {
        variant.derivative.name += NameOf(traits);
        derivatives->push_back(std::move(variant.derivative));
        AddTables(type, variant, derivative);
      }
      AddTables(type, variant, model);
    }
  }
  if (derivatives != nullptr) derivative->variants = model->variants;
}

}  // namespace

Status CompileModel(std::vector<Program> traced,
                    std::vector<Program> derivatives,
                    const PartialPulls& partial, const PassOptions& options,
                    const Device* device, Model* model, Model* derivative) {
  const bool has_derivative = !derivatives.empty();
  CAVS_RETURN_IF_ERROR(SimplifyAll(options, &traced));
  CAVS_RETURN_IF_ERROR(SimplifyAll(options, &derivatives));
  const bool are_derivatives =
      has_derivative && AreDerivatives(derivatives, traced);
  for (size_t type = 0; are_derivatives && type < traced.size(); ++type) {
    CAVS_RETURN_IF_ERROR(
        SimplifyTogether(options, &traced[type], &derivatives[type]));
  }
  const bool specializes =
      options.specialize && (!has_derivative || are_derivatives);
  model->partial_pulls = partial.pulls;
  BeginPrograms(static_cast<int>(traced.size()), model);
  if (has_derivative) {
    BeginPrograms(static_cast<int>(derivatives.size()), derivative);
  }
  if (specializes) {
    AddVariants(partial, device->capabilities(), &traced, model,
                has_derivative ? &derivatives : nullptr, derivative);
  }
  CAVS_RETURN_IF_ERROR(Finish(std::move(traced), options, device, model));
  if (!has_derivative) return Status();
  return Finish(std::move(derivatives), options, device, derivative);
}

Status CompileModel(std::vector<Program> traced, const PassOptions& options,
                    const Device* device, Model* model) {
  PassOptions general = options;
  general.specialize = false;
  return CompileModel(std::move(traced), {}, {}, general, device, model,
                      nullptr);
}

bool MayBeDerivative(const Model& derivative, const Model& model) {
  if (derivative.programs.size() != model.programs.size()) return false;
  for (int type = 0; type < model.num_types; ++type) {
    if (!IsDerivative(derivative.programs[type], model.programs[type])) {
      return false;
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

}  // namespace cavs
