#include "cc/exec/executor.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/exec/executor_checks.h"
#include "cc/exec/guarded_outputs.h"
#include "cc/exec/run.h"
#include "cc/exec/step_plan.h"

namespace cavs {
namespace {

// How often the derivatives write to the gradient of each state row.
std::vector<int32_t> CountWrites(const Model& derivative, const RowPlan& rows) {
  return rows.CountGathers(CountSlots(derivative));
}

bool IsGatheredOnce(const std::vector<int32_t>& writes) {
  return std::all_of(writes.begin(), writes.end(),
                     [](int32_t n) { return n <= 1; });
}

// By result, whether its rows are read in the state, or in an input, by an
// index.
std::vector<bool> ResultsByIndex(const Model& model, size_t type) {
  const Program& program = model.programs[type];
  std::vector<bool> by_index;
  for (int id : program.results) {
    int64_t offset;
    const int root = program.Root(id, &offset);
    by_index.push_back(
        model.programs[type].placement.candidates[root].by_index);
  }
  return by_index;
}

StepPlan PlanForward(const Model& model, const RowPlan& rows,
                     const ResultSizes* sizes, const ResultRows& result_rows,
                     bool keep_tape, bool two_streams, size_t zone) {
  StepLimits limits;
  // Without a tape there is one stream: two streams would need memory for
  // several chunks at a time.
  limits.two_streams = keep_tape && two_streams;
  limits.zone = zone;
  limits.sizes = sizes;
  limits.rows = result_rows;
  limits.saved_by_index.resize(model.programs.size());
  return PlanStep(keep_tape ? Direction::kForward : Direction::kInference,
                  model, rows, limits);
}

// What a training step needs whose forward direction needs `forward`, before
// there is a tape. `derivative` is null if there is none.
TrainingNeed NeedOfTraining(const MemoryNeed& forward, const Model* derivative,
                            const Model& model, const RowPlan& rows,
                            const ResultSizes* sizes,
                            const ResultRows& result_rows, bool two_streams) {
  TrainingNeed need;
  need.forward = forward;
  need.peak = forward.total();
  if (derivative == nullptr) return need;
  StepLimits limits;
  limits.two_streams = two_streams;
  limits.sizes = sizes;
  limits.rows = result_rows;
  limits.gathered_once = IsGatheredOnce(CountWrites(*derivative, rows));
  for (size_t type = 0; type < model.programs.size(); ++type) {
    limits.saved_by_index.push_back(ResultsByIndex(model, type));
  }
  need.backward =
      PlanStep(Direction::kBackward, *derivative, rows, limits).need;
  need.peak = TrainingPeak(need.forward, need.backward);
  return need;
}

// Makes the row numbers of a tape readable on the device.
void Upload(const Device& device, Tape* tape) {
  std::vector<Span<int32_t>> lists;
  const int num_types = tape->rows.num_types();
  for (const TypeRows& rows : tape->rows.types()) {
    lists.push_back(rows.vertex());
    lists.push_back(rows.state_row());
    lists.push_back(rows.child_rows());
  }
  for (const ExternalRows& pull : tape->pull_rows) {
    for (int type = 0; type < num_types; ++type) {
      lists.push_back(pull.of_type(type));
    }
  }
  for (int type = 0; type < num_types; ++type) {
    lists.push_back(tape->push_rows.of_type(type));
  }
  std::vector<const int32_t*> there;
  tape->memory.push_back(device.Upload(lists, &there));
  auto next = there.begin();
  for (const TypeRows& rows : tape->rows.types()) {
    tape->lists.push_back({rows.size(), next[0], next[1], next[2]});
    next += 3;
  }
  for (size_t pull = 0; pull < tape->pull_rows.size(); ++pull) {
    tape->pull_lists.emplace_back(next, next + num_types);
    next += num_types;
  }
  tape->push_lists.assign(next, there.end());
}

// Tells the streams how long all the work takes one worker. Waking workers
// takes long, so they are called as early as possible.
void ExpectWork(const Model& model, const ScheduleView& schedule,
                const StepContext& context) {
  std::vector<int64_t> rows(model.programs.size()), tasks(rows.size());
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    const int32_t type = schedule.task_type[task];
    rows[type] += schedule.task_splits[task + 1] - schedule.task_splits[task];
    ++tasks[type];
  }
  double nanos = 0;
  for (size_t type = 0; type < rows.size(); ++type) {
    nanos += model.executables[type]->Nanos(rows[type], tasks[type]);
  }
  context.stream->Expect(nanos);
  if (context.other != nullptr) context.other->Expect(nanos);
}

// Runs a plan that needs `bytes` from the pool, or returns refuse() if the pool
// has less. Uses guard zones if the pool wants them. `writes` is for the
// backward direction: see Run::ZeroState().
Status Compute(const StepPlan& plan, const Model& model, const RowPlan& rows,
               const StepContext& context, RunArguments arguments, size_t bytes,
               const std::function<Status()>& refuse,
               const std::vector<int32_t>* writes, Tape* tape) {
  if (!context.pool->MayLend(bytes)) return refuse();
  Guards zones;
  Guards* const guards = context.pool->guarded() ? &zones : nullptr;
  const GuardedOutputs outputs(model, context.pool, guards, &arguments);
  Run run(plan, model, rows, context, std::move(arguments), guards);
  if (!run.Start()) return refuse();
  if (writes != nullptr) CAVS_RETURN_IF_ERROR(run.ZeroState(*writes));
  CAVS_RETURN_IF_ERROR(run.Compute());
  outputs.CopyBack();
  if (tape == nullptr) return Status();
  tape->saved = run.Results();
  tape->memory.push_back(run.kept());
  return Status();
}

// The number of rows of pushes and pulls.
ResultRows CountRows(const Tape& tape, const std::vector<int>& pulls) {
  ResultRows rows;
  rows.pushed = tape.push_rows.count();
  rows.all_push = tape.push_rows.all();
  for (int pull : pulls) rows.pulled.push_back(tape.pull_rows[pull].count());
  return rows;
}

// Finds the rows of an output that belong to vertices whose programs have no
// node of that kind and index.
void AddUnwritten(const Model& model, NodeKind kind, size_t index,
                  const ExternalRows& rows, size_t row_bytes, int output,
                  std::vector<Unwritten>* unwritten) {
  std::vector<bool> written(rows.count(), false);
  bool all = true;
  for (size_t type = 0; type < model.programs.size(); ++type) {
    if (!Touches(model.programs[type], kind, index)) {
      all = false;
      continue;
    }
    for (int32_t row : rows.of_type(static_cast<int>(type))) {
      if (row != kZeroRow) written[row] = true;
    }
  }
  if (all) return;
  const size_t count = written.size();
  for (size_t first = 0; first < count; ++first) {
    size_t end = first;
    while (end < count && !written[end]) ++end;
    if (end > first) {
      unwritten->push_back(
          {output, first * row_bytes, nullptr, (end - first) * row_bytes});
    }
    first = end;
  }
}

// Binds the results of the derivatives to the gradients of captures. Gradients
// that no program computes are unwritten.
Status BindCaptureGrads(const Model& derivative,
                        const std::vector<std::vector<TensorRef>>& grads,
                        RunArguments* run) {
  size_t before = 0;  // Number of captures of earlier types.
  for (size_t type = 0; type < derivative.programs.size(); ++type) {
    const std::vector<int>& captures = derivative.result_captures[type];
    CAVS_RETURN_IF_ERROR(
        CheckResults(derivative.programs[type], captures, grads[type], before));
    before += grads[type].size();
    run->results.emplace_back();
    std::vector<bool> computed(grads[type].size(), false);
    for (int capture : captures) {
      run->results.back().push_back(grads[type][capture]);
      computed[capture] = true;
    }
    for (size_t i = 0; i < computed.size(); ++i) {
      if (computed[i]) continue;
      const TensorRef& grad = grads[type][i];
      const size_t bytes = ByteCount(1, CheckedProduct(grad.shape), grad.dtype);
      run->unwritten.push_back({-1, 0, grad.data, bytes});
    }
  }
  return Status();
}

size_t ZoneOf(const StepContext& context) {
  return context.pool->guarded() ? Guards::kZone : 0;
}

}  // namespace

