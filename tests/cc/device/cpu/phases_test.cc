#include "cc/device/cpu/phases.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cc/ir/passes/classify.h"
#include "cc/ir/passes/fuse_elementwise.h"
#include "cc/ir/passes/place.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using E = Elementwise;

// The phases of a program that is classified and in which nothing is read by an
// index.
StagePlan PhasesOf(const Sketch& f, Stage stage = Stage::kCritical) {
  CompiledProgram program(f.program);
  program.placement =
      Place(program, program.zeros, kCapabilities, /*views=*/false);
  return PlanPhases(program,
                    kCapabilities.column_grain)[static_cast<int>(stage)];
}

StagePlan Plan(Sketch* f, Stage stage = Stage::kCritical) {
  EXPECT_TRUE(Classify({}, &f->program).ok());
  return PhasesOf(*f, stage);
}

// The phases as text, with the numbers of their nodes: "rows(0 2) sums(1)".
std::string Text(const std::vector<Phase>& phases) {
  const char* const names[] = {"rows", "columns", "sums", "whole"};
  std::string text;
  for (const Phase& phase : phases) {
    text += text.empty() ? "" : " ";
    text += names[static_cast<int>(phase.division)];
    char separator = '(';
    for (int i : phase.nodes) {
      text += separator + std::to_string(i);
      separator = ' ';
    }
    text += ")";
  }
  return text;
}

TEST(PlanPhasesTest, ByRowsNoOneWaitsButForSumsAndForeignOperators) {
  Sketch f;
  const int h = f.Gather(0, 32);                      // 0
  const int y = f.MatMul(h, f.Capture(0, {32, 32}));  // 1
  f.Scatter(f.Call(E::kTanh, y));                     // 2 3
  EXPECT_EQ(Text(Plan(&f).by_rows), "rows(0 1 2 3)");

  Sketch g;
  const int x = g.Gather(0, 32);                                       // 0
  const int z = g.Foreign(nullptr, {g.Call(E::kNeg, x)}, g.Rows(32));  // 1 2
  g.Scatter(g.Call(E::kNeg, z));                                       // 3 4
  const StagePlan plan = Plan(&g);
  EXPECT_EQ(Text(plan.by_rows), "rows(0 1) whole(2) rows(3 4)");
  EXPECT_EQ(plan.unit, 0) << "a foreign operator has no columns to divide";
  EXPECT_TRUE(plan.by_columns.empty());
}

TEST(PlanPhasesTest, SumsWaitUntilAllElseOfTheStageIsThere) {
  Sketch f;
  const int dstate = f.ScatterGrad(32);           // 0
  const int sum = f.SumRows(dstate);              // 1
  const int y = f.Call(E::kNeg, dstate);          // 2
  f.PullGrad(0, y);                               // 3
  f.program.results = {sum, f.WeightGrad(y, y)};  // 4
  const StagePlan plan = Plan(&f, Stage::kLazy);
  EXPECT_EQ(Text(plan.by_rows), "rows(0 2 3) sums(1 4)");
  EXPECT_EQ(Text(plan.by_columns), "columns(0 2 3) sums(1 4)");
  EXPECT_EQ(Plan(&f, Stage::kCritical).by_rows.size(), 0u);
}

TEST(PlanPhasesTest, ByColumnsWorkersWaitBeforeEachProductOfFreshRows) {
  Sketch f;
  const int h = f.Gather(0, 32), g = f.Gather(1, 32);  // 0 1
  const int w = f.Capture(0, {32, 32});
  const int y = f.Call(E::kTanh, f.MatMul(h, w));  // 2 3
  const int z = f.MatMul(g, w);                    // 4
  const int sum = f.Call(E::kAdd, y, z);           // 5
  const int u = f.MatMul(sum, w);                  // 6
  f.Scatter(u);                                    // 7
  const StagePlan plan = Plan(&f);
  EXPECT_EQ(plan.unit, 32);
  EXPECT_EQ(Text(plan.by_columns),
            "columns(0 1) columns(2 3 4 5) columns(6 7)");
}

