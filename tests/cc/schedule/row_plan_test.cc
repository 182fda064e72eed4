#include "cc/schedule/row_plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cc/schedule/schedule.h"

namespace cavs {
namespace {

// Tasks {0, 1} and {2} of type 0, {3} of type 1; 2 and 3 have children.
Schedule TwoTypes() {
  Schedule schedule;
  schedule.order = {0, 1, 2, 3};
  schedule.task_splits = {0, 2, 3, 4};
  schedule.task_type = {0, 0, 1};
  schedule.arity = 1;
  schedule.child_row = {-1, -1, 0, 1};
  return schedule;
}

TEST(RowPlanTest, TasksThatLackSomethingMayHaveAProgramOfTheirOwn) {
  const Schedule schedule = TwoTypes();
  ProgramTable programs = OneProgramPerType(2);
  programs[kChildless] = {2, 1};
  const RowPlan rows(schedule.view(), TraitsOfTasks(schedule.view(), {}),
                     programs);
  ASSERT_EQ(rows.num_types(), 3);
  EXPECT_EQ(rows.program(0), 2);
  EXPECT_EQ(rows.program(1), 0);
  EXPECT_EQ(rows.program(2), 1);
  EXPECT_EQ(rows.type(0).size(), 1);
  EXPECT_EQ(rows.type(0).state_row()[0], 2);
  EXPECT_EQ(rows.type(2).size(), 2);
  EXPECT_EQ(rows.type(2).vertex()[1], 1);
}

TEST(RowPlanTest, WithoutSuchProgramsThereIsOnePerType) {
  const Schedule schedule = TwoTypes();
  const RowPlan rows(schedule.view(), 2);
  ASSERT_EQ(rows.num_types(), 2);
  EXPECT_EQ(rows.program(0), 0);
  EXPECT_EQ(rows.type(0).size(), 3);
}

}  // namespace
}  // namespace cavs
