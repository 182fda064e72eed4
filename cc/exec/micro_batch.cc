#include "cc/exec/micro_batch.h"

#include <algorithm>

namespace cavs {

Status ChooseMicroBatch(const GraphBatchView& batch, int arity, int num_types,
                        const ScheduleOptions& like, size_t available,
                        const BytesOfStep& bytes_of, MicroBatch* chosen) {
  const auto need = [&](int64_t graphs, size_t* bytes) {
    Schedule schedule;
    ScheduleOptions options = like;
    options.micro_batch = static_cast<int32_t>(graphs);
    CAVS_RETURN_IF_ERROR(
        MakeSchedule(batch, arity, num_types, options, &schedule));
    *bytes = bytes_of(schedule.view());
    return Status();
  };
  const int64_t graphs = std::max<int64_t>(1, batch.num_graphs());
  CAVS_RETURN_IF_ERROR(need(graphs, &chosen->whole_bytes));
  // Invariant: `enough` micro-batches fit, or there cannot be more; `too_few`
  // do not fit.
  int64_t too_few = 0, enough = 1;
  if (chosen->whole_bytes > available) too_few = 1, enough = graphs;
  while (enough - too_few > 1) {
    const int64_t count = too_few + (enough - too_few) / 2;
    size_t bytes = 0;
    CAVS_RETURN_IF_ERROR(need((graphs + count - 1) / count, &bytes));
    (bytes <= available ? enough : too_few) = count;
  }
  chosen->graphs = static_cast<int32_t>((graphs + enough - 1) / enough);
  return Status();
}

}  // namespace cavs
