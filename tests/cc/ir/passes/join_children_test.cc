#include "cc/ir/passes/join_children.h"

#include <gtest/gtest.h>

#include "cc/ir/passes/classify.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

const JoinedChildren& Join(Sketch* f, int id) {
  EXPECT_TRUE(Classify({}, &f->program).ok());
  JoinChildren(Zeros(f->program), &f->program);
  return f->program.symbols[id].joined;
}

TEST(JoinChildrenTest, GathersSideBySideAreTheRowsOfAdjacentChildren) {
  Sketch f;
  const int both = f.Concat({f.Gather(0, 4), f.Gather(1, 4)});
  f.Scatter(f.MatMul(both, f.Capture(0, {8, 4})));
  EXPECT_EQ(Join(&f, both).slots, 2);
  EXPECT_FALSE(Join(&f, both).are_sent_back);
  EXPECT_TRUE(Join(&f, both).by_task);
}

TEST(JoinChildrenTest, InAnotherOrderTheyAreNot) {
  Sketch f;
  const int both = f.Concat({f.Gather(1, 4), f.Gather(0, 4)});
  f.Scatter(f.MatMul(both, f.Capture(0, {8, 4})));
  EXPECT_EQ(Join(&f, both).slots, 0);
}

TEST(JoinChildrenTest, WithSomethingElseBesideThemTheyAreNot) {
  Sketch f;
  const int all = f.Concat({f.Gather(0, 4), f.Gather(1, 4), f.Pull(0, 4)});
  f.Scatter(f.MatMul(all, f.Capture(0, {12, 4})));
  EXPECT_EQ(Join(&f, all).slots, 0);
}

TEST(JoinChildrenTest, OneGatherIsReadByItsIndex) {
  Sketch f;
  const int h = f.Gather(0, 4);
  f.Scatter(f.MatMul(h, f.Capture(0, {4, 4})));
  EXPECT_EQ(Join(&f, h).slots, 0);
}

TEST(JoinChildrenTest, WhatIsSplitAndSentBackIsComputedThere) {
  Sketch f;
  const int both = f.MatMul(f.ScatterGrad(4), f.Capture(0, {8, 4}), true);
  f.GatherGrad(0, f.View(both, 0, 4));
  f.GatherGrad(1, f.View(both, 4, 4));
  EXPECT_EQ(Join(&f, both).slots, 2);
  EXPECT_TRUE(Join(&f, both).are_sent_back);
}

TEST(JoinChildrenTest, WhatIsReadElsewhereTooIsNot) {
  Sketch f;
  const int one = f.MatMul(f.ScatterGrad(4), f.Capture(0, {4, 4}), true);
  f.GatherGrad(0, one);
  f.PullGrad(0, one);
  EXPECT_EQ(Join(&f, one).slots, 0);
}

TEST(JoinChildrenTest, WhatGoesOnAsItIsHasRowsOfItsOwn) {
  Sketch f;
  const int both = f.Concat({f.Gather(0, 4), f.Gather(1, 4)});
  f.Scatter(f.MatMul(both, f.Capture(0, {8, 4})));
  f.Push(0, both);
  EXPECT_EQ(Join(&f, both).slots, 0);
  Sketch g;
  const int grad = g.ScatterGrad(4);
  g.GatherGrad(0, grad);
  EXPECT_EQ(Join(&g, grad).slots, 0);
}

TEST(JoinChildrenTest, WhatTheTapeHoldsIsReadOverSeveralTasks) {
  Sketch f;
  const int both = f.Concat({f.Gather(0, 4), f.Gather(1, 4)});
  f.Scatter(f.MatMul(both, f.Capture(0, {8, 4})));
  f.program.results = {both};
  EXPECT_EQ(Join(&f, both).slots, 2);
  EXPECT_FALSE(Join(&f, both).by_task);
}

}  // namespace
}  // namespace cavs
