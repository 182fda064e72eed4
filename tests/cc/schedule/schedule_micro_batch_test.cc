// Each micro-batch is planned as if it were alone, one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cc/schedule/schedule.h"
#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

// The graphs [first, limit) of `batch`.
Batch Graphs(const Batch& batch, int64_t first, int64_t limit) {
  Batch alone;
  for (int64_t g = first; g < limit; ++g) {
    const int32_t origin = batch.graph_splits[g];
    Children children;
    for (int32_t v = origin; v < batch.graph_splits[g + 1]; ++v) {
      const Span<int32_t> own = batch.view().children(v);
      children.emplace_back(own.begin(), own.end());
      for (int32_t& child : children.back()) {
        child = child < 0 ? -1 : child - origin;
      }
      if (!batch.vertex_type.empty())
        alone.vertex_type.push_back(batch.type(v));
    }
    alone.Add(children);
  }
  return alone;
}

// The schedules of all micro-batches, made one by one and concatenated.
Schedule Concatenated(const Batch& batch, int arity, int num_types,
                      ScheduleOptions options) {
  const int64_t num_graphs =
      static_cast<int64_t>(batch.graph_splits.size()) - 1;
  const int64_t num_vertices = batch.num_vertices();
  Schedule whole;
  whole.arity = arity;
  whole.task_splits = {0};
  whole.child_row.resize(arity * num_vertices);
  for (int64_t g = 0; g < num_graphs; g += options.micro_batch) {
    const int64_t limit =
        std::min<int64_t>(g + options.micro_batch, num_graphs);
    const int32_t origin = batch.graph_splits[g];
    const Schedule alone =
        Make(Graphs(batch, g, limit), arity, num_types, options.policy.c_str());
    for (const int32_t v : alone.order) whole.order.push_back(origin + v);
    for (size_t t = 0; t < alone.task_type.size(); ++t) {
      whole.task_type.push_back(alone.task_type[t]);
      whole.task_splits.push_back(origin + alone.task_splits[t + 1]);
    }
    for (int k = 0; k < arity; ++k) {
      const Span<int32_t> rows = alone.view().children(k);
      for (int64_t row = 0; row < rows.size(); ++row) {
        whole.child_row[k * num_vertices + origin + row] =
            rows[row] == kZeroRow ? kZeroRow : origin + rows[row];
      }
    }
  }
  return whole;
}

TEST(MicroBatchTest, PlansOneMicroBatchAfterTheOther) {
  // A chain of 2, a single vertex, and a chain of 3; two graphs at a time.
  const Batch batch = Batch().Add(Chain(2)).Add(Chain(1)).Add(Chain(3));
  const Schedule schedule = Make(batch, 1, 1, {"depth", 2});
  EXPECT_EQ(schedule.order, (std::vector<int32_t>{0, 2, 1, 3, 4, 5}));
  EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0, 2, 3, 4, 5, 6}));
  EXPECT_EQ(schedule.task_type, (std::vector<int32_t>{0, 0, 0, 0, 0}));
  EXPECT_EQ(schedule.child_row, (std::vector<int32_t>{-1, -1, 0, -1, 3, 4}));
}

TEST(MicroBatchTest, EqualsTheSchedulesOfTheMicroBatchesConcatenated) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const int arity = random() % 4;
    const int num_types = 1 + random() % 3;
    const Batch batch = RandomBatch(arity, num_types, &random);
    for (const Policy& policy : Policies()) {
      const int32_t micro_batch = 1 + random() % 7;
      SCOPED_TRACE(StrCat("seed ", seed, ", ", micro_batch, " at a time"));
      const ScheduleOptions options(policy.name, micro_batch);
      const Schedule schedule = Make(batch, arity, num_types, options);
      const Schedule expected = Concatenated(batch, arity, num_types, options);
      EXPECT_EQ(schedule.order, expected.order);
      EXPECT_EQ(schedule.task_splits, expected.task_splits);
      EXPECT_EQ(schedule.task_type, expected.task_type);
      EXPECT_EQ(schedule.child_row, expected.child_row);
      ExpectPlans(schedule, batch, num_types);
    }
  }
}

TEST(MicroBatchTest, OfAsManyGraphsAsThereAreOrMoreIsTheWholeMinibatch) {
  Batch batch;
  for (const int length : {3, 1, 0, 4}) batch.Add(Chain(length));
  const Schedule whole = Make(batch, 1);
  for (const int32_t micro_batch : {4, 5, INT32_MAX - 1, INT32_MAX}) {
    const Schedule schedule = Make(batch, 1, 1, {"depth", micro_batch});
    EXPECT_EQ(schedule.order, whole.order);
    EXPECT_EQ(schedule.task_splits, whole.task_splits);
  }
  EXPECT_NE(Make(batch, 1, 1, {"depth", 3}).order, whole.order);
}

TEST(MicroBatchTest, GathersOfChainsStayConsecutive) {
  Batch batch;
  std::mt19937 random(5);
  for (int g = 0; g < 30; ++g) batch.Add(Chain(random() % 9));
  const Schedule schedule = Make(batch, 1, 1, {"depth", 7});
  const ScheduleView view = schedule.view();
  for (int64_t t = 0; t < view.num_tasks(); ++t) {
    const int32_t first = view.task_splits[t];
    for (int32_t row = first + 1; row < view.task_splits[t + 1]; ++row) {
      const int32_t child = view.child_row[first];
      EXPECT_EQ(view.child_row[row],
                child == kZeroRow ? kZeroRow : child + row - first);
    }
  }
}

TEST(MicroBatchTest, EmptyMinibatchAndEmptyGraphs) {
  for (const Batch& batch : {Batch(), Batch().Add({}).Add({}).Add({})}) {
    for (const Policy& policy : Policies()) {
      const Schedule schedule = Make(batch, 2, 2, {policy.name, 1});
      EXPECT_TRUE(schedule.order.empty());
      EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0}));
    }
  }
}

TEST(MicroBatchTest, RejectsFewerThanOneGraph) {
  for (const int32_t micro_batch : {0, -1, INT32_MIN}) {
    Schedule schedule;
    const Batch batch = Batch().Add(Chain(2));
    const Status status =
        MakeSchedule(batch.view(), 1, 1, {"depth", micro_batch}, &schedule);
    EXPECT_EQ(status.message(),
              StrCat("micro_batch: got ", micro_batch,
                     " but expected at least 1, the number of graphs in a "
                     "micro-batch. Leave it out to plan the whole minibatch at "
                     "once."));
  }
}

}  // namespace
}  // namespace cavs
