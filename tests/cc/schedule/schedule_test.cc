#include "cc/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

std::string Error(const Batch& batch, int arity, int num_types = 1) {
  Schedule schedule;
  return MakeSchedule(batch.view(), arity, num_types, "depth", &schedule)
      .message();
}

// The definition of policy `depth`: repeatedly take the frontier, which is all
// vertices whose children have been evaluated, and split it by type.
std::vector<std::pair<int32_t, std::set<int32_t>>> FrontierTasks(
    const Batch& batch, int arity) {
  std::vector<std::pair<int32_t, std::set<int32_t>>> tasks;
  std::vector<bool> done(batch.num_vertices(), false);
  for (int32_t num_done = 0; num_done < batch.num_vertices();) {
    std::map<int32_t, std::set<int32_t>> frontier;
    for (int32_t v = 0; v < batch.num_vertices(); ++v) {
      bool ready = !done[v];
      for (int k = 0; k < arity; ++k) {
        const int32_t child = batch.child(v, k);
        ready = ready && (child < 0 || done[child]);
      }
      if (ready) frontier[batch.type(v)].insert(v);
    }
    for (const auto& [type, vertices] : frontier) {
      for (int32_t v : vertices) done[v] = true;
      num_done += static_cast<int32_t>(vertices.size());
      tasks.emplace_back(type, vertices);
    }
  }
  return tasks;
}

// The vertices of all tasks, in the order that the header defines.
std::vector<int32_t> OrderByDefinition(const Batch& batch, int arity) {
  const auto tasks = FrontierTasks(batch, arity);
  std::vector<std::vector<int32_t>> rows(tasks.size());
  std::vector<size_t> task_of(batch.num_vertices());
  for (size_t t = 0; t < tasks.size(); ++t) {
    for (int32_t v : tasks[t].second) task_of[v] = t;
  }
  const auto append = [&](int32_t v) {
    auto& list = rows[task_of[v]];
    if (std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
  };
  for (size_t t = tasks.size(); t-- > 0;) {
    for (int32_t v : tasks[t].second) append(v);
    const std::vector<int32_t> parents = rows[t];
    for (int32_t v : parents) {
      for (int k = 0; k < arity; ++k) {
        if (batch.child(v, k) >= 0) append(batch.child(v, k));
      }
    }
  }
  std::vector<int32_t> order;
  for (const auto& list : rows) {
    order.insert(order.end(), list.begin(), list.end());
  }
  return order;
}

void ExpectMatchesDefinition(const Batch& batch, int arity, int num_types) {
  const Schedule schedule = Make(batch, arity, num_types);
  const ScheduleView view = schedule.view();
  const auto expected = FrontierTasks(batch, arity);

  ASSERT_EQ(view.num_tasks(), static_cast<int64_t>(expected.size()));
  ASSERT_EQ(view.num_vertices(), batch.num_vertices());
  for (int64_t t = 0; t < view.num_tasks(); ++t) {
    EXPECT_EQ(view.task_type[t], expected[t].first);
    EXPECT_EQ(std::set<int32_t>(view.order.begin() + view.task_splits[t],
                                view.order.begin() + view.task_splits[t + 1]),
              expected[t].second);
  }
  EXPECT_EQ(schedule.order, OrderByDefinition(batch, arity));

  ExpectPlans(schedule, batch, num_types);
}

// Expects that the children of every vertex are adjacent rows, and that those
// of consecutive vertices of a task are consecutive.
void ExpectChildrenAreAdjacent(const Schedule& schedule) {
  const ScheduleView view = schedule.view();
  for (int64_t t = 1; t < view.num_tasks(); ++t) {
    const int32_t begin = view.task_splits[t];
    for (int32_t row = begin; row < view.task_splits[t + 1]; ++row) {
      for (int k = 0; k < view.arity; ++k) {
        EXPECT_EQ(view.children(k)[row],
                  view.children(0)[begin] + (row - begin) * view.arity + k)
            << "task " << t << ", row " << row << ", slot " << k;
      }
    }
  }
}

TEST(ScheduleTest, BatchesTwoUnequalTrees) {
  // 4 -> (3 -> (0, 1), 2), and 7 -> (5, 6).
  const Batch batch =
      Batch().Add({{}, {}, {}, {0, 1}, {3, 2}}).Add({{}, {}, {0, 1}});
  const Schedule schedule = Make(batch, 2);
  EXPECT_EQ(schedule.order, (std::vector<int32_t>{2, 0, 1, 5, 6, 3, 7, 4}));
  EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0, 5, 7, 8}));
  EXPECT_EQ(schedule.task_type, (std::vector<int32_t>{0, 0, 0}));
  EXPECT_EQ(schedule.child_row,
            (std::vector<int32_t>{-1, -1, -1, -1, -1, 1, 3, 5,  //
                                  -1, -1, -1, -1, -1, 2, 4, 0}));
}

