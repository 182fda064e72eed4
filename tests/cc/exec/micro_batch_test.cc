// How many graphs run at a time.
#include "cc/exec/micro_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

Batch Chains(int count) {
  Batch batch;
  for (int i = 0; i < count; ++i) batch.Add(Chain(2));
  return batch;
}

// The bytes of an imagined step that takes one byte per row of its largest
// task.
size_t LargestTask(const ScheduleView& schedule) {
  int32_t largest = 0;
  for (int64_t t = 0; t < schedule.num_tasks(); ++t) {
    largest = std::max(largest,
                       schedule.task_splits[t + 1] - schedule.task_splits[t]);
  }
  return largest;
}

TEST(MicroBatchTest, TakesTheFewestThatFit) {
  for (const int graphs : {0, 1, 2, 7, 16}) {
    const Batch batch = Chains(graphs);
    for (int available = 0; available <= graphs + 1; ++available) {
      MicroBatch chosen;
      ASSERT_TRUE(ChooseMicroBatch(batch.view(), 1, 1, "depth", available,
                                   LargestTask, &chosen)
                      .ok());
      // The largest task has one row of each graph of a micro-batch.
      const auto size_of = [&](int count) {
        return (graphs + count - 1) / count;
      };
      int count = 1;
      while (count < graphs && size_of(count) > available) ++count;
      EXPECT_EQ(chosen.graphs, std::max(1, size_of(count)))
          << graphs << " graphs, " << available << " bytes";
      EXPECT_EQ(chosen.whole_bytes, static_cast<size_t>(graphs));
    }
  }
}

TEST(MicroBatchTest, PlansOnceIfAllFits) {
  int planned = 0;
  MicroBatch chosen;
  ASSERT_TRUE(ChooseMicroBatch(
                  Chains(9).view(), 1, 1, "depth", 9,
                  [&](const ScheduleView& schedule) {
                    ++planned;
                    return LargestTask(schedule);
                  },
                  &chosen)
                  .ok());
  EXPECT_EQ(planned, 1);
}

TEST(MicroBatchTest, GraphsThatAreNotValidAreAnError) {
  Batch batch = Chains(2);
  batch.child_ids[0] = 77;
  MicroBatch chosen;
  const Status status =
      ChooseMicroBatch(batch.view(), 1, 1, "depth", 1, LargestTask, &chosen);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cavs
