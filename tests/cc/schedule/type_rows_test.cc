#include "cc/schedule/type_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "cc/schedule/schedule.h"

namespace cavs {
namespace {

std::vector<int32_t> ToVector(Span<int32_t> span) {
  return {span.begin(), span.end()};
}

using Integers = std::vector<int32_t>;

// Tasks {7, 2, 5} of type 0, {0} of type 1, {3} of type 0, {1, 4, 6} of type 1.
Schedule TwoTypes() {
  Schedule schedule;
  schedule.order = {7, 2, 5, 0, 3, 1, 4, 6};
  schedule.task_splits = {0, 3, 4, 5, 8};
  schedule.task_type = {0, 1, 0, 1};
  schedule.arity = 2;
  schedule.child_row = {-1, -1, -1, 0, 3,  1, 4, -1,  //
                        -1, -1, -1, 2, -1, 4, 4, 3};
  return schedule;
}

// One program per type.
TypeRows RowsOf(const Schedule& schedule, int type) {
  const std::vector<int> traits(schedule.task_type.size());
  return TypeRows(schedule.view(), schedule.task_type, traits, type);
}

TEST(TypeRowsTest, NumbersTheVerticesOfItsTypeInExecutionOrder) {
  const Schedule schedule = TwoTypes();
  const TypeRows first = RowsOf(schedule, 0), second = RowsOf(schedule, 1);
  EXPECT_EQ(first.size(), 4);
  EXPECT_EQ(ToVector(first.vertex()), (Integers{7, 2, 5, 3}));
  EXPECT_EQ(second.size(), 4);
  EXPECT_EQ(ToVector(second.vertex()), (Integers{0, 1, 4, 6}));
}

TEST(TypeRowsTest, StateRowsCountTheWholeMinibatch) {
  const Schedule schedule = TwoTypes();
  const TypeRows first = RowsOf(schedule, 0), second = RowsOf(schedule, 1);
  EXPECT_EQ(ToVector(first.state_row()), (Integers{0, 1, 2, 4}));
  EXPECT_EQ(ToVector(second.state_row()), (Integers{3, 5, 6, 7}));
}

TEST(TypeRowsTest, ChildRowsOfEverySlotAreStateRowsOfAnyType) {
  const Schedule schedule = TwoTypes();
  const TypeRows first = RowsOf(schedule, 0), second = RowsOf(schedule, 1);
  EXPECT_EQ(ToVector(first.child_row(0)), (Integers{-1, -1, -1, 3}));
  EXPECT_EQ(ToVector(first.child_row(1)), (Integers{-1, -1, -1, -1}));
  EXPECT_EQ(ToVector(second.child_row(0)), (Integers{0, 1, 4, -1}));
  EXPECT_EQ(ToVector(second.child_row(1)), (Integers{2, 4, 4, 3}));
}

TEST(TypeRowsTest, FirstRowOfATaskCountsEarlierTasksOfItsTypeOnly) {
  const Schedule schedule = TwoTypes();
  const TypeRows first = RowsOf(schedule, 0), second = RowsOf(schedule, 1);
  EXPECT_EQ(first.first_row(0), 0);
  EXPECT_EQ(first.first_row(2), 3);
  EXPECT_EQ(second.first_row(1), 0);
  EXPECT_EQ(second.first_row(3), 1);
}

TEST(TypeRowsTest, LargestTaskIsThatOfItsTypeWhereverItStands) {
  Schedule schedule = TwoTypes();
  EXPECT_EQ(RowsOf(schedule, 0).largest_task(), 3);
  EXPECT_EQ(RowsOf(schedule, 1).largest_task(), 3);
  schedule.task_type = {0, 1, 0, 0};
  EXPECT_EQ(RowsOf(schedule, 1).largest_task(), 1);
}

TEST(TypeRowsTest, ASingleTypeIsTheScheduleItself) {
  Schedule schedule = TwoTypes();
  schedule.task_type = {0, 0, 0, 0};
  const TypeRows rows = RowsOf(schedule, 0);
  EXPECT_EQ(rows.vertex().data(), schedule.order.data());
  EXPECT_EQ(rows.child_row(0).data(), schedule.child_row.data());
  EXPECT_EQ(rows.child_row(1).data(), schedule.child_row.data() + 8);
  EXPECT_EQ(ToVector(rows.state_row()), (Integers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(rows.first_row(3), 5);
  EXPECT_EQ(rows.largest_task(), 3);
}

TEST(TypeRowsTest, ATypeWithoutVerticesHasNoRows) {
  const Schedule schedule = TwoTypes();
  const TypeRows rows = RowsOf(schedule, 2);
  EXPECT_EQ(rows.size(), 0);
  EXPECT_EQ(rows.largest_task(), 0);
  EXPECT_TRUE(rows.child_row(1).empty());
}

TEST(TypeRowsTest, AnEmptyMinibatchHasNoRows) {
  Schedule schedule;
  schedule.task_splits = {0};
  schedule.arity = 3;
  const TypeRows rows = RowsOf(schedule, 0);
  EXPECT_EQ(rows.size(), 0);
  EXPECT_EQ(rows.largest_task(), 0);
  EXPECT_TRUE(rows.state_row().empty());
}

TEST(TypeRowsTest, StaysValidWhenItMoves) {
  const Schedule schedule = TwoTypes();
  std::vector<TypeRows> rows;
  rows.push_back(RowsOf(schedule, 0));
  const std::vector<TypeRows> moved = std::move(rows);
  const TypeRows again = RowsOf(schedule, 1);
  EXPECT_EQ(ToVector(moved[0].vertex()), (Integers{7, 2, 5, 3}));
  EXPECT_EQ(ToVector(again.child_row(1)), (Integers{2, 4, 4, 3}));
}

}  // namespace
}  // namespace cavs
