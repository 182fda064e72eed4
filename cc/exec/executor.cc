#include "cc/exec/executor.h"

#include <algorithm>
#include <utility>

#include "cc/exec/executor_checks.h"
#include "cc/exec/guarded_outputs.h"
#include "cc/exec/pass_run.h"

namespace cavs {
namespace {

std::vector<TypeRows> RowsByType(const ScheduleView& schedule, int num_types) {
  std::vector<TypeRows> rows;
  rows.reserve(num_types);
  for (int type = 0; type < num_types; ++type) {
    rows.emplace_back(schedule, type, num_types);
  }
  return rows;
}

std::vector<PassedRows> MapRows(const std::vector<RowMap>& maps,
                                const std::vector<TypeRows>& types) {
  std::vector<PassedRows> rows;
  rows.reserve(maps.size());
  for (const RowMap& map : maps) rows.emplace_back(map, types);
  return rows;
}

// One per vertex type; what passes through them is still to be filled in.
std::vector<Externals> MakeExternals(const Model& model,
                                     const ScheduleView& schedule) {
  std::vector<Externals> externals(model.programs.size());
  for (Externals& own : externals) {
    own.state = {nullptr, schedule.num_vertices(), model.state_columns,
                 model.state_columns};
  }
  return externals;
}

void WorkAlone(SerialWorkers* alone, Environment* environment) {
  if (environment->workers == nullptr) return;
  environment->workers = alone;
  environment->backend = environment->serial;
}

// Two streams on two threads leave each no one to share its work with. Without
// a tape there is one: several chunks at a time would take memory for each.
Environment ForStreams(Pass pass, const Environment& environment,
                       SerialWorkers* alone) {
  Environment own = environment;
  if (pass == Pass::kInference) own.engine = nullptr;
  if (own.engine != nullptr && own.workers != nullptr &&
      own.workers->count() <= 2) {
    WorkAlone(alone, &own);
  }
  return own;
}

// How long all of a schedule takes one worker.
double NanosOf(const Model& model, const ScheduleView& schedule) {
  std::vector<int64_t> rows(model.programs.size()), tasks(rows.size());
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    const int32_t type = schedule.task_type[task];
    rows[type] += schedule.task_splits[task + 1] - schedule.task_splits[task];
    ++tasks[type];
  }
  double nanos = 0;
  for (size_t type = 0; type < rows.size(); ++type) {
    const auto& plans = model.programs[type].plans;
    for (int stage = 0; stage < kNumStages; ++stage) {
      const bool by_task = stage == static_cast<int>(Stage::kCritical);
      nanos += Nanos(plans[stage].nanos_per_row, rows[type],
                     by_task ? tasks[type] : 1);
    }
  }
  return nanos;
}

// Calls who is to help, or works alone if it would be done before they come.
// They take long: the sooner, the better.
void CallWorkers(const Model& model, const ScheduleView& schedule,
                 SerialWorkers* alone, Environment* environment) {
  if (environment->workers == nullptr) return;
  if (NanosOf(model, schedule) <= environment->nanos_to_call) {
    WorkAlone(alone, environment);
  } else {
    environment->workers->Prepare();
  }
}

// How often the derivatives write to the gradient of each state row.
std::vector<int32_t> CountWrites(const Model& derivative,
                                 const std::vector<TypeRows>& rows,
                                 int64_t num_vertices) {
  std::vector<int32_t> writes(num_vertices, 0);
  for (size_t type = 0; type < rows.size(); ++type) {
    for (const Node& node : derivative.programs[type].nodes) {
      if (node.kind != NodeKind::kGatherGrad) continue;
      const Span<int32_t> children = rows[type].child_row(node.index);
      for (int64_t i = 0; i < children.size(); ++i) {
        if (children[i] >= 0) ++writes[children[i]];
      }
    }
  }
  return writes;
}

bool IsGatheredOnce(const std::vector<int32_t>& writes) {
  return std::all_of(writes.begin(), writes.end(),
                     [](int32_t n) { return n <= 1; });
}

// Of which results are rows read in the state, or in a pull, by an index?
std::vector<bool> ResultsByIndex(const Program& program) {
  std::vector<bool> by_index;
  for (int id : program.results) {
    int64_t offset;
    by_index.push_back(program.symbols[program.Root(id, &offset)].viewed);
  }
  return by_index;
}

MemoryNeed NeedOfBackward(const Model& derivative, const Model& model,
                          const ScheduleView& schedule,
                          const std::vector<TypeRows>& rows,
                          const Environment& environment) {
  std::vector<Externals> externals = MakeExternals(derivative, schedule);
  const bool gathered_once =
      IsGatheredOnce(CountWrites(derivative, rows, schedule.num_vertices()));
  for (size_t type = 0; type < rows.size(); ++type) {
    externals[type].gathered_once = gathered_once;
    externals[type].saved_by_index = ResultsByIndex(model.programs[type]);
    externals[type].results.resize(derivative.programs[type].results.size());
  }
  return PassRun(Pass::kBackward, derivative, schedule, rows, environment,
                 std::move(externals))
      .need();
}

// Asks the system only where the pool has to grow.
bool Fits(size_t bytes, const Environment& environment) {
  const size_t waiting = environment.pool->waiting_bytes();
  return bytes <= waiting || !environment.available_memory ||
         bytes - waiting <= environment.available_memory();
}

// What no one writes to is zero; what several add to begins with zero.
void PrepareStateGradient(const Model& derivative,
                          const std::vector<int32_t>& writes,
                          const Environment& environment, void* data) {
  const int64_t rows = writes.size(), columns = derivative.state_columns;
  if (!IsGatheredOnce(writes)) {
    return environment.backend->Zero(derivative.state_dtype,
                                     {data, rows, columns, columns});
  }
  const int64_t bytes = columns * SizeOf(derivative.state_dtype);
  for (int64_t row = 0; row < rows; ++row) {
    if (writes[row] > 0) continue;
    std::fill_n(static_cast<char*>(data) + row * bytes, bytes, 0);
  }
}

}  // namespace