TEST(ScheduleTest, SplitsTheFrontierByType) {
  Batch batch = Batch().Add({{}, {}, {}, {0, 1}, {3, 2}});
  batch.vertex_type = {2, 0, 2, 1, 1};
  const Schedule schedule = Make(batch, 2, 3);
  EXPECT_EQ(schedule.task_type, (std::vector<int32_t>{0, 2, 1, 1}));
  EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0, 1, 3, 4, 5}));
  ExpectMatchesDefinition(batch, 2, 3);
}

TEST(ScheduleTest, MissingChildrenGatherTheZeroRow) {
  const Batch batch = Batch().Add({{}, {-1, 0, -1}, {-1, -1}});
  const Schedule schedule = Make(batch, 3);
  EXPECT_EQ(schedule.order, (std::vector<int32_t>{0, 2, 1}));
  EXPECT_EQ(schedule.child_row,
            (std::vector<int32_t>{-1, -1, -1, -1, -1, 0, -1, -1, -1}));
}

TEST(ScheduleTest, AVertexMayNameAChildTwice) {
  const Batch batch = Batch().Add({{}, {0, 0}});
  EXPECT_EQ(Make(batch, 2).child_row, (std::vector<int32_t>{-1, 0, -1, 0}));
}

TEST(ScheduleTest, EmptyMinibatchAndEmptyGraphs) {
  for (const Batch& batch : {Batch(), Batch().Add({}).Add({})}) {
    const Schedule schedule = Make(batch, 2);
    EXPECT_TRUE(schedule.order.empty());
    EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0}));
    EXPECT_TRUE(ValidateSchedule(schedule.view(), 1).ok());
  }
  ExpectMatchesDefinition(Batch().Add({}).Add({{}}).Add({}).Add({{}, {0}}), 1,
                          1);
}

TEST(ScheduleTest, ArityZeroIsOneTask) {
  const Schedule schedule = Make(Batch().Add({{}, {}}).Add({{}}), 0);
  EXPECT_EQ(schedule.order, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0, 3}));
  EXPECT_TRUE(schedule.child_row.empty());
}

TEST(ScheduleTest, ReusesTheScheduleItIsGiven) {
  Schedule schedule = Make(Batch().Add(CompleteTree(3, 2)), 2);
  const Batch small = Batch().Add({{}, {0}});
  ASSERT_TRUE(MakeSchedule(small.view(), 1, 1, "depth", &schedule).ok());
  EXPECT_EQ(schedule.order, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(schedule.child_row, (std::vector<int32_t>{-1, 0}));
}

TEST(ScheduleTest, ChainsOf100000VerticesInEitherDirection) {
  constexpr int32_t kLength = 100000;
  Children reversed(kLength);
  for (int32_t v = 0; v + 1 < kLength; ++v) reversed[v] = {v + 1};
  for (const Children& chain : {Chain(kLength), reversed}) {
    const Schedule schedule = Make(Batch().Add(chain), 1);
    EXPECT_EQ(schedule.task_type.size(), size_t{kLength});
    EXPECT_EQ(schedule.child_row.back(), kLength - 2);
  }
}

TEST(ScheduleTest, GathersOfUnequalChainsAreConsecutive) {
  std::mt19937 random(17);
  for (int round = 0; round < 20; ++round) {
    Batch batch;
    for (int g = 0; g < 12; ++g) batch.Add(Chain(random() % 9));
    ExpectChildrenAreAdjacent(Make(batch, 1));
  }
}

TEST(ScheduleTest, GathersOfCompleteTreesAreConsecutive) {
  for (int arity : {1, 2, 3, 5}) {
    for (int depth : {1, 2, 4}) {
      Batch batch;
      for (int g = 0; g < 3; ++g) batch.Add(CompleteTree(depth, arity));
      ExpectChildrenAreAdjacent(Make(batch, arity));
    }
  }
}

TEST(ScheduleTest, MatchesTheDefinitionOnRandomGraphs) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int arity = 1 + random() % 4;
    const int num_types = 1 + random() % 3;
    const Batch batch = RandomBatch(arity, num_types, &random);
    ExpectMatchesDefinition(batch, arity, num_types);
  }
}

TEST(ScheduleTest, RejectsWhatTheBatchRejects) {
  EXPECT_EQ(Error(Batch().Add({{}, {0, 0, 0}}), 2),
            "children[0][1]: got 3 children but expected at most 2, the arity "
            "of the vertex function. Raise its arity, or give the vertex fewer "
            "children.");
}

TEST(ScheduleTest, RejectsCyclesAndNamesThem) {
  EXPECT_EQ(Error(Batch().Add({{}}).Add({{}, {0, 1}}), 2),
            "children[1][1][1]: got vertex 1 of graph 1 but expected a vertex "
            "that does not depend on vertex 1. Break the cycle 1 -> 1 (parent "
            "-> child, vertices counted within the graph).");
  // Vertex 0 leads into the cycle but is not on it.
  EXPECT_EQ(Error(Batch().Add({{}, {}}).Add({{1}, {3}, {1}, {-1, 2}}), 2),
            "children[1][2][0]: got vertex 1 of graph 1 but expected a vertex "
            "that does not depend on vertex 2. Break the cycle 1 -> 3 -> 2 -> "
            "1 (parent -> child, vertices counted within the graph).");
}