Status RunForward(const Model& model, const ForwardArguments& arguments,
                  const StepContext& context, Tape* tape) {
  CAVS_RETURN_IF_ERROR(CheckSlots(model, arguments.schedule));
  if (arguments.derivative != nullptr) {
    CAVS_RETURN_IF_ERROR(CheckSlots(*arguments.derivative, arguments.schedule));
  }
  ExpectWork(model, arguments.schedule, context);
  const bool keep_tape = tape != nullptr;
  Tape own;
  if (!keep_tape) tape = &own;
  tape->rows = RowPlan(arguments.schedule, model.programs.size());
  const RowPlan& rows = tape->rows;
  for (const RowMap& map : arguments.pull_rows) {
    tape->pull_rows.emplace_back(map, rows.types());
  }
  tape->push_rows = ExternalRows(arguments.push_rows, rows.types());
  Upload(*model.device, tape);

  RunArguments run;
  run.lists = tape->lists;
  run.inputs = arguments.pulls;
  run.outputs = arguments.pushes;
  run.captures = arguments.captures;
  size_t captures = 0;  // Number of captures of earlier types.
  for (int type = 0; type < rows.num_types(); ++type) {
    run.input_rows.emplace_back();
    for (const auto& pull : tape->pull_lists) {
      run.input_rows.back().push_back(pull[type]);
    }
    run.output_rows.emplace_back(arguments.pushes.size(),
                                 tape->push_lists[type]);
    CAVS_RETURN_IF_ERROR(
        CheckMovedRows(model.programs[type], run, "pulls", "pushes"));
    CAVS_RETURN_IF_ERROR(
        CheckCaptures(model.programs[type], run.captures[type], captures));
    captures += run.captures[type].size();
  }
  for (size_t push = 0; push < arguments.pushes.size(); ++push) {
    AddUnwritten(model, NodeKind::kPush, push, tape->push_rows,
                 arguments.sizes->push_row[push], static_cast<int>(push),
                 &run.unwritten);
  }

  const bool two_streams = context.other != nullptr;
  std::vector<int> pulls(arguments.pulls.size());
  std::iota(pulls.begin(), pulls.end(), 0);
  const ResultRows result_rows = CountRows(*tape, pulls);
  const StepPlan plan = PlanForward(model, rows, arguments.sizes, result_rows,
                                    keep_tape, two_streams, ZoneOf(context));
  const bool trains =
      keep_tape && arguments.derivative != nullptr &&
      arguments.derivative->programs.size() == model.programs.size();
  const TrainingNeed need =
      NeedOfTraining(plan.need, trains ? arguments.derivative : nullptr, model,
                     rows, arguments.sizes, result_rows, two_streams);
  const auto refuse = [&] {
    return trains ? DoesNotFit(need.forward, need.backward)
                  : DoesNotFit(need.forward);
  };
  return Compute(plan, model, rows, context, std::move(run),
                 need.peak - need.forward.results, refuse, nullptr,
                 keep_tape ? tape : nullptr);
}