TEST(PlanPhasesTest, AViewOfFreshRowsIsFreshToo) {
  Sketch f;
  const int h = f.Gather(0, 64), x = f.Gather(1, 64);                 // 0 1
  const int y = f.Call(E::kTanh, h);                                  // 2
  const int z = f.MatMul(f.View(y, 32, 32), f.Capture(0, {32, 64}));  // 3
  f.Scatter(f.Call(E::kMul, z, f.View(z, 5, 1)));                     // 4 5
  f.Push(0, x);
  const StagePlan plan = Plan(&f);
  EXPECT_EQ(plan.unit, 64);
  EXPECT_EQ(Text(plan.by_columns), "columns(0 2) columns(3) columns(4 5)");
}

TEST(PlanPhasesTest, RowsOfWhichAViewIsFreshAreFresh) {
  Sketch f;
  const int h = f.Gather(0, 64);                        // 0
  const int y = f.Call(E::kTanh, h);                    // 1
  const int whole = f.Concat({y, f.Call(E::kNeg, h)});  // 2
  f.Scatter(f.MatMul(whole, f.Capture(0, {128, 64})));  // 3 4
  EXPECT_EQ(Text(Plan(&f).by_columns), "columns(0 1 2) columns(3 4)");
}

TEST(PlanPhasesTest, AViewThatBeginsBetweenUnitsIsComputedWhole) {
  Sketch f;
  const int h = f.Gather(0, 256);                       // 0
  const int y = f.Call(E::kTanh, f.View(h, 128, 128));  // 1
  const int z = f.Call(E::kTanh, f.View(h, 64, 128));   // 2
  f.Scatter(f.Concat({y, f.Call(E::kNeg, z)}));         // 3 4
  const StagePlan plan = Plan(&f);
  EXPECT_EQ(plan.unit, 128);
  EXPECT_EQ(Text(plan.by_columns), "columns(0 1) whole(2) columns(3 4)");
}

TEST(PlanPhasesTest, OperatorsThatShiftOrSumColumnsAreComputedWhole) {
  Sketch f;
  const int h = f.Gather(0, 64);                           // 0
  const int y = f.Call(E::kTanh, h);                       // 1
  const int sum = f.SumColumns(y);                         // 2
  const int shifted = f.Call(E::kNeg, f.View(y, 16, 32));  // 3: not aligned
  const int z = f.Call(E::kMul, y, sum);                   // 4
  f.Scatter(z);                                            // 5
  f.GatherGrad(0, f.Concat({shifted, shifted}));           // 6 7
  const StagePlan plan = Plan(&f);
  EXPECT_EQ(plan.unit, 64);
  EXPECT_EQ(Text(plan.by_columns),
            "columns(0 1) whole(2 3) columns(4 5) whole(6) columns(7)");
}

TEST(PlanPhasesTest, OneColumnThatIsMovedHasNoColumnsToDivide) {
  ClassifyOptions by_task;
  by_task.eager = by_task.lazy = false;
  const auto plan = [&](Sketch* f) {
    EXPECT_TRUE(Classify(by_task, &f->program).ok());
    return PhasesOf(*f);
  };
  Sketch f;
  const int h = f.Gather(0, 64), x = f.Pull(0, 1);  // 0 1
  f.Scatter(f.Call(E::kMul, h, x));                 // 2 3
  f.Push(0, f.View(h, 0, 1));                       // 4
  f.Push(1, h);                                     // 5
  f.Push(2, x);                                     // 6
  EXPECT_EQ(Text(plan(&f).by_columns),
            "columns(0) whole(1) columns(2 3) whole(4) columns(5) whole(6)");

  Sketch g;
  const int dstate = g.ScatterGrad(64), dy = g.PushGrad(0, 1);  // 0 1
  g.GatherGrad(0, g.Call(E::kMul, dstate, dy));                 // 2 3
  g.PullGrad(0, dy);                                            // 4
  g.PullGrad(1, g.View(dstate, 63, 1));                         // 5
  EXPECT_EQ(Text(plan(&g).by_columns),
            "columns(0) whole(1) columns(2 3) whole(4 5)");
}