TEST(ScheduleTest, ShortensLongCycles) {
  Children ring = Chain(100);
  ring[0] = {99};
  const std::string error = Error(Batch().Add(ring), 1);
  EXPECT_NE(error.find("Break the cycle 0 -> 99 -> 98 -> 97 -> 96 -> 95 -> (92 "
                       "more) -> 2 -> 1 -> 0 (parent"),
            std::string::npos)
      << error;
}

TEST(ScheduleTest, SerialEvaluatesOneVertexATaskInTheOrderOfDepth) {
  Batch batch;
  batch.Add({{}, {0}, {0, 1}, {}}).Add({{}, {0}});
  batch.vertex_type = {1, 0, 0, 0, 1, 1};
  const Schedule schedule = Make(batch, 2, 2, "serial");
  EXPECT_EQ(schedule.order, (std::vector<int32_t>{3, 0, 4, 1, 5, 2}));
  EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(schedule.task_type, (std::vector<int32_t>{0, 1, 1, 0, 1, 0}));
}

TEST(ScheduleTest, RejectsAPolicyWithoutAName) {
  for (const char* name : {"", "Depth", "random"}) {
    Schedule schedule;
    const Status status = MakeSchedule(Batch().view(), 1, 1, name, &schedule);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              StrCat("policy: got '", name, "' but expected one of ",
                     PolicyNames(), ". Leave it out for 'depth'."));
  }
  EXPECT_EQ(PolicyNames().substr(0, 16), "'depth', 'ratio'");
}

class ValidateScheduleTest : public ::testing::Test {
 protected:
  // Rows 0 and 1 are leaves. Row 2 is their parent, alone in task 1.
  Schedule schedule_ = Make(Batch().Add({{}, {}, {0, 1}}), 2);

  std::string Error(int num_types = 1) const {
    return ValidateSchedule(schedule_.view(), num_types).message();
  }
};

TEST_F(ValidateScheduleTest, AcceptsWhatMakeScheduleMakes) {
  EXPECT_EQ(Error(), "");
}

TEST_F(ValidateScheduleTest, RejectsSizesThatDisagree) {
  schedule_.child_row.pop_back();
  EXPECT_EQ(Error(),
            "child_row: got 5 values but expected 6, one per slot and vertex "
            "(arity 2, 3 vertices). Schedule the graphs again.");
}

TEST_F(ValidateScheduleTest, RejectsNegativeArity) {
  schedule_.arity = -1;
  EXPECT_EQ(Error(),
            "arity: got -1 but expected at least 0. It is the number of slots "
            "that the vertex function gathers from.");
}

TEST_F(ValidateScheduleTest, RejectsBadTaskSplits) {
  const std::vector<int32_t> good = schedule_.task_splits;
  schedule_.task_splits = {0, 3};
  EXPECT_EQ(Error(),
            "task_splits: got 2 values but expected 3, one more than there are "
            "values in task_type. Schedule the graphs again.");
  schedule_.task_splits = {1, 2, 3};
  EXPECT_EQ(Error(),
            "task_splits[0]: got 1 but expected 0. Schedule the graphs again.");
  schedule_.task_splits = {0, 0, 3};
  EXPECT_EQ(Error(),
            "task_splits[1]: got 0 but expected more than task_splits[0] = 0. "
            "A task has at least one row.");
  schedule_.task_splits = {0, 2, 4};
  EXPECT_EQ(Error(),
            "task_splits[2]: got 4 but expected 3, the number of vertices in "
            "order. Schedule the graphs again.");
}

TEST_F(ValidateScheduleTest, RejectsAnOrderThatIsNoPermutation) {
  schedule_.order = {0, 3, 2};
  EXPECT_EQ(Error(),
            "order[1]: got 3 but expected a vertex in [0, 3). Schedule the "
            "graphs again.");
  schedule_.order = {0, 0, 2};
  EXPECT_EQ(Error(),
            "order[1]: got 0 but expected a vertex that stands in no earlier "
            "row. Each vertex is evaluated once.");
}

TEST_F(ValidateScheduleTest, RejectsATypeWithoutFunction) {
  schedule_.task_type = {0, 1};
  EXPECT_EQ(Error(2), "");
  EXPECT_EQ(Error(1),
            "task_type[1]: got 1 but expected a type with a vertex function, "
            "[0, 1). Add a vertex function for it, or correct the type.");
}

TEST_F(ValidateScheduleTest, RejectsAChildInTheTaskOfItsParentOrLater) {
  schedule_.child_row = {-1, -1, 0, -1, -1, 2};
  EXPECT_EQ(Error(),
            "child_row[1][2]: got 2 but expected -1 (no child) or a row before "
            "task 1, [0, 2). Children are evaluated first.");
  schedule_.child_row = {-1, 0, 0, -1, -1, 1};
  EXPECT_EQ(Error(),
            "child_row[0][1]: got 0 but expected -1 (no child) or a row before "
            "task 0, [0, 0). Children are evaluated first.");
  schedule_.child_row = {-1, -1, -2, -1, -1, 1};
  EXPECT_NE(Error(), "");
}

}  // namespace
}  // namespace cavs
