#include "cc/exec/choose_programs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "cc/base/byte_count.h"
#include "cc/exec/executor_checks.h"
#include "cc/exec/run.h"
#include "cc/ir/program.h"

namespace cavs {
namespace {

// The size of the weights that must be finite for a variant.
int64_t BytesOfFiniteCaptures(const Model& model, int program) {
  const std::map<int, CaptureRange>& ranges = model.finite_captures[program];
  int64_t bytes = 0;
  for (const Symbol& symbol : model.programs[model.type_of[program]].symbols) {
    if (symbol.source == SymbolSource::kCapture && symbol.parent < 0 &&
        ranges.count(symbol.index) > 0) {
      const CaptureRange& range = ranges.at(symbol.index);
      const int64_t end = std::min(range.end, symbol.columns());
      bytes += ByteCount(1, end - range.begin, symbol.dtype);
    }
  }
  return bytes;
}

// The fastest program for such tasks of a type: its own, or a variant for all
// or some of these traits.
int FastestProgram(const Model& model, int type, int traits,
                   const TaskCount& tasks) {
  const auto nanos = [&](int program) {
    return model.executables[program]->Nanos(tasks);
  };
  int fastest = type;
  double least = nanos(type);
  for (int some = 1; some <= traits; ++some) {
    const int variant = model.variants[type][some];
    if ((some & traits) != some || variant < 0) continue;
    const double own =
        nanos(variant) +
        model.device->NanosPerProgram(BytesOfFiniteCaptures(model, variant));
    if (own > least) continue;
    fastest = variant;
    least = own;
  }
  return fastest;
}

// Clears *finite if something is not finite that must be so for a variant. Sets
// *asked if the stream was asked.
Status CheckFinite(const Model& model, int variant, const StepInputs& inputs,
                   Stream* stream, bool* asked, bool* finite) {
  const int type = model.type_of[variant];
  const std::vector<TensorRef>& captures = inputs.captures[type];
  for (const auto& [capture, range] : model.finite_captures[variant]) {
    if (capture >= static_cast<int>(captures.size())) continue;
    const TensorRef& values = captures[capture];
    const int64_t end = std::min(range.end, CheckedProduct(values.shape));
    if (end <= range.begin) continue;  // The shape is rejected later.
    const char* const first = static_cast<const char*>(values.data) +
                              ByteCount(1, range.begin, values.dtype);
    *asked = true;
    CAVS_RETURN_IF_ERROR(stream->ClearUnlessFinite(values.dtype, first,
                                                   end - range.begin, finite));
  }
  for (const Node& node : model.programs[type].nodes) {
    if (node.kind != NodeKind::kPull ||
        model.finite_pulls[variant].count(node.index) == 0 ||
        node.index >= static_cast<int>(inputs.pulls.size())) {
      continue;
    }
    const Block& rows = inputs.pulls[node.index];
    *asked = true;
    CAVS_RETURN_IF_ERROR(stream->ClearUnlessFinite(
        model.programs[type].symbols[node.outputs[0]].dtype, rows.data,
        rows.rows * rows.cols, finite));
  }
  return Status();
}

}  // namespace

std::vector<int> TraitsOfTasks(const Model& model, const ScheduleView& schedule,
                               const std::vector<RowMap>& pull_rows) {
  std::vector<const RowMap*> partial;
  for (int pull : model.partial_pulls) {
    if (pull < static_cast<int>(pull_rows.size())) {
      partial.push_back(&pull_rows[pull]);
    }
  }
  std::vector<int> traits = TraitsOfTasks(schedule, partial);
  // Tasks that no program tells apart are counted together.
  if (std::all_of(
          model.variants.begin(), model.variants.end(),
          [](const auto& of_type) { return of_type[kAllChildren] < 0; })) {
    for (int& own : traits) own &= ~kAllChildren;
  }
  return traits;
}

ProgramTable FastestPrograms(const Model& model, const ScheduleView& schedule,
                             const std::vector<int>& traits) {
  ProgramTable programs = OneProgramPerType(model.num_types);
  const TaskCounts counts = CountTasks(schedule, traits, model.num_types);
  for (int own = 1; own < kNumTraitSets; ++own) {
    for (int type = 0; type < model.num_types; ++type) {
      const TaskCount& tasks = counts[type][own];
      if (tasks.rows == 0) continue;
      programs[type][own] = FastestProgram(model, type, own, tasks);
    }
  }
  return programs;
}

std::vector<int> TraitsOfPrograms(const Model& model,
                                  const ScheduleView& schedule,
                                  const std::vector<RowMap>& pull_rows) {
  std::vector<int> traits = TraitsOfTasks(model, schedule, pull_rows);
  const ProgramTable programs = FastestPrograms(model, schedule, traits);
  for (size_t task = 0; task < traits.size(); ++task) {
    const int type = schedule.task_type[task];
    const int program = programs[type][traits[task]];
    int own = kNoTraits;
    while (model.is_variant(program) && model.variants[type][own] != program) {
      ++own;
    }
    traits[task] = own;
  }
  return traits;
}

Status ChoosePrograms(const Model& model, const StepInputs& inputs,
                      const std::vector<int>& traits,
                      const StepContext& context, ProgramTable* programs) {
  *programs = FastestPrograms(model, inputs.schedule, traits);
  bool asked = false;
  const auto is_finite = std::make_unique<bool[]>(model.num_types);
  std::fill_n(is_finite.get(), model.num_types, true);
  for (const auto& of_type : *programs) {
    for (int program : of_type) {
      if (!model.is_variant(program)) continue;
      CAVS_RETURN_IF_ERROR(CheckFinite(model, program, inputs, context.stream,
                                       &asked,
                                       &is_finite[model.type_of[program]]));
    }
  }
  if (asked) CAVS_RETURN_IF_ERROR(context.stream->Synchronize());
  for (int type = 0; type < model.num_types; ++type) {
    if (!is_finite[type]) (*programs)[type].fill(type);
  }
  return Status();
}

bool CanReadVariants(const Model& derivative, const Tape& tape) {
  for (int program = derivative.num_types; program < tape.rows.num_types();
       ++program) {
    if (tape.rows.type(program).size() == 0) continue;
    if (program >= static_cast<int>(derivative.programs.size()) ||
        !CheckSaved(derivative.programs[program], tape.saved[program],
                    /*has_rows=*/true)
             .ok()) {
      return false;
    }
  }
  return true;
}

Status CheckPushGrads(const Model& derivative, const Tape& tape,
                      const std::vector<Block>& push_grads,
                      const StepContext& context, bool* finite) {
  std::vector<bool> done(push_grads.size(), false);
  bool any = false;
  for (int program = derivative.num_types; program < tape.rows.num_types();
       ++program) {
    if (IsIdle(derivative, tape.rows, program) ||
        !derivative.finite_gradients[program]) {
      continue;
    }
    for (const Node& node : derivative.programs[program].nodes) {
      if (node.kind != NodeKind::kPushGrad ||
          node.index >= static_cast<int>(done.size()) || done[node.index]) {
        continue;
      }
      any = done[node.index] = true;
      const DType dtype =
          derivative.programs[program].symbols[node.outputs[0]].dtype;
      const Block& grad = push_grads[node.index];
      if (!IsNative(dtype)) continue;
      CAVS_RETURN_IF_ERROR(context.stream->ClearUnlessFinite(
          dtype, grad.data, grad.rows * grad.cols, finite));
    }
  }
  return any ? context.stream->Synchronize() : Status();
}

}  // namespace cavs
