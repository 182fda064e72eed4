#include "cc/exec/pass_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/exec/streams.h"

namespace cavs {
namespace {

// Bytes that no one misses: tasks of a few narrow rows would else have eager
// and lazy operators of as few.
constexpr int64_t kSmallChunk = 32 << 10;

// Enough chunks for one stream to be ahead of the other.
constexpr int64_t kChunksInStreams = 8;

int64_t LargestTask(const ScheduleView& schedule) {
  int64_t largest = 1;
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    largest = std::max<int64_t>(
        largest, schedule.task_splits[task + 1] - schedule.task_splits[task]);
  }
  return largest;
}

// What eager operators write of a row, and lazy ones read.
int64_t BytesPerRow(const Model& model) {
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
  return bytes_per_row;
}

// As many rows as fit into half of the cache.
int64_t RowsInCache(const Model& model, const Environment& environment) {
  return std::max<int64_t>(environment.fewest_rows,
                           environment.cache_bytes / 2 / BytesPerRow(model));
}

int64_t RowsPerChunk(Pass pass, const Model& model,
                     const ScheduleView& schedule,
                     const Environment& environment, int64_t rows_in_cache) {
  if (environment.engine != nullptr) {
    return std::max<int64_t>(1, schedule.num_vertices() / kChunksInStreams);
  }
  if (pass != Pass::kInference) return rows_in_cache;
  // What a chunk needs is all that inference needs beside the state.
  return std::min(rows_in_cache, std::max(LargestTask(schedule),
                                          kSmallChunk / BytesPerRow(model)));
}

// Before the state lies a row of zeros, for children that are not there.
size_t BytesOfZeros(const Model& model) {
  return Arena::Padded(ByteCount(1, model.state_columns, model.state_dtype));
}

}  // namespace

// No memory goes back to the pool with zones in it.
PassRun::~PassRun() {
  if (scratch_ != nullptr && env_.guards != nullptr) {
    env_.guards->KeepFirst(zones_before_);
  }
}

PassRun::PassRun(Pass pass, const Model& model, const ScheduleView& schedule,
                 const std::vector<TypeRows>& rows,
                 const Environment& environment,
                 std::vector<Externals> externals)
    : pass_(pass),
      model_(model),
      schedule_(schedule),
      rows_(rows),
      env_(environment),
      shares_(environment.engine == nullptr && rows.size() > 1) {
  chunks_ = PlanChunks(&externals);
  need_.state = SaturatingAdd(
      BytesOfZeros(model), ByteCount(schedule.num_vertices(),
                                     model.state_columns, model.state_dtype));
  runs_.reserve(rows.size());
  for (size_t type = 0; type < rows.size(); ++type) {
    runs_.emplace_back(model.programs[type], rows[type], environment,
                       std::move(externals[type]));
    need_ += runs_.back().PlanStorage();
  }
  for (const Chunk& chunk : chunks_) {
    shared_bytes_ = std::max(shared_bytes_, BytesForChunk(chunk));
  }
  need_.temporaries = SaturatingAdd(need_.temporaries, shared_bytes_);
}

// Also tells the programs what they have to know of chunks.
std::vector<Chunk> PassRun::PlanChunks(
    std::vector<Externals>* externals) const {
  const int64_t rows_in_cache = RowsInCache(model_, env_);
  const std::vector<Chunk> chunks = MakeChunks(
      schedule_, RowsPerChunk(pass_, model_, schedule_, env_, rows_in_cache));
  for (size_t type = 0; type < rows_.size(); ++type) {
    Externals& own = (*externals)[type];
    const Span<int32_t>& state = rows_[type].state_row();
    const auto are_adjacent = [&](int64_t first, int64_t count) {
      return count == 0 || state[first + count - 1] - state[first] == count - 1;
    };
    own.state_is_adjacent = true;
    own.state_is_whole = are_adjacent(0, state.size());
    own.largest_chunk = 0;
    own.largest_piece = rows_in_cache;
    for (const Chunk& chunk : chunks) {
      const auto [first, count, childless] = RowsOf(type, chunk);
      own.largest_chunk = std::max(own.largest_chunk, count);
      own.state_is_adjacent =
          own.state_is_adjacent && are_adjacent(first, count);
    }
    // Streams are at several chunks at a time.
    if (env_.engine != nullptr) own.largest_chunk = -1;
    own.binds_chunks = shares_;
  }
  return chunks;
}

ChunkRows PassRun::RowsOf(size_t type, const Chunk& chunk) const {
  const TypeRows& rows = rows_[type];
  ChunkRows own;
  own.first = rows.first_row(chunk.first);
  own.count = rows.end_row(chunk.end - 1) - own.first;
  if (rows.childless(chunk.first)) {
    own.childless = rows.end_row(chunk.first) - own.first;
  }
  return own;
}

size_t PassRun::BytesForChunk(const Chunk& chunk) const {
  size_t bytes = 0;
  for (size_t type = 0; type < runs_.size(); ++type) {
    bytes =
        SaturatingAdd(bytes, runs_[type].BytesForChunk(RowsOf(type, chunk)));
  }
  return bytes;
}

// At most, in one allocation.
size_t PassRun::BytesOfZones() const {
  if (env_.guards == nullptr) return 0;
  size_t buffers = 4;
  for (const ProgramRun& run : runs_) buffers += run.num_buffers();
  return buffers * Guards::kZone + Guards::kMargin;
}

template <typename Title>
Status PassRun::Checked(Status status, const Title& title) const {
  if (!status.ok() || env_.guards == nullptr) return status;
  return env_.guards->Check(title);
}

