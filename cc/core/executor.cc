#include "cc/core/executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cc/core/byte_count.h"
#include "cc/core/chunk_runs.h"
#include "cc/core/chunks.h"
#include "cc/core/executor_checks.h"

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

int64_t LargestTask(const ScheduleView& schedule) {
  int64_t largest = 1;
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    largest = std::max<int64_t>(
        largest, schedule.task_splits[task + 1] - schedule.task_splits[task]);
  }
  return largest;
}

// As many rows as eager operators may write, or lazy ones read, before half of
// the cache is full of them.
int64_t RowsInCache(const Model& model, const Environment& environment) {
  int64_t bytes_per_row = 1;
  for (const Program& program : model.programs) {
    int64_t bytes = 0;
    for (const Symbol& symbol : program.symbols) {
      if (symbol.kind == SymbolKind::kRows && symbol.parent < 0 &&
          symbol.stored && symbol.lifetime != Lifetime::kTask) {
        bytes += ByteCount(1, symbol.columns(), symbol.dtype);
      }
    }
    bytes_per_row = std::max(bytes_per_row, bytes);
  }
  return std::max<int64_t>(environment.fewest_rows,
                           environment.cache_bytes / 2 / bytes_per_row);
}

// Enough chunks for one stream to be ahead of the other.
constexpr int64_t kChunksInStreams = 8;

int64_t RowsPerChunk(const ScheduleView& schedule,
                     const Environment& environment, bool has_tape,
                     int64_t rows_in_cache) {
  if (environment.engine != nullptr) {
    return std::max<int64_t>(1, schedule.num_vertices() / kChunksInStreams);
  }
  // Without a tape, what a chunk needs is forgotten after it.
  return has_tape ? rows_in_cache
                  : std::min(rows_in_cache, LargestTask(schedule));
}

// The chunks of a schedule; tells the programs what they have to know of them.
std::vector<Chunk> PlanChunks(const Model& model, const ScheduleView& schedule,
                              const std::vector<TypeRows>& rows,
                              const Environment& environment, bool has_tape,
                              std::vector<Externals>* externals) {
  const int64_t rows_in_cache = RowsInCache(model, environment);
  const std::vector<Chunk> chunks = MakeChunks(
      schedule, RowsPerChunk(schedule, environment, has_tape, rows_in_cache));
  for (size_t type = 0; type < rows.size(); ++type) {
    Externals& own = (*externals)[type];
    own.state_is_adjacent = true;
    own.largest_chunk = 0;
    own.largest_piece = rows_in_cache;
    for (const Chunk& chunk : chunks) {
      const auto [first, count, childless] = RowsOf(rows[type], chunk);
      own.largest_chunk = std::max(own.largest_chunk, count);
      if (count == 0) continue;
      const Span<int32_t>& state = rows[type].state_row();
      own.state_is_adjacent =
          own.state_is_adjacent &&
          state[first + count - 1] - state[first] == count - 1;
    }
    // Streams are at several chunks at a time.
    if (environment.engine != nullptr) own.largest_chunk = -1;
  }
  return chunks;
}

// Before the state lies a row of zeros, for children that are not there.
size_t BytesOfZeros(const Model& model) {
  return Arena::Padded(ByteCount(1, model.state_columns, model.state_dtype));
}

// One run per vertex type, not yet bound to storage, and what they need.
std::vector<ProgramRun> MakeRuns(const Model& model,
                                 const std::vector<TypeRows>& rows,
                                 const Environment& environment,
                                 std::vector<Externals> externals,
                                 MemoryNeed* need) {
  std::vector<ProgramRun> runs;
  runs.reserve(model.programs.size());
  for (size_t type = 0; type < model.programs.size(); ++type) {
    const int64_t num_vertices = externals[type].state.rows;
    need->state = SaturatingAdd(
        BytesOfZeros(model),
        ByteCount(num_vertices, model.state_columns, model.state_dtype));
    runs.emplace_back(model.programs[type], rows[type], environment,
                      std::move(externals[type]));
    *need += runs.back().PlanStorage();
  }
  return runs;
}

// Asks the system only where the pool has to grow.
bool Fits(const MemoryNeed& need, const Environment& environment) {
  const size_t waiting = environment.pool->waiting_bytes();
  const size_t total = need.total();
  return total <= waiting || !environment.available_memory ||
         total - waiting <= environment.available_memory();
}

// Takes all memory before anything is computed; that of the state is `state`.
Status StartRuns(const Model& model, const MemoryNeed& need,
                 const Environment& environment, std::vector<ProgramRun>* runs,
                 std::shared_ptr<void>* state) {
  if (!Fits(need, environment)) return DoesNotFit(need);
  const std::shared_ptr<void> memory = environment.pool->Acquire(need.state);
  if (memory == nullptr) return DoesNotFit(need);
  const size_t zeros = BytesOfZeros(model);
  std::memset(memory.get(), 0, zeros);
  *state = {memory, static_cast<char*>(memory.get()) + zeros};
  for (ProgramRun& run : *runs) {
    if (!run.Bind(state->get())) return DoesNotFit(need);
  }
  for (ProgramRun& run : *runs) CAVS_RETURN_IF_ERROR(run.RunPrologue());
  return Status();
}

