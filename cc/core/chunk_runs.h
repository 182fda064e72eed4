// Programs over the chunks of a schedule. Internal to the executor.
#ifndef CAVS_CC_CORE_CHUNK_RUNS_H_
#define CAVS_CC_CORE_CHUNK_RUNS_H_

#include <vector>

#include "cc/core/chunks.h"
#include "cc/core/program_run.h"
#include "cc/core/schedule.h"
#include "cc/core/status.h"
#include "cc/core/type_rows.h"

namespace cavs {

// A chunk's rows of one vertex type.
ChunkRows RowsOf(const TypeRows& rows, const Chunk& chunk);

// Runs all chunks, in this order; the tasks of each in order or, in a
// derivative, in reverse. In two streams if the environment has an engine.
// `rows` and `runs`: per vertex type.
Status RunChunks(const std::vector<Chunk>& chunks, bool reverse,
                 const ScheduleView& schedule,
                 const std::vector<TypeRows>& rows,
                 const Environment& environment, std::vector<ProgramRun>* runs);

}  // namespace cavs

#endif  // CAVS_CC_CORE_CHUNK_RUNS_H_
