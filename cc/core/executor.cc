#include "cc/core/executor.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "cc/core/byte_count.h"
#include "cc/core/chunks.h"
#include "cc/core/streams.h"

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

// The state, or its gradient, of the whole minibatch, after a row of zeros that
// stands for children that are not there.
Status TakeState(const Model& model, int64_t num_vertices,
                 const Environment& environment, std::shared_ptr<void>* memory,
                 Block* state) {
  const size_t zeros =
      Arena::Padded(ByteCount(1, model.state_columns, model.state_dtype));
  const size_t bytes = SaturatingAdd(
      zeros, ByteCount(num_vertices, model.state_columns, model.state_dtype));
  *memory = environment.pool->Acquire(bytes);
  if (*memory == nullptr) {
    return Status(StatusCode::kResourceExhausted,
                  StrCat("minibatch: its state needs ", bytes,
                         " bytes but the system has no such block. Use a "
                         "smaller minibatch or state."));
  }
  std::memset(memory->get(), 0, zeros);
  *state = {static_cast<char*>(memory->get()) + zeros, num_vertices,
            model.state_columns, model.state_columns};
  return Status();
}

ChunkRows RowsOf(const TypeRows& rows, const Chunk& chunk) {
  ChunkRows own;
  own.first = rows.first_row(chunk.first);
  own.count = rows.end_row(chunk.end - 1) - own.first;
  if (rows.childless(chunk.first)) {
    own.childless = rows.end_row(chunk.first) - own.first;
  }
  return own;
}

int64_t LargestTask(const ScheduleView& schedule) {
  int64_t largest = 1;
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    largest = std::max<int64_t>(
        largest, schedule.task_splits[task + 1] - schedule.task_splits[task]);
  }
  return largest;
}

// Enough chunks for one stream to be ahead of the other.
constexpr int64_t kChunksInStreams = 8;

int64_t RowsPerChunk(const ScheduleView& schedule,
                     const Environment& environment, bool has_tape) {
  if (environment.engine != nullptr) {
    return std::max<int64_t>(1, schedule.num_vertices() / kChunksInStreams);
  }
  // Without a tape, what a chunk needs is forgotten after it.
  return has_tape ? 0 : LargestTask(schedule);
}

