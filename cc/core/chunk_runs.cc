#include "cc/core/chunk_runs.h"

#include "cc/core/streams.h"

namespace cavs {
namespace {

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

}  // namespace

ChunkRows RowsOf(const TypeRows& rows, const Chunk& chunk) {
  ChunkRows own;
  own.first = rows.first_row(chunk.first);
  own.count = rows.end_row(chunk.end - 1) - own.first;
  if (rows.childless(chunk.first)) {
    own.childless = rows.end_row(chunk.first) - own.first;
  }
  return own;
}

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

}  // namespace cavs
