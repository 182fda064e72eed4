// Ranges of consecutive tasks that are run one after the other.
#ifndef CAVS_CC_SCHEDULE_CHUNKS_H_
#define CAVS_CC_SCHEDULE_CHUNKS_H_

#include <cstdint>
#include <vector>

#include "cc/schedule/schedule.h"

namespace cavs {

// The tasks [first, end). Eager operators run over all rows of a chunk before
// its first task, lazy ones after its last.
struct Chunk {
  int64_t first;
  int64_t end;
};

// A chunk ends where no later task gathers from earlier rows. Each micro-batch
// of a schedule is therefore a chunk, and what eager and lazy operators read
// and write is still in the cache. With `most_rows` > 0 a chunk also ends
// before the task by which it would exceed `most_rows` rows. A chunk has at
// least one task, however many rows that has. `lowest` is what LowestRowsRead()
// returns.
std::vector<Chunk> MakeChunks(const ScheduleView& schedule,
                              const std::vector<int64_t>& lowest,
                              int64_t most_rows);

// For every task, the lowest row that it or a later one gathers from.
std::vector<int64_t> LowestRowsRead(const ScheduleView& schedule);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_CHUNKS_H_
