// Chooses the number of graphs that run at a time, so that a step fits into
// memory.
#ifndef CAVS_CC_EXEC_MICRO_BATCH_H_
#define CAVS_CC_EXEC_MICRO_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cc/base/status.h"
#include "cc/schedule/graph_batch.h"
#include "cc/schedule/schedule.h"

namespace cavs {

struct MicroBatch {
  int32_t graphs = 1;      // The number that run at a time, at least 1.
  size_t whole_bytes = 0;  // Bytes of a step with all graphs at a time.
};

// Returns the bytes that a step over a schedule takes.
using BytesOfStep = std::function<size_t(const ScheduleView&)>;

// Divides `batch` into the fewest micro-batches of equal size (the last one may
// be smaller) with which a step takes at most `available` bytes. If no number
// of them suffices, each graph is a micro-batch. Assumes that a step takes no
// more bytes with more micro-batches. Schedules are made with the options
// `like`, but for their micro-batches. Fails where MakeSchedule() does.
Status ChooseMicroBatch(const GraphBatchView& batch, int arity, int num_types,
                        const ScheduleOptions& like, size_t available,
                        const BytesOfStep& bytes_of, MicroBatch* chosen);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_MICRO_BATCH_H_