Status RunBackward(const Model& derivative, const Tape& tape,
                   const BackwardArguments& arguments,
                   const StepContext& context) {
  const RowPlan& rows = tape.rows;
  if (tape.saved.size() != derivative.programs.size()) {
    return InvalidArgument("tape: got that of a model of ", tape.saved.size(),
                           " vertex types but expected ",
                           derivative.programs.size(), ".");
  }
  CAVS_RETURN_IF_ERROR(CheckSlots(derivative, rows.schedule()));
  ExpectWork(derivative, rows.schedule(), context);
  const std::vector<int32_t> writes = CountWrites(derivative, rows);

  RunArguments run;
  run.lists = tape.lists;
  run.inputs = arguments.push_grads;
  run.outputs = arguments.pull_grads;
  run.saved = &tape.saved;
  CAVS_RETURN_IF_ERROR(
      BindCaptureGrads(derivative, arguments.capture_grads, &run));
  StepLimits limits;
  limits.two_streams = context.other != nullptr;
  limits.zone = ZoneOf(context);
  limits.sizes = arguments.sizes;
  limits.rows = CountRows(tape, arguments.pulls);
  limits.gathered_once = IsGatheredOnce(writes);
  for (int type = 0; type < rows.num_types(); ++type) {
    run.input_rows.emplace_back(arguments.push_grads.size(),
                                tape.push_lists[type]);
    run.output_rows.emplace_back();
    for (int pull : arguments.pulls) {
      run.output_rows.back().push_back(tape.pull_lists[pull][type]);
    }
    limits.saved_by_index.emplace_back();
    for (const Slot& slot : tape.saved[type]) {
      limits.saved_by_index.back().push_back(slot.index != nullptr);
    }
    const Program& program = derivative.programs[type];
    CAVS_RETURN_IF_ERROR(
        CheckMovedRows(program, run, "push_grads", "pull_grads"));
    CAVS_RETURN_IF_ERROR(CheckSaved(program, tape.saved[type]));
  }
  for (size_t i = 0; i < arguments.pulls.size(); ++i) {
    const int pull = arguments.pulls[i];
    AddUnwritten(derivative, NodeKind::kPullGrad, i, tape.pull_rows[pull],
                 arguments.sizes->pull_grad_row[i], static_cast<int>(i),
                 &run.unwritten);
  }

  const StepPlan plan =
      PlanStep(Direction::kBackward, derivative, rows, limits);
  return Compute(
      plan, derivative, rows, context, std::move(run), plan.need.workspace(),
      [&] { return DoesNotFit(plan.need); }, &writes, nullptr);
}

MemoryNeed PredictInference(const Model& model, const ScheduleView& schedule,
                            const ResultSizes& sizes,
                            const ResultRows& result_rows) {
  const RowPlan rows(schedule, static_cast<int>(model.programs.size()));
  return PlanForward(model, rows, &sizes, result_rows, /*keep_tape=*/false,
                     /*two_streams=*/false, 0)
      .need;
}

TrainingNeed PredictTraining(const Model& model, const Model* derivative,
                             const ScheduleView& schedule,
                             const ResultSizes& sizes,
                             const ResultRows& result_rows, bool two_streams) {
  const RowPlan rows(schedule, static_cast<int>(model.programs.size()));
  const StepPlan plan = PlanForward(model, rows, &sizes, result_rows,
                                    /*keep_tape=*/true, two_streams, 0);
  return NeedOfTraining(plan.need, derivative, model, rows, &sizes, result_rows,
                        two_streams);
}

}  // namespace cavs
