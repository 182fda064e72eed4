#include "cc/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

using Integers = std::vector<int32_t>;

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

// Edges are the children that there are, however many, in their order.
TEST(ScheduleTest, EdgesFollowTheirVerticesInExecutionOrder) {
  std::mt19937 random(23);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    const int num_types = 1 + round % 3;
    const Batch batch = RandomBatch(4, num_types, &random);
    ScheduleOptions options;
    options.edges = true;
    if (round % 5 == 0) options.micro_batch = 2;
    const Schedule schedule = Make(batch, 1, num_types, options);
    const ScheduleView view = schedule.view();
    ASSERT_TRUE(ValidateSchedule(view, num_types).ok());
    // By vertex, its children, and the numbers of the edges to these.
    std::vector<Integers> children(batch.num_vertices()), numbers = children;
    int32_t number = 0;
    for (int32_t v = 0; v < batch.num_vertices(); ++v) {
      for (int k = 0; k < 4; ++k) {
        if (batch.child(v, k) < 0) continue;
        children[v].push_back(batch.child(v, k));
        numbers[v].push_back(number++);
      }
    }
    ASSERT_EQ(view.num_edges(), number);
    for (int64_t row = 0; row < view.num_vertices(); ++row) {
      const int32_t v = view.order[row];
      Integers of_row;
      for (int32_t child : view.edges_of(row)) {
        of_row.push_back(view.order[child]);
      }
      EXPECT_EQ(of_row, children[v]);
      EXPECT_EQ(Integers(view.edge_number.data() + view.edge_splits[row],
                         view.edge_number.data() + view.edge_splits[row + 1]),
                numbers[v]);
    }
  }
}

TEST(ScheduleTest, OnlyEdgesLeadToMoreChildrenThanThereAreSlots) {
  const Batch star = Batch().Add({{}, {}, {}, {0, 1, 2}});
  Schedule schedule;
  EXPECT_FALSE(MakeSchedule(star.view(), 2, 1, {}, &schedule).ok());
  ScheduleOptions options;
  options.edges = true;
  ASSERT_TRUE(MakeSchedule(star.view(), 2, 1, options, &schedule).ok());
  EXPECT_EQ(schedule.edge_child, (Integers{0, 1, 2}));
  EXPECT_EQ(schedule.child_row, (Integers{-1, -1, -1, 0, -1, -1, -1, 1}));
  // Those of an earlier schedule are not left behind.
  ASSERT_TRUE(MakeSchedule(Batch().Add({{}}).view(), 2, 1, {}, &schedule).ok());
  EXPECT_FALSE(schedule.view().has_edges());
  EXPECT_EQ(schedule.view().num_edges(), 0);
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
            "-> child, vertices counted within the graph), or make rounds of "
            "message passing of the graph: GraphBatch.from_rounds, or "
            "data.batch(..., rounds=...).");
  // Vertex 0 leads into the cycle but is not on it.
  EXPECT_EQ(Error(Batch().Add({{}, {}}).Add({{1}, {3}, {1}, {-1, 2}}), 2),
            "children[1][2][0]: got vertex 1 of graph 1 but expected a vertex "
            "that does not depend on vertex 2. Break the cycle 1 -> 3 -> 2 -> "
            "1 (parent -> child, vertices counted within the graph), or make "
            "rounds of message passing of the graph: GraphBatch.from_rounds, "
            "or data.batch(..., rounds=...).");
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

// The same with edges.
class ValidateEdgesTest : public ValidateScheduleTest {
 protected:
  ValidateEdgesTest() {
    ScheduleOptions options;
    options.edges = true;
    schedule_ = Make(Batch().Add({{}, {}, {0, 1, 0}}), 2, 1, options);
  }
};

TEST_F(ValidateEdgesTest, AcceptsWhatMakeScheduleMakes) {
  EXPECT_EQ(Error(), "");
}

TEST_F(ValidateEdgesTest, RejectsSizesThatDisagree) {
  const std::string tail =
      " but expected a value more than there are vertices, from 0 to the "
      "number of edges, and as many children as numbers. Schedule the graphs "
      "again.";
  schedule_.edge_splits = {0, 0, 3};
  EXPECT_EQ(Error(),
            "edge_splits: got 3 values for 3 vertices, 3 children and 3 "
            "numbers of edges" +
                tail);
  schedule_.edge_splits = {0, 0, 0, 2};
  EXPECT_EQ(Error(),
            "edge_splits: got 4 values for 3 vertices, 3 children and 3 "
            "numbers of edges" +
                tail);
  schedule_.edge_splits = {0, 0, 0, 3};
  EXPECT_EQ(Error(), "");
  schedule_.edge_number.pop_back();
  EXPECT_EQ(Error(),
            "edge_splits: got 4 values for 3 vertices, 3 children and 2 "
            "numbers of edges" +
                tail);
}

TEST_F(ValidateEdgesTest, RejectsSplitsThatGoBackOrBeyond) {
  schedule_.edge_splits = {0, 0, -1, 3};
  EXPECT_EQ(Error(),
            "edge_splits[2]: got -1 but expected a number in [0, 3]. Schedule "
            "the graphs again.");
  schedule_.edge_splits = {0, 0, 4, 3};
  EXPECT_EQ(Error(),
            "edge_splits[2]: got 4 but expected a number in [0, 3]. Schedule "
            "the graphs again.");
}

TEST_F(ValidateEdgesTest, RejectsAChildInTheTaskOfItsParentOrLater) {
  for (int32_t child : {2, -1, 7}) {
    schedule_.edge_child = {0, child, 0};
    EXPECT_EQ(Error(), StrCat("edge_child[1]: got ", child,
                              " but expected a row before task 1, [0, 2). "
                              "Children are evaluated first."));
  }
  schedule_.edge_child = {0, 1, 0};
  schedule_.edge_splits = {0, 1, 1, 3};
  EXPECT_EQ(Error(),
            "edge_child[0]: got 0 but expected a row before task 0, [0, 0). "
            "Children are evaluated first.");
}

TEST_F(ValidateEdgesTest, RejectsNumbersThatAreNoPermutation) {
  for (const auto& numbers :
       {Integers{0, 3, 2}, Integers{0, -1, 2}, Integers{0, 0, 2}}) {
    schedule_.edge_number = numbers;
    EXPECT_EQ(Error(), StrCat("edge_number[1]: got ", numbers[1],
                              " but expected a number in [0, 3) that no "
                              "earlier edge has. Schedule the graphs again."));
  }
}

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