Status RunForward(const Model& model, const ForwardArguments& arguments,
                  const Environment& given, Tape* tape) {
  CAVS_RETURN_IF_ERROR(CheckSlots(model, arguments.schedule));
  if (arguments.derivative != nullptr) {
    CAVS_RETURN_IF_ERROR(CheckSlots(*arguments.derivative, arguments.schedule));
  }
  SerialWorkers alone;
  const Pass kind = tape == nullptr ? Pass::kInference : Pass::kForward;
  Environment environment = ForStreams(kind, given, &alone);
  const ScheduleView& schedule = arguments.schedule;
  const int num_types = static_cast<int>(model.programs.size());
  CallWorkers(model, schedule, &alone, &environment);
  std::vector<TypeRows> rows = RowsByType(schedule, num_types);
  std::vector<PassedRows> pull_rows = MapRows(arguments.pull_rows, rows);
  PassedRows push_rows(arguments.push_rows, rows);
  std::vector<Externals> externals = MakeExternals(model, schedule);
  for (int type = 0; type < num_types; ++type) {
    externals[type].inputs = arguments.pulls;
    externals[type].outputs = arguments.pushes;
    for (const PassedRows& own : pull_rows) {
      externals[type].input_rows.push_back(own.of_type(type));
    }
    externals[type].output_rows.assign(arguments.pushes.size(),
                                       push_rows.of_type(type));
    externals[type].captures = arguments.captures[type];
    CAVS_RETURN_IF_ERROR(
        CheckPassing(model.programs[type], externals[type], "pulls", "pushes"));
    CAVS_RETURN_IF_ERROR(
        CheckCaptures(model.programs[type], externals[type].captures));
  }
  Guards guards;
  if (environment.pool->guarded()) environment.guards = &guards;
  const GuardedOutputs outputs(model, environment, &externals);
  PassRun pass(kind, model, schedule, rows, environment, std::move(externals));
  MemoryNeed need = pass.need();
  need.results = arguments.result_bytes;
  if (kind == Pass::kForward && arguments.derivative != nullptr) {
    MemoryNeed backward = NeedOfBackward(*arguments.derivative, model, schedule,
                                         rows, environment);
    backward.results = arguments.gradient_bytes;
    const size_t more = TrainingPeak(need, backward) - need.results;
    if (!Fits(more, environment) || !pass.Start()) {
      return DoesNotFit(need, backward);
    }
  } else if (!Fits(need.workspace(), environment) || !pass.Start()) {
    return DoesNotFit(need);
  }
  CAVS_RETURN_IF_ERROR(pass.Run());
  outputs.CopyBack();
  if (tape == nullptr) return Status();
  tape->schedule = schedule;
  tape->saved = pass.Results();
  tape->memory = pass.kept();
  tape->rows = std::move(rows);
  tape->pull_rows = std::move(pull_rows);
  tape->push_rows = std::move(push_rows);
  return Status();
}

