// Ranges of consecutive tasks that are run one after the other.
#ifndef CAVS_CC_SCHEDULE_CHUNKS_H_
#define CAVS_CC_SCHEDULE_CHUNKS_H_

#include <cstdint>
#include <vector>

#include "cc/schedule/schedule.h"

namespace cavs {

// The tasks [first, end) of a schedule. Eager operators run over all rows of a
// chunk before its first task, lazy operators after its last task.
struct Chunk {
  int64_t first;
  int64_t end;
};

// Divides the tasks of a schedule into chunks. A chunk ends where no later task
// gathers from earlier rows. Each micro-batch of a schedule therefore begins a
// chunk, so that the rows that eager and lazy operators read and write are
// still in the cache. If `most_rows` > 0, a chunk also ends before a task with
// which it would exceed `most_rows` rows. A chunk has at least one task,
// however many rows that task has. `lowest` is the result of LowestRowsRead().
std::vector<Chunk> MakeChunks(const ScheduleView& schedule,
                              const std::vector<int64_t>& lowest,
                              int64_t most_rows);

// Returns, for every task, the lowest row that this task or a later one gathers
// from.
std::vector<int64_t> LowestRowsRead(const ScheduleView& schedule);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_CHUNKS_H_
