#include "cc/core/executor.h"

#include <string>
#include <utility>

#include "cc/core/byte_count.h"

namespace cavs {
namespace {

int64_t NumElements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Do the blocks that rows pass through have their columns? `names`: of the
// inputs and of the outputs.
Status CheckPassing(const Program& program, const Externals& externals,
                    const char* input_name, const char* output_name) {
  for (const Node& node : program.nodes) {
    const bool reads =
        node.kind == NodeKind::kPull || node.kind == NodeKind::kPushGrad;
    const bool writes =
        node.kind == NodeKind::kPush || node.kind == NodeKind::kPullGrad;
    if (!reads && !writes) continue;
    const std::vector<Block>& blocks =
        reads ? externals.inputs : externals.outputs;
    const char* name = reads ? input_name : output_name;
    const int64_t columns =
        program.symbols[reads ? node.outputs[0] : node.inputs[0]].columns();
    if (node.index >= static_cast<int>(blocks.size())) {
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

// Was the tape filled by the program that `program` is the derivative of?
Status CheckSaved(const Program& program, const std::vector<Value>& saved) {
  for (const Symbol& symbol : program.symbols) {
    if (symbol.source != SymbolSource::kSaved || symbol.parent >= 0) continue;
    const bool exists = symbol.index < static_cast<int>(saved.size());
    if (!exists || (symbol.kind == SymbolKind::kRows &&
                    (saved[symbol.index].rows.columns() != symbol.columns() ||
                     saved[symbol.index].rows.dtype() != symbol.dtype))) {
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
    fits = NumElements(results[i].shape) ==
           program.symbols[program.results[i]].columns();
  }
  if (fits) return Status();
  return InvalidArgument(
      "capture_grads: got shapes that differ from those of the gradients. "
      "Give each the shape of its capture.");
}

// The state, or its gradient, of the whole minibatch.
Status TakeState(const Model& model, int64_t num_vertices,
                 const Environment& environment, std::shared_ptr<void>* memory,
                 Block* state) {
  const size_t bytes =
      ByteCount(num_vertices, model.state_columns, model.state_dtype);
  *memory = environment.pool->Acquire(bytes);
  if (*memory == nullptr) {
    return Status(StatusCode::kResourceExhausted,
                  StrCat("minibatch: its state needs ", bytes,
                         " bytes but the system has no such block. Use a "
                         "smaller minibatch or state."));
  }
  *state = {memory->get(), num_vertices, model.state_columns,
            model.state_columns};
  return Status();
}

// One run per vertex type, each bound to its storage.
Status StartRuns(const Model& model, const std::vector<TypeRows>& rows,
                 const Environment& environment,
                 std::vector<Externals> externals,
                 std::vector<ProgramRun>* runs) {
  runs->reserve(model.programs.size());
  for (size_t type = 0; type < model.programs.size(); ++type) {
    runs->emplace_back(model.programs[type], rows[type], environment,
                       std::move(externals[type]));
    CAVS_RETURN_IF_ERROR(runs->back().Bind());
    CAVS_RETURN_IF_ERROR(runs->back().RunPrologue());
  }
  for (ProgramRun& run : *runs) CAVS_RETURN_IF_ERROR(run.RunEager());
  return Status();
}

Status RunTask(const ScheduleView& schedule, const std::vector<TypeRows>& rows,
               const Environment& environment, int64_t task,
               std::vector<ProgramRun>* runs) {
  if (environment.cancelled && environment.cancelled()) {
    return Status(StatusCode::kCancelled, StrCat("cancelled before task ", task,
                                                 " of ", schedule.num_tasks()));
  }
  const int32_t type = schedule.task_type[task];
  const int64_t count =
      schedule.task_splits[task + 1] - schedule.task_splits[task];
  if (count == 0) return Status();
  return (*runs)[type].RunTask(task, rows[type].first_row(task), count);
}

Status Finish(std::vector<ProgramRun>* runs) {
  for (ProgramRun& run : *runs) CAVS_RETURN_IF_ERROR(run.RunLazy());
  for (ProgramRun& run : *runs) CAVS_RETURN_IF_ERROR(run.RunEpilogue());
  return Status();
}

}  // namespace

Status FinishModel(Model* model) {
  bool found = false;
  for (const Program& program : model->programs) {
    for (const Node& node : program.nodes) {
      int id = -1;
      if (node.kind == NodeKind::kScatter ||
          node.kind == NodeKind::kGatherGrad) {
        id = node.inputs[0];
      } else if (node.kind == NodeKind::kGather ||
                 node.kind == NodeKind::kScatterGrad) {
        id = node.outputs[0];
      } else {
        continue;
      }
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
  // Gradients of several parents add up.
  if (found && !IsNative(model->state_dtype) &&
      model->state_dtype != DType::kBFloat16) {
    return Status(StatusCode::kUnimplemented,
                  "state: got a type other than float32, float64 and bfloat16 "
                  "but expected one of them. Pass dtype=\"float32\" to the "
                  "GraphSupport and cast inside of the vertex function.");
  }
  return Status();
}

Status RunForward(const Model& model, const ForwardArguments& arguments,
                  const Environment& environment, Tape* tape) {
  const ScheduleView& schedule = arguments.schedule;
  const int num_types = static_cast<int>(model.programs.size());
  std::vector<TypeRows> rows;
  rows.reserve(num_types);
  for (int type = 0; type < num_types; ++type) {
    rows.emplace_back(schedule, type, num_types);
  }
  std::shared_ptr<void> memory;
  Block state;
  CAVS_RETURN_IF_ERROR(
      TakeState(model, schedule.num_vertices(), environment, &memory, &state));
  std::vector<Externals> externals(num_types);
  for (int type = 0; type < num_types; ++type) {
    externals[type].state = state;
    externals[type].inputs = arguments.pulls;
    externals[type].outputs = arguments.pushes;
    externals[type].captures = arguments.captures[type];
    CAVS_RETURN_IF_ERROR(
        CheckPassing(model.programs[type], externals[type], "pulls", "pushes"));
    CAVS_RETURN_IF_ERROR(
        CheckCaptures(model.programs[type], externals[type].captures));
  }
  std::vector<ProgramRun> runs;
  CAVS_RETURN_IF_ERROR(
      StartRuns(model, rows, environment, std::move(externals), &runs));
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    CAVS_RETURN_IF_ERROR(RunTask(schedule, rows, environment, task, &runs));
  }
  CAVS_RETURN_IF_ERROR(Finish(&runs));
  if (tape == nullptr) return Status();
  tape->schedule = schedule;
  for (ProgramRun& run : runs) {
    tape->saved.push_back(run.TakeResults(&tape->memory));
  }
  tape->rows = std::move(rows);
  return Status();
}

Status RunBackward(const Model& derivative, const Tape& tape,
                   const BackwardArguments& arguments,
                   const Environment& environment) {
  const ScheduleView& schedule = tape.schedule;
  const int num_types = static_cast<int>(derivative.programs.size());
  if (tape.saved.size() != derivative.programs.size()) {
    return InvalidArgument("tape: got that of a model of ", tape.saved.size(),
                           " vertex types but expected ", num_types, ".");
  }
  std::shared_ptr<void> memory;
  Block state_grad;
  CAVS_RETURN_IF_ERROR(TakeState(derivative, schedule.num_vertices(),
                                 environment, &memory, &state_grad));
  environment.backend->Zero(derivative.state_dtype, state_grad);
  std::vector<Externals> externals(num_types);
  for (int type = 0; type < num_types; ++type) {
    externals[type].state = state_grad;
    externals[type].inputs = arguments.push_grads;
    externals[type].outputs = arguments.pull_grads;
    externals[type].saved = &tape.saved[type];
    externals[type].results = arguments.capture_grads[type];
    const Program& program = derivative.programs[type];
    CAVS_RETURN_IF_ERROR(
        CheckPassing(program, externals[type], "push_grads", "pull_grads"));
    CAVS_RETURN_IF_ERROR(CheckSaved(program, tape.saved[type]));
    CAVS_RETURN_IF_ERROR(CheckResults(program, arguments.capture_grads[type]));
  }
  std::vector<ProgramRun> runs;
  CAVS_RETURN_IF_ERROR(StartRuns(derivative, tape.rows, environment,
                                 std::move(externals), &runs));
  for (int64_t task = schedule.num_tasks() - 1; task >= 0; --task) {
    CAVS_RETURN_IF_ERROR(
        RunTask(schedule, tape.rows, environment, task, &runs));
  }
  return Finish(&runs);
}

}  // namespace cavs
