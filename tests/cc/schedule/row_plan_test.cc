#include "cc/schedule/row_plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cc/schedule/schedule.h"
#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

TEST(RowPlanTest, TasksThatLackSomethingMayHaveAProgramOfTheirOwn) {
  const Schedule schedule = FourVertices();
  ProgramTable programs = OneProgramPerType(2);
  programs[0][kChildless] = 2;
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
  const Schedule schedule = FourVertices();
  const RowPlan rows(schedule.view(), 2);
  ASSERT_EQ(rows.num_types(), 2);
  EXPECT_EQ(rows.program(0), 0);
  EXPECT_EQ(rows.type(0).size(), 3);
}

}  // namespace
}  // namespace cavs
