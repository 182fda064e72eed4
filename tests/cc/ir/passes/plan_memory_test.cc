#include "cc/ir/passes/plan_memory.h"

#include <gtest/gtest.h>

#include "cc/ir/passes/classify.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

void Plan(Program* program) {
  ASSERT_TRUE(Classify({}, program).ok());
  PlanMemory(program);
}

TEST(PlanMemoryTest, RowsOfCriticalOperatorsAloneAreReused) {
  Sketch f;
  const int h = f.Gather(0, 4);
  const int x = f.Pull(0, 4);
  const int sum = f.Call(Elementwise::kAdd, h, x);
  const int y = f.Call(Elementwise::kTanh, sum);
  f.Scatter(y);
  f.Push(0, y);
  Plan(&f.program);
  EXPECT_EQ(f.program.symbols[h].lifetime, Lifetime::kTask);
  EXPECT_EQ(f.program.symbols[sum].lifetime, Lifetime::kTask);
  EXPECT_NE(f.program.symbols[x].lifetime, Lifetime::kTask)
      << "an eager operator writes it";
  EXPECT_NE(f.program.symbols[y].lifetime, Lifetime::kTask)
      << "a lazy operator reads it";
}

TEST(PlanMemoryTest, WhatGoesOnTheTapeIsKept) {
  Sketch f;
  const int h = f.Gather(0, 4);
  const int y = f.Call(Elementwise::kTanh, h);
  f.Scatter(y);
  f.program.results = {y};
  Plan(&f.program);
  EXPECT_EQ(f.program.symbols[h].lifetime, Lifetime::kTask);
  EXPECT_NE(f.program.symbols[y].lifetime, Lifetime::kTask);
}

TEST(PlanMemoryTest, AViewKeepsTheWholeItIsAPieceOf) {
  Sketch f;
  const int on_tape = f.Gather(0, 4);
  const int pushed = f.Gather(1, 4);
  const int neither = f.Gather(2, 4);
  const int piece = f.View(f.View(on_tape, 1, 3), 1, 1);
  f.Scatter(f.Concat({f.Call(Elementwise::kNeg, f.View(on_tape, 0, 1)),
                      f.Call(Elementwise::kNeg, f.View(pushed, 0, 1)),
                      f.Call(Elementwise::kNeg, f.View(neither, 0, 2))}));
  f.Push(0, f.View(pushed, 2, 2));
  f.program.results = {piece};
  Plan(&f.program);
  EXPECT_NE(f.program.symbols[on_tape].lifetime, Lifetime::kTask);
  EXPECT_NE(f.program.symbols[pushed].lifetime, Lifetime::kTask);
  EXPECT_EQ(f.program.symbols[neither].lifetime, Lifetime::kTask);
}

TEST(PlanMemoryTest, AnEagerPieceKeepsTheWhole) {
  Sketch f;
  const int x = f.Pull(0, 4), h = f.Gather(0, 4);
  const int whole = f.Concat({x, h});
  f.Scatter(whole);
  Plan(&f.program);
  EXPECT_NE(f.program.symbols[whole].lifetime, Lifetime::kTask);
}

TEST(PlanMemoryTest, RowsOfOneOtherStageAreForgottenPieceByPiece) {
  Sketch f;
  const int x = f.Pull(0, 4);
  const int eager = f.Call(Elementwise::kNeg, x);
  const int both = f.Call(Elementwise::kTanh, eager);
  const int y = f.Call(Elementwise::kAdd, both, f.Gather(0, 4));
  f.Scatter(y);
  const int lazy = f.Call(Elementwise::kTanh, f.Call(Elementwise::kNeg, y));
  f.Push(0, lazy);
  Plan(&f.program);
  for (int id : {x, eager, lazy}) {
    EXPECT_EQ(f.program.symbols[id].lifetime, Lifetime::kPiece) << id;
  }
  for (int id : {both, y}) {
    EXPECT_EQ(f.program.symbols[id].lifetime, Lifetime::kChunk) << id;
  }
}

// What the epilogue makes of sums is no sum over rows itself.
TEST(PlanMemoryTest, SumsOfBFloat16AreRoundedLast) {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Sketch f(dtype);
    const int sum = f.SumRows(f.ScatterGrad(4));
    const int twice = f.Node(NodeKind::kForeign, {sum}, f.Sum({4}));
    f.program.results = {twice};
    Plan(&f.program);
    EXPECT_EQ(f.program.symbols[sum].rounded_last, dtype == DType::kBFloat16);
    EXPECT_FALSE(f.program.symbols[twice].rounded_last);
  }
}

TEST(PlanMemoryTest, OnlyRootsThatNodesWriteAreReused) {
  Sketch f;
  const int capture = f.Capture(0, {4});
  const int dstate = f.ScatterGrad(4);
  const int view = f.View(dstate, 0, 4);
  const int saved = f.Saved(0, 4);
  const int dh = f.Call(Elementwise::kMul, view, saved);
  f.GatherGrad(0, f.Call(Elementwise::kMul, dh, capture));
  const int sum = f.SumRows(dh);
  f.program.nodes.back().stage = Stage::kCritical;
  f.program.results = {sum};
  ClassifyOptions options;
  options.lazy = false;
  ASSERT_TRUE(Classify(options, &f.program).ok());
  PlanMemory(&f.program);
  EXPECT_EQ(f.program.symbols[dstate].lifetime, Lifetime::kTask);
  EXPECT_EQ(f.program.symbols[dh].lifetime, Lifetime::kTask);
  for (int id : {capture, view, saved, sum}) {
    EXPECT_NE(f.program.symbols[id].lifetime, Lifetime::kTask) << id;
  }
}

TEST(PlanMemoryTest, PlansAgainAfterAnotherClassification) {
  Sketch f;
  const int x = f.Pull(0, 4);
  f.Scatter(f.Call(Elementwise::kAdd, x, f.Gather(0, 4)));
  Plan(&f.program);
  EXPECT_NE(f.program.symbols[x].lifetime, Lifetime::kTask);
  ClassifyOptions options;
  options.eager = false;
  ASSERT_TRUE(Classify(options, &f.program).ok());
  PlanMemory(&f.program);
  EXPECT_EQ(f.program.symbols[x].lifetime, Lifetime::kTask);
}

}  // namespace
}  // namespace cavs