TEST(PlanPhasesTest, TheUnitIsTheWidthOfMostElementwiseWork) {
  const auto unit = [](int64_t wide, int64_t narrow) {
    Sketch f;
    const int h = f.Gather(0, wide), w = f.Capture(0, {wide, narrow});
    const int gate = f.MatMul(h, w);
    f.GatherGrad(0, f.Call(E::kNeg, h));
    f.GatherGrad(1, f.Call(E::kAbs, f.Call(E::kTanh, gate)));
    return Plan(&f).unit;
  };
  EXPECT_EQ(unit(256, 64), 64);
  EXPECT_EQ(unit(64, 48), 48);
  EXPECT_EQ(unit(64, 16), 64) << "too narrow to divide";
  EXPECT_EQ(unit(64, 40), 64) << "no multiple of a vector";
  EXPECT_EQ(unit(40, 16), 0);
}

TEST(PlanPhasesTest, TheStepsOfAGroupAreItsWork) {
  Sketch f;
  const int h = f.Gather(0, 32), g = f.Gather(1, 64);
  f.GatherGrad(0, f.Call(E::kTanh, f.Call(E::kNeg, f.Call(E::kAbs, g))));
  f.GatherGrad(1, f.Call(E::kTanh, f.Call(E::kNeg, h)));
  ASSERT_TRUE(Classify({}, &f.program).ok());
  FuseElementwise(&f.program);
  EXPECT_EQ(PhasesOf(f).unit, 64);
}

TEST(PlanPhasesTest, AGroupThatNoNodeReadsIsDividedByItsWidthToo) {
  Sketch f;
  const int h = f.Gather(0, 32);  // 0
  f.Call(E::kNeg, f.Call(E::kMul, f.View(h, 3, 1), f.Capture(0, {5})));
  f.Scatter(h);
  ASSERT_TRUE(Classify({}, &f.program).ok());
  for (Node& node : f.program.nodes) node.stage = Stage::kCritical;
  f.MatMul(h, f.Capture(1, {32, 32}));
  FuseElementwise(&f.program);
  const StagePlan plan = PhasesOf(f);
  ASSERT_EQ(plan.unit, 32);
  int groups = 0;
  for (const Phase& phase : plan.by_columns) {
    for (int i : phase.nodes) {
      if (f.program.nodes[i].kind == NodeKind::kGroup) {
        EXPECT_EQ(phase.division, Division::kWhole);
        ++groups;
      }
    }
  }
  EXPECT_EQ(groups, 1);
}

TEST(PlanPhasesTest, CostGrowsWithTheWork) {
  const auto cost = [](int64_t columns) {
    Sketch f;
    const int h = f.Gather(0, columns);
    f.Scatter(f.Call(E::kTanh, f.MatMul(h, f.Capture(0, {columns, columns}))));
    return Plan(&f).cost;
  };
  EXPECT_GT(cost(32).per_row, 0);
  EXPECT_GT(cost(64).per_row, 2 * cost(32).per_row);
  EXPECT_EQ(cost(32).per_edge, 0);
  // Ten tasks of one row read the weights ten times.
  EXPECT_GT(Nanos(cost(64), {10, 0, 10}), 4 * Nanos(cost(64), {10, 0, 1}));
}

TEST(PlanPhasesTest, ProductsOfFewColumnsCostAsMuchAsThoseOfAVector) {
  // Output layers of classifiers: 5 columns take as long as 16.
  const auto cost = [](int64_t columns) {
    Sketch f;
    const int grad = f.Gather(0, columns), h = f.Gather(1, 64);
    f.WeightGrad(h, grad);
    f.Push(0, f.MatMul(h, f.Capture(0, {64, columns})));
    return Plan(&f, Stage::kLazy).cost.per_row;
  };
  EXPECT_GT(cost(5), cost(16) * 3 / 4);
  EXPECT_LT(cost(16), cost(32) * 3 / 4);
}

}  // namespace
}  // namespace cavs