void WorkAlone(SerialWorkers* alone, Environment* environment) {
  if (environment->workers == nullptr) return;
  environment->workers = alone;
  environment->backend = environment->serial;
}

// Two streams on two threads leave each no one to share its work with. Without
// a tape there is one: several chunks at a time would take memory for each.
Environment ForStreams(const Environment& environment, bool has_tape,
                       SerialWorkers* alone) {
  Environment own = environment;
  if (!has_tape) own.engine = nullptr;
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

Status Finish(std::vector<ProgramRun>* runs) {
  for (ProgramRun& run : *runs) CAVS_RETURN_IF_ERROR(run.RunEpilogue());
  return Status();
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
    std::memset(static_cast<char*>(data) + row * bytes, 0, bytes);
  }
}

}  // namespace

Status RunForward(const Model& model, const ForwardArguments& arguments,
                  const Environment& given, Tape* tape) {
  SerialWorkers alone;
  const bool has_tape = tape != nullptr;
  Environment environment = ForStreams(given, has_tape, &alone);
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
  const std::vector<Chunk> chunks =
      PlanChunks(model, schedule, rows, environment, has_tape, &externals);
  MemoryNeed need;
  std::vector<ProgramRun> runs =
      MakeRuns(model, rows, environment, std::move(externals), &need);
  std::shared_ptr<void> state;
  CAVS_RETURN_IF_ERROR(StartRuns(model, need, environment, &runs, &state));
  CAVS_RETURN_IF_ERROR(
      RunChunks(chunks, /*reverse=*/false, schedule, rows, environment, &runs));
  CAVS_RETURN_IF_ERROR(Finish(&runs));
  if (!has_tape) return Status();
  tape->schedule = schedule;
  if (std::any_of(runs.begin(), runs.end(),
                  [](const ProgramRun& run) { return run.uses_state(); })) {
    tape->memory.push_back(state);
  }
  for (ProgramRun& run : runs) {
    tape->saved.push_back(run.TakeResults(&tape->memory));
  }
  tape->rows = std::move(rows);
  tape->pull_rows = std::move(pull_rows);
  tape->push_rows = std::move(push_rows);
  return Status();
}

Status RunBackward(const Model& derivative, const Tape& tape,
                   const BackwardArguments& arguments,
                   const Environment& given) {
  SerialWorkers alone;
  Environment environment = ForStreams(given, /*has_tape=*/true, &alone);
  const ScheduleView& schedule = tape.schedule;
  const int num_types = static_cast<int>(derivative.programs.size());
  if (tape.saved.size() != derivative.programs.size()) {
    return InvalidArgument("tape: got that of a model of ", tape.saved.size(),
                           " vertex types but expected ", num_types, ".");
  }
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
    externals[type].results = arguments.capture_grads[type];
    const Program& program = derivative.programs[type];
    CAVS_RETURN_IF_ERROR(
        CheckPassing(program, externals[type], "push_grads", "pull_grads"));
    CAVS_RETURN_IF_ERROR(CheckSaved(program, tape.saved[type]));
    CAVS_RETURN_IF_ERROR(CheckResults(program, arguments.capture_grads[type]));
  }
  const std::vector<Chunk> chunks =
      PlanChunks(derivative, schedule, tape.rows, environment,
                 /*has_tape=*/true, &externals);
  MemoryNeed need;
  std::vector<ProgramRun> runs =
      MakeRuns(derivative, tape.rows, environment, std::move(externals), &need);
  std::shared_ptr<void> state_grad;
  CAVS_RETURN_IF_ERROR(
      StartRuns(derivative, need, environment, &runs, &state_grad));
  PrepareStateGradient(derivative, writes, environment, state_grad.get());
  CAVS_RETURN_IF_ERROR(RunChunks(chunks, /*reverse=*/true, schedule, tape.rows,
                                 environment, &runs));
  return Finish(&runs);
}

MemoryNeed PredictMemory(const Model& model, const ScheduleView& schedule,
                         Pass pass, const Environment& given) {
  SerialWorkers alone;
  const bool has_tape = pass != Pass::kInference;
  const Environment environment = ForStreams(given, has_tape, &alone);
  const std::vector<TypeRows> rows =
      RowsByType(schedule, static_cast<int>(model.programs.size()));
  std::vector<Externals> externals = MakeExternals(model, schedule);
  const bool gathered_once =
      pass == Pass::kBackward &&
      IsGatheredOnce(CountWrites(model, rows, schedule.num_vertices()));
  for (size_t type = 0; pass == Pass::kBackward && type < rows.size(); ++type) {
    externals[type].gathered_once = gathered_once;
    externals[type].results.resize(model.programs[type].results.size());
  }
  PlanChunks(model, schedule, rows, environment, has_tape, &externals);
  MemoryNeed need;
  MakeRuns(model, rows, environment, std::move(externals), &need);
  return need;
}

}  // namespace cavs