void PassRun::BindChunk(const Chunk& chunk) {
  if (!shares_) return;
  if (env_.guards != nullptr) {
    env_.guards->KeepFirst(zones_of_pass_);
    std::memset(shared_, StoragePool::kNanByte, shared_bytes_);
  }
  Arena arena(shared_, shared_bytes_ + BytesOfZones(), env_.guards);
  for (size_t type = 0; type < runs_.size(); ++type) {
    runs_[type].BindChunk(RowsOf(type, chunk), &arena);
  }
}

bool PassRun::Start() {
  const size_t zones = BytesOfZones();
  const size_t scratch =
      SaturatingAdd(SaturatingAdd(need_.temporaries, need_.packed_weights),
                    zones + (shares_ ? zones : 0));
  const size_t kept = SaturatingAdd(
      SaturatingAdd(Arena::Padded(need_.state), need_.tape), zones);
  // Only a forward pass has something that outlives it.
  const bool keeps = pass_ == Pass::kForward;
  const size_t bytes = keeps ? scratch : SaturatingAdd(kept, scratch);
  // First what is kept, so that it finds its buffer of the step before, and
  // leaves that of the backward pass to what is soon returned.
  kept_ = keeps ? env_.pool->Acquire(kept) : nullptr;
  scratch_ = env_.pool->Acquire(bytes);
  if (scratch_ == nullptr || (keeps && kept_ == nullptr)) return false;
  if (env_.guards != nullptr) zones_before_ = env_.guards->size();
  Arena of_scratch(scratch_.get(), bytes, env_.guards);
  Arena of_kept(kept_.get(), keeps ? kept : 0, env_.guards);
  Arena* const for_kept = keeps ? &of_kept : &of_scratch;
  BindState(for_kept);
  if (shares_) shared_ = of_scratch.Take(shared_bytes_ + zones, "chunks");
  for (ProgramRun& run : runs_) run.Bind(state_, for_kept, &of_scratch);
  if (env_.guards != nullptr) zones_of_pass_ = env_.guards->size();
  return true;
}

void PassRun::BindState(Arena* arena) {
  const char* const name =
      pass_ == Pass::kBackward ? "the state's gradient" : "the state";
  arena->Take(0, "the zone before all others");
  const size_t zeros = BytesOfZeros(model_);
  char* before = static_cast<char*>(arena->Take(need_.state, name));
  std::memset(before, 0, zeros);
  state_ = before + zeros;
  if (env_.guards == nullptr) return;
  env_.guards->AddZeros(before, state_, StrCat("the row before ", name));
}

std::vector<std::vector<Value>> PassRun::Results() const {
  std::vector<std::vector<Value>> results;
  for (const ProgramRun& run : runs_) results.push_back(run.Results());
  return results;
}

Status PassRun::Run() {
  for (ProgramRun& run : runs_) {
    CAVS_RETURN_IF_ERROR(Checked(run.RunPrologue(), [] { return "prologue"; }));
  }
  const int64_t num_chunks = static_cast<int64_t>(chunks_.size());
  const auto chunk_at = [&](int64_t i) -> const Chunk& {
    return chunks_[pass_ == Pass::kBackward ? num_chunks - 1 - i : i];
  };
  ChunkSteps steps;
  steps.eager = [&](int64_t i) { return RunEager(chunk_at(i)); };
  steps.critical = [&](int64_t i) { return RunTasks(chunk_at(i)); };
  steps.lazy = [&](int64_t i) { return RunLazy(chunk_at(i)); };
  CAVS_RETURN_IF_ERROR(env_.engine == nullptr
                           ? RunInOneStream(num_chunks, steps)
                           : RunInTwoStreams(num_chunks, steps, env_.engine));
  for (ProgramRun& run : runs_) {
    CAVS_RETURN_IF_ERROR(Checked(run.RunEpilogue(), [] { return "epilogue"; }));
  }
  return Status();
}

Status PassRun::RunEager(const Chunk& chunk) {
  BindChunk(chunk);
  for (size_t type = 0; type < runs_.size(); ++type) {
    CAVS_RETURN_IF_ERROR(
        Checked(runs_[type].RunEager(RowsOf(type, chunk)), [&] {
          return StrCat("eager operators of ", model_.programs[type].name);
        }));
  }
  return Status();
}

Status PassRun::RunTasks(const Chunk& chunk) {
  for (int64_t i = 0; i < chunk.end - chunk.first; ++i) {
    CAVS_RETURN_IF_ERROR(RunTask(
        chunk, pass_ == Pass::kBackward ? chunk.end - 1 - i : chunk.first + i));
  }
  return Status();
}

Status PassRun::RunTask(const Chunk& chunk, int64_t task) {
  if (env_.cancelled && env_.cancelled()) {
    return Status(
        StatusCode::kCancelled,
        StrCat("cancelled before task ", task, " of ", schedule_.num_tasks()));
  }
  const int32_t type = schedule_.task_type[task];
  const int64_t count =
      schedule_.task_splits[task + 1] - schedule_.task_splits[task];
  if (count == 0) return Status();
  return Checked(runs_[type].RunTask(RowsOf(type, chunk), task,
                                     rows_[type].first_row(task), count),
                 [&] {
                   return StrCat("task ", task, " (", count, " rows of ",
                                 model_.programs[type].name, ")");
                 });
}

Status PassRun::RunLazy(const Chunk& chunk) {
  for (size_t type = 0; type < runs_.size(); ++type) {
    CAVS_RETURN_IF_ERROR(Checked(runs_[type].RunLazy(RowsOf(type, chunk)), [&] {
      return StrCat("lazy operators of ", model_.programs[type].name);
    }));
  }
  return Status();
}

}  // namespace cavs
