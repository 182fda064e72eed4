#include "cc/exec/executor.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/exec/choose_programs.h"
#include "cc/exec/executor_checks.h"
#include "cc/exec/guarded_outputs.h"
#include "cc/exec/run.h"
#include "cc/exec/step_plan.h"
#include "cc/schedule/link_same.h"

namespace cavs {
namespace {

// How often the derivatives write to the gradient of each state row.
std::vector<int32_t> CountWrites(const Model& derivative, const RowPlan& rows) {
  return rows.CountGathers(derivative.gathers);
}

bool IsGatheredOnce(const std::vector<int32_t>& writes) {
  return std::all_of(writes.begin(), writes.end(),
                     [](int32_t n) { return n <= 1; });
}

// By result, whether its rows are read in the state, or in an input, by an
// index.
std::vector<bool> ResultsByIndex(const Model& model, size_t type) {
  const CompiledProgram& program = model.programs[type];
  const int number = static_cast<int>(type);
  std::vector<bool> by_index(model.NumSaved(number));
  for (size_t i = 0; i < program.results.size(); ++i) {
    int64_t offset;
    const int root = program.Root(program.results[i], &offset);
    by_index[model.SavedNumber(number, i)] =
        program.placement.candidates[root].by_index;
  }
  return by_index;
}

// By pull and program, whether some vertex of the program has no row of the
// input.
std::vector<std::vector<bool>> FindGaps(
    const std::vector<ExternalRows>& pull_rows) {
  std::vector<std::vector<bool>> gaps(pull_rows.size());
  for (size_t pull = 0; pull < pull_rows.size(); ++pull) {
    const ExternalRows& rows = pull_rows[pull];
    if (rows.all()) continue;
    for (int program = 0; program < rows.num_programs(); ++program) {
      const Span<int32_t> own = rows.of_type(program);
      gaps[pull].push_back(std::any_of(
          own.begin(), own.end(), [](int32_t row) { return row == kZeroRow; }));
    }
  }
  return gaps;
}

// Fills a tape with the rows of a step.
void SetRows(const Model& model, RowPlan rows,
             const std::vector<RowMap>& pull_rows, const RowMap& push_rows,
             Tape* tape) {
  tape->num_types = model.num_types;
  tape->rows = std::move(rows);
  const std::vector<TypeRows>& types = tape->rows.types();
  tape->pull_rows.reserve(pull_rows.size());
  for (const RowMap& map : pull_rows) tape->pull_rows.emplace_back(map, types);
  tape->push_rows = ExternalRows(push_rows, types);
  tape->edge_pushes = model.edge_pushes;
  if (tape->edge_pushes.empty()) return;
  tape->edge_rows = ExternalRows(AllEdges(tape->rows.schedule()), types);
}

// The row numbers of a tape that programs read.
std::vector<Span<int32_t>> ListsOf(const Tape& tape) {
  std::vector<Span<int32_t>> lists;
  const int num_types = tape.rows.num_types();
  lists.reserve((8 + tape.pull_rows.size()) * num_types);
  for (const TypeRows& rows : tape.rows.types()) {
    lists.push_back(rows.vertex());
    lists.push_back(rows.state_row());
    lists.push_back(rows.child_rows());
    lists.push_back(rows.edge_child());
    lists.push_back(rows.edge_row());
    lists.push_back(rows.edge_splits());
  }
  for (const ExternalRows& pull : tape.pull_rows) {
    for (int type = 0; type < num_types; ++type) {
      lists.push_back(pull.of_type(type));
    }
  }
  for (int type = 0; type < num_types; ++type) {
    lists.push_back(tape.push_rows.of_type(type));
  }
  for (int type = 0; type < tape.edge_rows.num_programs(); ++type) {
    lists.push_back(tape.edge_rows.of_type(type));
  }
  return lists;
}

StepPlan PlanForward(const Model& model, const Tape& tape,
                     const std::vector<Span<int32_t>>& lists,
                     const ResultSizes* sizes, const ResultRows& result_rows,
                     bool keep_tape, bool two_streams, size_t zone) {
  StepLimits limits;
  // Without a tape there is one stream: two streams would need memory for
  // several chunks at a time.
  limits.two_streams = keep_tape && two_streams;
  limits.zone = zone;
  limits.sizes = sizes;
  limits.rows = result_rows;
  limits.gaps = FindGaps(tape.pull_rows);
  limits.saved_by_index.resize(tape.rows.num_types());
  limits.list_bytes = model.device->BytesOfLists(lists);
  return PlanStep(keep_tape ? Direction::kForward : Direction::kInference,
                  model, tape.rows, std::move(limits));
}

// The memory of the lists of UploadLinks().
size_t BytesOfLinks(const Model& derivative, const RowPlan& rows,
                    bool gathered_once) {
  size_t bytes = 0;
  if (gathered_once) return bytes;
  const Device& device = *derivative.device;
  for (const TypeRows& own : rows.types()) {
    bytes += device.BytesOfList(2 * derivative.num_slots * own.size()) +
             device.BytesOfList(2 * own.num_edges());
  }
  return bytes;
}

// The memory that a training step needs if its forward direction needs
// `forward`, before there is a tape. `derivative` is null if there is none.
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
  limits.list_bytes = BytesOfLinks(*derivative, rows, limits.gathered_once);
  limits.saved_by_index.resize(rows.num_types());
  for (int type = 0; type < rows.num_types(); ++type) {
    limits.saved_by_index[type] = ResultsByIndex(model, type);
  }
  need.backward =
      PlanStep(Direction::kBackward, *derivative, rows, std::move(limits)).need;
  need.peak = TrainingPeak(need.forward, need.backward);
  return need;
}

// Makes the lists of a tape readable on the device.
Status Upload(const Device& device, const std::vector<Span<int32_t>>& lists,
              void* memory, Stream* stream, Tape* tape) {
  const int num_types = tape->rows.num_types();
  std::vector<const int32_t*> there;
  CAVS_RETURN_IF_ERROR(device.Upload(lists, memory, stream, &there));
  auto next = there.begin();
  tape->lists.reserve(num_types);
  tape->pull_lists.reserve(tape->pull_rows.size());
  for (const TypeRows& rows : tape->rows.types()) {
    tape->lists.push_back(
        {rows.size(), next[0], next[1], next[2], next[3], next[4], next[5]});
    next += 6;
  }
  for (size_t pull = 0; pull < tape->pull_rows.size(); ++pull) {
    tape->pull_lists.emplace_back(next, next + num_types);
    next += num_types;
  }
  tape->push_lists.assign(next, next + num_types);
  tape->edge_lists.assign(next + num_types, there.end());
  return Status();
}

// Makes links readable on the device: see IndexLists.
Status UploadLinks(const Model& derivative, const RowPlan& rows, void* memory,
                   Stream* stream, std::vector<IndexLists>* lists) {
  std::vector<std::vector<int32_t>> links(2 * lists->size());
  for (int type = 0; type < rows.num_types(); ++type) {
    for (int slot = 0; slot < derivative.num_slots; ++slot) {
      LinkSame(rows.type(type).child_row(slot), rows.num_rows(),
               &links[2 * type]);
    }
    LinkSame(rows.type(type).edge_child(), rows.num_rows(),
             &links[2 * type + 1]);
  }
  std::vector<const int32_t*> there;
  CAVS_RETURN_IF_ERROR(derivative.device->Upload({links.begin(), links.end()},
                                                 memory, stream, &there));
  for (int type = 0; type < rows.num_types(); ++type) {
    (*lists)[type].child_links = there[2 * type];
    (*lists)[type].edge_links = there[2 * type + 1];
  }
  return Status();
}

// Tells the streams how long all the work takes one worker. Waking workers
// takes long, so they are called as early as possible.
void ExpectWork(const Model& model, const RowPlan& rows,
                const StepContext& context) {
  double nanos = 0;
  for (int program = 0; program < rows.num_types(); ++program) {
    nanos += model.executables[program]->Nanos(rows.type(program).count());
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
  if (!context.pool->MayLend(bytes - plan.taken)) return refuse();
  Guards zones;
  Guards* const guards = context.pool->guarded() ? &zones : nullptr;
  const GuardedOutputs outputs(model, context.pool, guards, &arguments);
  Run run(plan, model, rows, context, std::move(arguments), guards);
  CAVS_RETURN_IF_ERROR(run.Start(refuse));
  if (writes != nullptr) CAVS_RETURN_IF_ERROR(run.ZeroState(*writes));
  CAVS_RETURN_IF_ERROR(run.Compute());
  outputs.CopyBack();
  if (tape == nullptr) return Status();
  tape->saved = run.Results();
  tape->memory = run.kept();
  return Status();
}

// The number of rows of pushes and pulls.
ResultRows CountRows(const Tape& tape, const std::vector<int>& pulls) {
  ResultRows rows;
  rows.pushed = tape.push_rows.count();
  rows.all_push = tape.push_rows.all();
  rows.edges = tape.edge_rows.count();
  rows.edge_pushes = tape.edge_pushes;
  for (int pull : pulls) rows.pulled.push_back(tape.pull_rows[pull].count());
  return rows;
}

// Finds the rows of an output that belong to vertices whose programs have no
// node of that kind and index.
void AddUnwritten(const Model& model, NodeKind kind, size_t index,
                  const ExternalRows& rows, size_t row_bytes, int output,
                  std::vector<Unwritten>* unwritten) {
  const size_t count = rows.count();
  std::vector<int> writers;
  size_t num_written = 0;  // Each row belongs to one vertex, or edge.
  for (int type = 0; type < rows.num_programs(); ++type) {
    if (!Touches(model.programs[type], kind, index)) continue;
    writers.push_back(type);
    const Span<int32_t> own = rows.of_type(type);
    num_written += own.size() - std::count(own.begin(), own.end(), kZeroRow);
  }
  if (num_written == count) return;
  std::vector<bool> written(count, false);
  for (const int type : writers) {
    for (const int32_t row : rows.of_type(type)) {
      if (row != kZeroRow) written[row] = true;
    }
  }
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

// Binds the results of variants to the parts of gradients that they are added
// to.
void PassParts(const Model& derivative, int num_programs,
               const std::vector<std::vector<TensorRef>>& grads,
               RunArguments* run) {
  for (int i = derivative.num_types; i < num_programs; ++i) {
    const int type = derivative.type_of[i];
    run->results.emplace_back();
    for (const ResultPart& part : derivative.parts[i]) {
      const TensorRef& grad =
          grads[type][derivative.result_captures[type][part.result]];
      run->results.back().push_back(
          static_cast<char*>(grad.data) +
          part.offset * static_cast<int64_t>(SizeOf(grad.dtype)));
    }
  }
}

// Binds the results of the derivatives to the gradients of captures. Gradients
// that no program computes are unwritten.
Status BindCaptureGrads(const Model& derivative, int num_programs,
                        const std::vector<std::vector<TensorRef>>& grads,
                        RunArguments* run) {
  run->results.reserve(num_programs);
  size_t before = 0;  // Number of captures of earlier types.
  for (int type = 0; type < derivative.num_types; ++type) {
    const std::vector<int>& captures = derivative.result_captures[type];
    CAVS_RETURN_IF_ERROR(
        CheckResults(derivative.programs[type], captures, grads[type], before));
    before += grads[type].size();
    run->results.emplace_back();
    run->results.back().reserve(captures.size());
    std::vector<bool> computed(grads[type].size(), false);
    for (int capture : captures) {
      run->results.back().push_back(grads[type][capture].data);
      computed[capture] = true;
    }
    for (size_t i = 0; i < computed.size(); ++i) {
      if (computed[i]) continue;
      const TensorRef& grad = grads[type][i];
      const size_t bytes = ByteCount(1, CheckedProduct(grad.shape), grad.dtype);
      run->unwritten.push_back({-1, 0, grad.data, bytes});
    }
  }
  PassParts(derivative, num_programs, grads, run);
  return Status();
}

Status RefuseAgain() {
  return Status(StatusCode::kResourceExhausted,
                "a gradient is infinite or NaN, and there is no memory to "
                "compute the step again with one program for all vertices. "
                "Pass options=cavs_tf.Options(disable=['specialize']).");
}

// Runs both directions without variants.
Status RunAgain(const Model& derivative, const Tape& tape,
                const BackwardArguments& arguments,
                const StepContext& context) {
  const Model& model = *arguments.model;
  ForwardArguments again;
  static_cast<StepInputs&>(again) = tape.inputs;
  again.use_variants = false;
  ResultSizes sizes;
  sizes.push_row.resize(again.pushes.size());
  for (const Program& program : model.programs) {
    for (const Node& node : program.nodes) {
      if (node.kind != NodeKind::kPush) continue;
      const Symbol& pushed = program.symbols[node.inputs[0]];
      sizes.push_row[node.index] = ByteCount(1, pushed.columns(), pushed.dtype);
    }
  }
  again.sizes = &sizes;
  std::vector<std::shared_ptr<void>> memory;
  for (size_t push = 0; push < again.pushes.size(); ++push) {
    Block& block = again.pushes[push];
    const size_t bytes = SaturatingMultiply(block.rows, sizes.push_row[push]);
    memory.push_back(context.pool->Acquire(bytes));
    if (memory.back() == nullptr) return RefuseAgain();
    block.data = memory.back().get();
  }
  Tape general;
  const Status status = RunForward(model, again, context, &general);
  if (status.code() == StatusCode::kResourceExhausted) return RefuseAgain();
  CAVS_RETURN_IF_ERROR(status);
  return RunBackward(derivative, general, arguments, context);
}

// The rows of a tape if all numbers are finite. Lists of rows are as long
// whichever vertices push.
Tape PlanTape(const Model& model, const ScheduleView& schedule,
              const std::vector<RowMap>& pull_rows) {
  Tape tape;
  const std::vector<int> traits = TraitsOfTasks(model, schedule, pull_rows);
  SetRows(model,
          RowPlan(schedule, traits, FastestPrograms(model, schedule, traits)),
          pull_rows, AllVertices(schedule), &tape);
  return tape;
}

// Forgets what a call that failed may have left.
void Begin(StepInputs inputs, Tape* tape) {
  Tape begun;
  begun.alive = std::move(tape->alive);
  begun.inputs = std::move(inputs);
  *tape = std::move(begun);
}

size_t ZoneOf(const StepContext& context) {
  return context.pool->guarded() ? Guards::kZone : 0;
}

}  // namespace

Status RunForward(const Model& model, ForwardArguments arguments,
                  const StepContext& context, Tape* tape) {
  CAVS_RETURN_IF_ERROR(CheckSlots(model, arguments.schedule));
  if (arguments.derivative != nullptr) {
    CAVS_RETURN_IF_ERROR(CheckSlots(*arguments.derivative, arguments.schedule));
  }
  const bool keep_tape = tape != nullptr;
  Tape own;
  if (!keep_tape) tape = &own;
  Begin(std::move(static_cast<StepInputs&>(arguments)), tape);
  const StepInputs& inputs = tape->inputs;
  const std::vector<int> traits =
      TraitsOfTasks(model, inputs.schedule, inputs.pull_rows);
  ProgramTable programs;
  if (arguments.use_variants) {
    CAVS_RETURN_IF_ERROR(
        ChoosePrograms(model, inputs, traits, context, &programs));
  } else {
    programs = OneProgramPerType(model.num_types);
  }
  SetRows(model, RowPlan(inputs.schedule, traits, programs), inputs.pull_rows,
          inputs.push_rows, tape);
  const RowPlan& rows = tape->rows;
  ExpectWork(model, rows, context);

  const std::vector<Span<int32_t>> lists = ListsOf(*tape);
  RunArguments run;
  run.upload = [&](void* memory, RunArguments* own) {
    CAVS_RETURN_IF_ERROR(
        Upload(*model.device, lists, memory, context.stream, tape));
    own->lists = tape->lists;
    own->input_rows.resize(rows.num_types());
    own->output_rows.resize(rows.num_types());
    for (int type = 0; type < rows.num_types(); ++type) {
      for (const auto& pull : tape->pull_lists) {
        own->input_rows[type].push_back(pull[type]);
      }
      own->output_rows[type] =
          tape->lists_of_pushes(inputs.pushes.size(), type);
    }
    return Status();
  };
  run.inputs = inputs.pulls;
  run.outputs = inputs.pushes;
  run.captures = &inputs.captures;
  size_t captures = 0;  // Number of captures of earlier types.
  for (int type = 0; type < rows.num_types(); ++type) {
    const std::vector<TensorRef>& given = inputs.captures[model.type_of[type]];
    CAVS_RETURN_IF_ERROR(
        CheckMovedRows(model.programs[type], run, "pulls", "pushes"));
    CAVS_RETURN_IF_ERROR(CheckCaptures(model.programs[type], given, captures));
    captures += given.size();
  }
  for (size_t push = 0; push < inputs.pushes.size(); ++push) {
    const int number = static_cast<int>(push);
    AddUnwritten(model, NodeKind::kPush, push, tape->rows_of_push(number),
                 arguments.sizes->push_row[push], number, &run.unwritten);
  }

  const bool two_streams = context.other != nullptr;
  std::vector<int> pulls(inputs.pulls.size());
  std::iota(pulls.begin(), pulls.end(), 0);
  const ResultRows result_rows = CountRows(*tape, pulls);
  const StepPlan plan =
      PlanForward(model, *tape, lists, arguments.sizes, result_rows, keep_tape,
                  two_streams, ZoneOf(context));
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
  if (tape.num_types != derivative.num_types) {
    return InvalidArgument("tape: got that of a model of ", tape.num_types,
                           " vertex types but expected ", derivative.num_types,
                           ".");
  }
  if (arguments.model != nullptr) {
    bool fits = CanReadVariants(derivative, tape);
    if (fits) {
      CAVS_RETURN_IF_ERROR(CheckPushGrads(
          derivative, tape, arguments.push_grads, context, &fits));
    }
    if (!fits) return RunAgain(derivative, tape, arguments, context);
  }
  if (rows.num_types() > static_cast<int>(derivative.programs.size())) {
    return InvalidArgument(
        "tape: got that of programs for leaves but expected one without them. "
        "Pass specialize=False to both directions, or vertex_functions to "
        "CavsBackward.");
  }
  CAVS_RETURN_IF_ERROR(CheckSlots(derivative, rows.schedule()));
  ExpectWork(derivative, rows, context);
  const std::vector<int32_t> writes = CountWrites(derivative, rows);

  StepLimits limits;
  limits.gathered_once = IsGatheredOnce(writes);
  RunArguments run;
  run.lists = tape.lists;
  std::vector<IndexLists> linked;
  limits.list_bytes = BytesOfLinks(derivative, rows, limits.gathered_once);
  if (limits.list_bytes > 0) {
    run.upload = [&](void* memory, RunArguments* own) {
      linked = tape.lists;
      own->lists = linked;
      return UploadLinks(derivative, rows, memory, context.stream, &linked);
    };
  }
  run.inputs = arguments.push_grads;
  run.outputs = arguments.pull_grads;
  run.saved = &tape.saved;
  CAVS_RETURN_IF_ERROR(BindCaptureGrads(derivative, rows.num_types(),
                                        arguments.capture_grads, &run));
  limits.two_streams = context.other != nullptr;
  limits.zone = ZoneOf(context);
  limits.sizes = arguments.sizes;
  limits.rows = CountRows(tape, arguments.pulls);
  limits.saved_by_index.resize(rows.num_types());
  run.input_rows.resize(rows.num_types());
  run.output_rows.resize(rows.num_types());
  for (int type = 0; type < rows.num_types(); ++type) {
    run.input_rows[type] =
        tape.lists_of_pushes(arguments.push_grads.size(), type);
    for (int pull : arguments.pulls) {
      run.output_rows[type].push_back(tape.pull_lists[pull][type]);
    }
    for (const Slot& slot : tape.saved[type]) {
      limits.saved_by_index[type].push_back(slot.index != nullptr);
    }
    const Program& program = derivative.programs[type];
    CAVS_RETURN_IF_ERROR(
        CheckMovedRows(program, run, "push_grads", "pull_grads"));
    if (IsIdle(derivative, rows, type)) continue;
    CAVS_RETURN_IF_ERROR(CheckSaved(program, tape.saved[type],
                                    /*has_rows=*/rows.type(type).size() > 0));
  }
  for (size_t i = 0; i < arguments.pulls.size(); ++i) {
    const int pull = arguments.pulls[i];
    AddUnwritten(derivative, NodeKind::kPullGrad, i, tape.pull_rows[pull],
                 arguments.sizes->pull_grad_row[i], static_cast<int>(i),
                 &run.unwritten);
  }

  const StepPlan plan =
      PlanStep(Direction::kBackward, derivative, rows, std::move(limits));
  return Compute(
      plan, derivative, rows, context, std::move(run), plan.need.workspace(),
      [&] { return DoesNotFit(plan.need); }, &writes, nullptr);
}

MemoryNeed PredictInference(const Model& model, const ScheduleView& schedule,
                            const std::vector<RowMap>& pull_rows,
                            const ResultSizes& sizes,
                            const ResultRows& result_rows) {
  const Tape tape = PlanTape(model, schedule, pull_rows);
  return PlanForward(model, tape, ListsOf(tape), &sizes, result_rows,
                     /*keep_tape=*/false,
                     /*two_streams=*/false, 0)
      .need;
}

TrainingNeed PredictTraining(const Model& model, const Model* derivative,
                             const ScheduleView& schedule,
                             const std::vector<RowMap>& pull_rows,
                             const ResultSizes& sizes,
                             const ResultRows& result_rows, bool two_streams) {
  const Tape tape = PlanTape(model, schedule, pull_rows);
  const StepPlan plan =
      PlanForward(model, tape, ListsOf(tape), &sizes, result_rows,
                  /*keep_tape=*/true, two_streams, 0);
  return NeedOfTraining(plan.need, derivative, model, tape.rows, &sizes,
                        result_rows, two_streams);
}

}  // namespace cavs
