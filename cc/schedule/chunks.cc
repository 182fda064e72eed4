#include "cc/schedule/chunks.h"

#include <algorithm>
#include <cstdint>

namespace cavs {

std::vector<int64_t> LowestRowsRead(const ScheduleView& schedule) {
  static_assert(static_cast<uint32_t>(kZeroRow) == UINT32_MAX);
  std::vector<int64_t> lowest(schedule.num_tasks());
  int64_t low = schedule.num_vertices();
  for (int64_t task = schedule.num_tasks() - 1; task >= 0; --task) {
    for (int slot = 0; slot < schedule.arity; ++slot) {
      const int32_t* const children = schedule.children(slot).data();
      uint32_t least =
          UINT32_MAX;  // As a uint32_t, kZeroRow is larger than every row.
      for (int32_t row = schedule.task_splits[task];
           row < schedule.task_splits[task + 1]; ++row) {
        least = std::min(least, static_cast<uint32_t>(children[row]));
      }
      low = std::min<int64_t>(low, least);
    }
    for (int64_t row = schedule.task_splits[task];
         schedule.has_edges() && row < schedule.task_splits[task + 1]; ++row) {
      for (const int32_t child : schedule.edges_of(row)) {
        low = std::min<int64_t>(low, child);
      }
    }
    lowest[task] = low;
  }
  return lowest;
}

std::vector<Chunk> MakeChunks(const ScheduleView& schedule,
                              const std::vector<int64_t>& lowest,
                              int64_t most_rows) {
  const Span<int32_t>& splits = schedule.task_splits;
  std::vector<Chunk> chunks;
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    const bool closed = lowest[task] >= splits[task];
    const bool full =
        !chunks.empty() && most_rows > 0 &&
        splits[task + 1] - splits[chunks.back().first] > most_rows;
    if (chunks.empty() || closed || full) {
      chunks.push_back({task, task + 1});
    } else {
      chunks.back().end = task + 1;
    }
  }
  return chunks;
}

}  // namespace cavs