Status RunBackward(const Model& derivative, const Tape& tape,
                   const BackwardArguments& arguments,
                   const Environment& given) {
  SerialWorkers alone;
  Environment environment = ForStreams(Pass::kBackward, given, &alone);
  const ScheduleView& schedule = tape.schedule;
  const int num_types = static_cast<int>(derivative.programs.size());
  if (tape.saved.size() != derivative.programs.size()) {
    return InvalidArgument("tape: got that of a model of ", tape.saved.size(),
                           " vertex types but expected ", num_types, ".");
  }
  CAVS_RETURN_IF_ERROR(CheckSlots(derivative, schedule));
  CallWorkers(derivative, schedule, &alone, &environment);
  const std::vector<int32_t> writes =
      CountWrites(derivative, tape.rows, schedule.num_vertices());
  std::vector<Externals> externals = MakeExternals(derivative, schedule);
  for (int type = 0; type < num_types; ++type) {
    externals[type].gathered_once = IsGatheredOnce(writes);
    externals[type].inputs = arguments.push_grads;
    externals[type].outputs = arguments.pull_grads;
    externals[type].input_rows.assign(arguments.push_grads.size(),
                                      tape.push_rows.of_type(type));
    for (int pull : arguments.pulls) {
      externals[type].output_rows.push_back(tape.pull_rows[pull].of_type(type));
    }
    externals[type].saved = &tape.saved[type];
    for (const Value& value : tape.saved[type]) {
      externals[type].saved_by_index.push_back(value.index != nullptr);
    }
    externals[type].results = arguments.capture_grads[type];
    const Program& program = derivative.programs[type];
    CAVS_RETURN_IF_ERROR(
        CheckPassing(program, externals[type], "push_grads", "pull_grads"));
    CAVS_RETURN_IF_ERROR(CheckSaved(program, tape.saved[type]));
    CAVS_RETURN_IF_ERROR(CheckResults(program, arguments.capture_grads[type]));
  }
  Guards guards;
  if (environment.pool->guarded()) environment.guards = &guards;
  const GuardedOutputs outputs(derivative, environment, &externals);
  PassRun pass(Pass::kBackward, derivative, schedule, tape.rows, environment,
               std::move(externals));
  MemoryNeed need = pass.need();
  need.results = arguments.result_bytes;
  if (!Fits(need.workspace(), environment) || !pass.Start()) {
    return DoesNotFit(need);
  }
  PrepareStateGradient(derivative, writes, environment, pass.state());
  CAVS_RETURN_IF_ERROR(pass.Run());
  outputs.CopyBack();
  return Status();
}

MemoryNeed PredictMemory(const Model& model, const ScheduleView& schedule,
                         bool keep_tape, const Environment& given) {
  SerialWorkers alone;
  const Pass pass = keep_tape ? Pass::kForward : Pass::kInference;
  const Environment environment = ForStreams(pass, given, &alone);
  const std::vector<TypeRows> rows =
      RowsByType(schedule, static_cast<int>(model.programs.size()));
  return PassRun(pass, model, schedule, rows, environment,
                 MakeExternals(model, schedule))
      .need();
}

MemoryNeed PredictBackwardMemory(const Model& derivative, const Model& model,
                                 const ScheduleView& schedule,
                                 const Environment& given) {
  SerialWorkers alone;
  const Environment environment = ForStreams(Pass::kBackward, given, &alone);
  const std::vector<TypeRows> rows =
      RowsByType(schedule, static_cast<int>(model.programs.size()));
  return NeedOfBackward(derivative, model, schedule, rows, environment);
}

}  // namespace cavs
