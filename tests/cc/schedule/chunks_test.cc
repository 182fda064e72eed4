#include "cc/schedule/chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/schedule/row_plan.h"
#include "cc/schedule/schedule.h"
#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

using Chunks = std::vector<std::pair<int64_t, int64_t>>;

// The chunks of a schedule with tasks of `sizes` rows, in which the first row
// of task t gathers row reads[t] unless that is negative.
Chunks ChunksOf(const std::vector<int32_t>& sizes,
                const std::vector<int32_t>& reads, int64_t most_rows) {
  Schedule schedule;
  schedule.arity = 1;
  schedule.task_splits = {0};
  for (size_t task = 0; task < sizes.size(); ++task) {
    schedule.task_type.push_back(0);
    schedule.task_splits.push_back(schedule.task_splits.back() + sizes[task]);
    for (int32_t row = 0; row < sizes[task]; ++row) {
      schedule.order.push_back(static_cast<int32_t>(schedule.order.size()));
      schedule.child_row.push_back(row == 0 ? reads[task] : kZeroRow);
    }
  }
  Chunks chunks;
  for (const Chunk& chunk : RowPlan(schedule.view(), 1).Chunks(most_rows)) {
    chunks.emplace_back(chunk.first, chunk.end);
  }
  return chunks;
}

TEST(ChunksTest, AChunkEndsWhereNoLaterTaskGathersFromEarlierRows) {
  // Tasks 0 to 2 are one chain, 3 stands alone, 4 and 5 are another chain.
  EXPECT_EQ(ChunksOf({4, 2, 1, 3, 2, 1}, {-1, 0, 4, -1, -1, 10}, 0),
            (Chunks{{0, 3}, {3, 4}, {4, 6}}));
}

TEST(ChunksTest, ALaterTaskMayGatherFromFarBack) {
  EXPECT_EQ(ChunksOf({1, 1, 1, 1}, {-1, -1, -1, 0}, 0), (Chunks{{0, 4}}));
  EXPECT_EQ(ChunksOf({1, 1, 1, 1}, {-1, -1, -1, 1}, 0),
            (Chunks{{0, 1}, {1, 4}}));
  EXPECT_EQ(ChunksOf({1, 1, 1, 1}, {-1, -1, -1, 2}, 0),
            (Chunks{{0, 1}, {1, 2}, {2, 4}}));
}

TEST(ChunksTest, EverySlotIsAskedForTheRowsItGathers) {
  Schedule schedule;
  schedule.arity = 2;
  schedule.order = {0, 1};
  schedule.task_splits = {0, 1, 2};
  schedule.task_type = {0, 0};
  schedule.child_row = {kZeroRow, kZeroRow, kZeroRow, 0};
  EXPECT_EQ(RowPlan(schedule.view(), 1).Chunks(0).size(), 1u);
  schedule.child_row = {kZeroRow, kZeroRow, kZeroRow, kZeroRow};
  EXPECT_EQ(RowPlan(schedule.view(), 1).Chunks(0).size(), 2u);
}

TEST(ChunksTest, MostRowsCutsAChainBetweenTasks) {
  const std::vector<int32_t> sizes = {2, 2, 3, 1}, reads = {-1, 0, 2, 4};
  EXPECT_EQ(ChunksOf(sizes, reads, 0), (Chunks{{0, 4}}));
  EXPECT_EQ(ChunksOf(sizes, reads, 8), (Chunks{{0, 4}}));
  EXPECT_EQ(ChunksOf(sizes, reads, 7), (Chunks{{0, 3}, {3, 4}}));
  EXPECT_EQ(ChunksOf(sizes, reads, 4), (Chunks{{0, 2}, {2, 4}}));
  EXPECT_EQ(ChunksOf(sizes, reads, 3),
            (Chunks{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  // Tasks are not cut.
  EXPECT_EQ(ChunksOf(sizes, reads, 1),
            (Chunks{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

TEST(ChunksTest, EachMicroBatchIsAChunk) {
  Batch batch;
  for (int length : {3, 5, 2, 4, 1}) batch.Add(Chain(length));
  for (int micro_batch : {1, 2, 3, 5}) {
    const Schedule schedule =
        Make(batch, 1, 1, ScheduleOptions("depth", micro_batch));
    std::vector<int64_t> ends, want;  // In rows.
    for (const Chunk& chunk : RowPlan(schedule.view(), 1).Chunks(0)) {
      ends.push_back(schedule.task_splits[chunk.end]);
    }
    for (int graph = 0; graph < 5; graph += micro_batch) {
      want.push_back(batch.graph_splits[std::min(5, graph + micro_batch)]);
    }
    EXPECT_EQ(ends, want) << micro_batch;
  }
}

TEST(ChunksTest, NoTasksAreNoChunks) {
  EXPECT_EQ(ChunksOf({}, {}, 5), Chunks());
}

}  // namespace
}  // namespace cavs