// Says what the programs have to know of the chunks.
void DescribeChunks(const std::vector<Chunk>& chunks,
                    const std::vector<TypeRows>& rows,
                    const Environment& environment,
                    std::vector<Externals>* externals) {
  for (size_t type = 0; type < rows.size(); ++type) {
    Externals& own = (*externals)[type];
    own.state_is_adjacent = true;
    own.largest_chunk = 0;
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
  return Status();
}

Status RunTask(const ScheduleView& schedule, const std::vector<TypeRows>& rows,
               const Environment& environment, const Chunk& chunk, int64_t task,
               std::vector<ProgramRun>* runs) {
  if (environment.cancelled && environment.cancelled()) {
    return Status(StatusCode::kCancelled, StrCat("cancelled before task ", task,
                                                 " of ", schedule.num_tasks()));
  }
  const int32_t type = schedule.task_type[task];
  const int64_t count =
      schedule.task_splits[task + 1] - schedule.task_splits[task];
  if (count == 0) return Status();
  return (*runs)[type].RunTask(RowsOf(rows[type], chunk), task,
                               rows[type].first_row(task), count);
}

// Runs all chunks, in this order; the tasks of each in order or, in a
// derivative, in reverse.
Status RunChunks(const std::vector<Chunk>& chunks, bool reverse,
                 const ScheduleView& schedule,
                 const std::vector<TypeRows>& rows,
                 const Environment& environment,
                 std::vector<ProgramRun>* runs) {
  const int64_t num_chunks = static_cast<int64_t>(chunks.size());
  const auto chunk_at = [&](int64_t i) -> const Chunk& {
    return chunks[reverse ? num_chunks - 1 - i : i];
  };
  ChunkSteps steps;
  steps.eager = [&](int64_t i) {
    for (size_t type = 0; type < runs->size(); ++type) {
      CAVS_RETURN_IF_ERROR(
          (*runs)[type].RunEager(RowsOf(rows[type], chunk_at(i))));
    }
    return Status();
  };
  steps.critical = [&](int64_t i) {
    const Chunk& chunk = chunk_at(i);
    for (int64_t j = 0; j < chunk.end - chunk.first; ++j) {
      const int64_t task = reverse ? chunk.end - 1 - j : chunk.first + j;
      CAVS_RETURN_IF_ERROR(
          RunTask(schedule, rows, environment, chunk, task, runs));
    }
    return Status();
  };
  steps.lazy = [&](int64_t i) {
    for (size_t type = 0; type < runs->size(); ++type) {
      CAVS_RETURN_IF_ERROR(
          (*runs)[type].RunLazy(RowsOf(rows[type], chunk_at(i))));
    }
    return Status();
  };
  if (environment.engine == nullptr) return RunInOneStream(num_chunks, steps);
  return RunInTwoStreams(num_chunks, steps, environment.engine);
}

// Two streams on two threads leave each no one to share its work with.
Environment ForStreams(const Environment& environment, SerialWorkers* alone) {
  Environment own = environment;
  if (own.engine == nullptr || own.workers == nullptr) return own;
  if (own.workers->count() > 2) return own;
  own.workers = alone;
  own.backend = own.serial;
  return own;
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

// What no one writes to is zero; what several add to begins with zero.
bool PrepareStateGradient(const Model& derivative,
                          const std::vector<TypeRows>& rows,
                          const Environment& environment, Block state_grad) {
  const std::vector<int32_t> writes =
      CountWrites(derivative, rows, state_grad.rows);
  const bool once = std::all_of(writes.begin(), writes.end(),
                                [](int32_t n) { return n <= 1; });
  if (!once) {
    environment.backend->Zero(derivative.state_dtype, state_grad);
    return false;
  }
  const int64_t bytes = state_grad.pitch * SizeOf(derivative.state_dtype);
  for (int64_t row = 0; row < state_grad.rows; ++row) {
    if (writes[row] > 0) continue;
    std::memset(static_cast<char*>(state_grad.data) + row * bytes, 0, bytes);
  }
  return true;
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
                  const Environment& given, Tape* tape) {
  SerialWorkers alone;
  const Environment environment = ForStreams(given, &alone);
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
  const std::vector<Chunk> chunks = MakeChunks(
      schedule, RowsPerChunk(schedule, environment, tape != nullptr));
  DescribeChunks(chunks, rows, environment, &externals);
  std::vector<ProgramRun> runs;
  CAVS_RETURN_IF_ERROR(
      StartRuns(model, rows, environment, std::move(externals), &runs));
  CAVS_RETURN_IF_ERROR(
      RunChunks(chunks, /*reverse=*/false, schedule, rows, environment, &runs));
  CAVS_RETURN_IF_ERROR(Finish(&runs));
  if (tape == nullptr) return Status();
  tape->schedule = schedule;
  if (std::any_of(runs.begin(), runs.end(),
                  [](const ProgramRun& run) { return run.uses_state(); })) {
    tape->memory.push_back(memory);
  }
  for (ProgramRun& run : runs) {
    tape->saved.push_back(run.TakeResults(&tape->memory));
  }
  tape->rows = std::move(rows);
  return Status();
}

Status RunBackward(const Model& derivative, const Tape& tape,
                   const BackwardArguments& arguments,
                   const Environment& given) {
  SerialWorkers alone;
  const Environment environment = ForStreams(given, &alone);
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
  const bool once =
      PrepareStateGradient(derivative, tape.rows, environment, state_grad);
  std::vector<Externals> externals(num_types);
  for (int type = 0; type < num_types; ++type) {
    externals[type].state = state_grad;
    externals[type].gathered_once = once;
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
  const std::vector<Chunk> chunks = MakeChunks(
      schedule, RowsPerChunk(schedule, environment, /*has_tape=*/true));
  DescribeChunks(chunks, tape.rows, environment, &externals);
  std::vector<ProgramRun> runs;
  CAVS_RETURN_IF_ERROR(StartRuns(derivative, tape.rows, environment,
                                 std::move(externals), &runs));
  CAVS_RETURN_IF_ERROR(RunChunks(chunks, /*reverse=*/true, schedule, tape.rows,
                                 environment, &runs));
  return Finish(&runs);
}

}  // namespace cavs
