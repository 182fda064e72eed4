#include "cc/schedule/traits.h"

#include <gtest/gtest.h>

#include <vector>

#include "cc/schedule/schedule.h"
#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

RowMap Rows(std::vector<int32_t> row_of_vertex) {
  RowMap map;
  map.row_of_vertex = std::move(row_of_vertex);
  return map;
}

std::vector<int> Find(const std::vector<const RowMap*>& partial) {
  const Schedule schedule = FourVertices();
  return TraitsOfTasks(schedule.view(), partial);
}

TEST(TraitsTest, ATaskIsChildlessIfNoVertexHasAChild) {
  EXPECT_EQ(Find({}),
            (std::vector<int>{kChildless, kAllChildren, kAllChildren}));
}

TEST(TraitsTest, ATaskIsWithoutInputsIfNoVertexHasARowOfAny) {
  const RowMap leaves = Rows({0, 1, -1, -1}), one = Rows({-1, 0, -1, 1});
  EXPECT_EQ(Find({&leaves}),
            (std::vector<int>{kChildless, kWithoutInputs + kAllChildren,
                              kWithoutInputs + kAllChildren}));
  EXPECT_EQ(Find({&leaves, &one}),
            (std::vector<int>{kChildless, kWithoutInputs + kAllChildren,
                              kAllChildren}));
  const RowMap none = Rows({-1, -1, -1, -1});
  EXPECT_EQ(Find({&none})[0], kChildless | kWithoutInputs);
}

TEST(TraitsTest, ATaskHasAllChildrenIfNoSlotOfItsVerticesIsEmpty) {
  Schedule schedule;
  schedule.order = {0, 1, 2, 3, 4};
  schedule.task_splits = {0, 1, 2, 4, 5};
  schedule.task_type = {0, 0, 0, 0};
  schedule.arity = 2;
  // By slot: the last vertex has one child, the two before have both.
  schedule.child_row = {-1, -1, 0, 1, -1,  //
                        -1, -1, 1, 0, 2};
  EXPECT_EQ(TraitsOfTasks(schedule.view(), {}),
            (std::vector<int>{kChildless, kChildless, kAllChildren, 0}));
  schedule.arity = 0;
  schedule.child_row = {};
  EXPECT_EQ(TraitsOfTasks(schedule.view(), {})[2], kChildless);
}

TEST(TraitsTest, AnInputThatEveryVertexHasIsNotMissing) {
  const RowMap all;
  EXPECT_EQ(Find({&all}),
            (std::vector<int>{kChildless, kAllChildren, kAllChildren}));
}

TEST(TraitsTest, CountsTasksAndRowsByTypeAndTraits) {
  const Schedule schedule = FourVertices();
  const TaskCounts counts = CountTasks(schedule.view(), Find({}), 2);
  EXPECT_EQ(counts[0][kChildless].rows, 2);
  EXPECT_EQ(counts[0][kChildless].tasks, 1);
  EXPECT_EQ(counts[1][kChildless].rows, 0);
  EXPECT_EQ(counts[1][kAllChildren].rows, 1);
}

}  // namespace
}  // namespace cavs
