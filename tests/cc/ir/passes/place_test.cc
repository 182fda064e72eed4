#include "cc/ir/passes/place.h"

#include <gtest/gtest.h>

#include "cc/ir/passes/classify.h"
#include "cc/ir/passes/fuse_elementwise.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

Placement PlacementOf(const Sketch& f) {
  return Place(f.program, Zeros(f.program), kCapabilities, /*views=*/true);
}

Placement Placed(Sketch* f) {
  EXPECT_TRUE(Classify({}, &f->program).ok());
  return PlacementOf(*f);
}

Placement PlacedAfterFusion(Sketch* f) {
  EXPECT_TRUE(Classify({}, &f->program).ok());
  FuseElementwise(&f->program);
  return PlacementOf(*f);
}

TEST(PlaceTest, RowsOfCriticalOperatorsAloneAreReused) {
  Sketch f;
  const int h = f.Gather(0, 4);
  const int x = f.Pull(0, 4);
  const int sum = f.Call(Elementwise::kAdd, h, x);
  const int y = f.Call(Elementwise::kTanh, sum);
  f.Scatter(y);
  f.Push(0, y);
  const Placement place = Placed(&f);
  EXPECT_EQ(place.candidates[h].extent, Extent::kTask);
  EXPECT_EQ(place.candidates[sum].extent, Extent::kTask);
  EXPECT_NE(place.candidates[x].extent, Extent::kTask)
      << "an eager operator writes it";
  EXPECT_NE(place.candidates[y].extent, Extent::kTask)
      << "a lazy operator reads it";
}

TEST(PlaceTest, WhatGoesOnTheTapeIsKept) {
  Sketch f;
  const int h = f.Gather(0, 4);
  const int y = f.Call(Elementwise::kTanh, h);
  f.Scatter(y);
  f.program.results = {y};
  const Placement place = Placed(&f);
  EXPECT_EQ(place.candidates[h].extent, Extent::kTask);
  EXPECT_NE(place.candidates[y].extent, Extent::kTask);
}

TEST(PlaceTest, WhatIsScatteredIsInTheStateUnlessItIsAPart) {
  Sketch whole, view, part;
  const int x = whole.Pull(0, 4), y = view.Pull(0, 4), z = part.Pull(0, 4);
  whole.Scatter(x);
  view.Scatter(view.View(view.View(y, 0, 4), 0, 4));
  part.Scatter(part.View(z, 0, 3));
  EXPECT_TRUE(Placed(&whole).candidates[x].in_state);
  EXPECT_TRUE(Placed(&view).candidates[y].in_state);
  EXPECT_FALSE(Placed(&part).candidates[z].in_state);
}

TEST(PlaceTest, AViewKeepsItsRoot) {
  Sketch f;
  const int on_tape = f.Gather(0, 4);
  const int pushed = f.Gather(1, 4);
  const int neither = f.Gather(2, 4);
  const int view = f.View(f.View(on_tape, 1, 3), 1, 1);
  f.Scatter(f.Concat({f.Call(Elementwise::kNeg, f.View(on_tape, 0, 1)),
                      f.Call(Elementwise::kNeg, f.View(pushed, 0, 1)),
                      f.Call(Elementwise::kNeg, f.View(neither, 0, 2))}));
  f.Push(0, f.View(pushed, 2, 2));
  f.program.results = {view};
  const Placement place = Placed(&f);
  EXPECT_NE(place.candidates[on_tape].extent, Extent::kTask);
  EXPECT_NE(place.candidates[pushed].extent, Extent::kTask);
  EXPECT_EQ(place.candidates[neither].extent, Extent::kTask);
}

TEST(PlaceTest, AnEagerViewKeepsItsRoot) {
  Sketch f;
  const int x = f.Pull(0, 4), h = f.Gather(0, 4);
  const int whole = f.Concat({x, h});
  f.Scatter(whole);
  const Placement place = Placed(&f);
  EXPECT_NE(place.candidates[whole].extent, Extent::kTask);
}

TEST(PlaceTest, RowsOfOneOtherStageAreForgottenBlockByBlock) {
  Sketch f;
  const int x = f.Pull(0, 4);
  const int eager = f.Call(Elementwise::kNeg, x);
  const int both = f.Call(Elementwise::kTanh, eager);
  const int y = f.Call(Elementwise::kAdd, both, f.Gather(0, 4));
  f.Scatter(y);
  const int lazy = f.Call(Elementwise::kTanh, f.Call(Elementwise::kNeg, y));
  f.Push(0, lazy);
  const Placement place = Placed(&f);
  for (int id : {x, eager, lazy}) {
    EXPECT_EQ(place.candidates[id].extent, Extent::kBlock) << id;
  }
  for (int id : {both, y}) {
    EXPECT_EQ(place.candidates[id].extent, Extent::kChunk) << id;
  }
}

// Results that the epilogue computes from sums are not themselves sums over
// rows, and are not rounded last.
TEST(PlaceTest, SumsOfNarrowTypesAreRoundedLast) {
  for (DType dtype : FloatTypes::kDTypes) {
    Sketch f(dtype);
    f.program.is_derivative = true;
    const int sum = f.SumRows(f.ScatterGrad(4));
    const int twice = f.Node(NodeKind::kForeign, {sum}, f.Sum({4}));
    f.program.results = {twice};
    const Placement place = Placed(&f);
    EXPECT_EQ(place.candidates[sum].rounded_last, IsNarrow(dtype));
    EXPECT_FALSE(place.candidates[twice].rounded_last);
  }
}

TEST(PlaceTest, OnlyRootsThatNodesWriteAreReused) {
  Sketch f;
  f.program.is_derivative = true;
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
  const Placement place = PlacementOf(f);
  EXPECT_EQ(place.candidates[dstate].extent, Extent::kTask);
  EXPECT_EQ(place.candidates[dh].extent, Extent::kTask);
  for (int id : {capture, view, saved, sum}) {
    EXPECT_NE(place.candidates[id].extent, Extent::kTask) << id;
  }
}

TEST(PlaceTest, WhatProductsAndGroupsReadIsReadByAnIndex) {
  Sketch f;
  const int w = f.Capture(0, {4, 4});
  const int h = f.Gather(0, 4), x = f.Pull(0, 4);
  const int sum = f.Call(Elementwise::kAdd, f.MatMul(h, w), x);
  f.Scatter(f.Call(Elementwise::kTanh, sum));
  const Placement place = PlacedAfterFusion(&f);
  EXPECT_TRUE(place.candidates[h].by_index);
  EXPECT_TRUE(place.candidates[x].by_index);
  EXPECT_FALSE(place.candidates[sum].by_index);
}

TEST(PlaceTest, ARootIsReadByAnIndexOnlyIfAllReadersOfItsViewsCanDoSo) {
  Sketch f;
  const int state = f.Gather(0, 4), other = f.Gather(1, 4);
  const int c = f.View(state, 0, 2), h = f.View(state, 2, 2);
  f.Scatter(f.Concat({f.Call(Elementwise::kTanh, f.Call(Elementwise::kNeg, c)),
                      f.Call(Elementwise::kTanh,
                             f.Call(Elementwise::kNeg, f.View(other, 0, 2)))}));
  f.Push(0, h);
  const Placement place = PlacedAfterFusion(&f);
  EXPECT_FALSE(place.candidates[state].by_index) << "a push moves rows itself";
  EXPECT_TRUE(place.candidates[other].by_index);
}

TEST(PlaceTest, OperatorsThatAreNotFusedReadCopies) {
  Sketch f;
  const int h = f.Gather(0, 4);
  f.Scatter(f.Call(Elementwise::kTanh, h));
  const Placement place = Placed(&f);
  EXPECT_FALSE(place.candidates[h].by_index);
}

TEST(PlaceTest, WideOperandsOfProductsAreCopied) {
  Sketch f;
  const int64_t width = kCapabilities.most_indexed_columns + 1;
  const int x = f.Pull(0, width), y = f.Pull(1, width - 1);
  const int product = f.MatMul(x, f.Capture(0, {width, 4}));
  f.Scatter(f.Call(Elementwise::kAdd, product,
                   f.MatMul(y, f.Capture(1, {width - 1, 4}))));
  const Placement place = PlacedAfterFusion(&f);
  EXPECT_FALSE(place.candidates[x].by_index);
  EXPECT_TRUE(place.candidates[y].by_index);
}

TEST(PlaceTest, TheTapeMayHoldRowsByAnIndex) {
  Sketch f;
  const int h = f.Gather(0, 4);
  f.Scatter(f.Call(Elementwise::kTanh, f.Call(Elementwise::kNeg, h)));
  f.program.results = {h};
  const Placement place = PlacedAfterFusion(&f);
  EXPECT_TRUE(place.candidates[h].by_index);
}

TEST(PlaceTest, JoinedGathersInSlotOrderMayBeTheRowsOfAdjacentChildren) {
  Sketch f;
  const int both = f.Concat({f.Gather(0, 4), f.Gather(1, 4)});
  f.Scatter(f.MatMul(both, f.Capture(0, {8, 4})));
  EXPECT_EQ(Placed(&f).candidates[both].joined.slots, 2);
  EXPECT_FALSE(Placed(&f).candidates[both].joined.are_sent_back);
  EXPECT_TRUE(Placed(&f).candidates[both].joined.by_task);
}

TEST(PlaceTest, JoinedGathersInAnotherOrderAreCopied) {
  Sketch f;
  const int both = f.Concat({f.Gather(1, 4), f.Gather(0, 4)});
  f.Scatter(f.MatMul(both, f.Capture(0, {8, 4})));
  EXPECT_EQ(Placed(&f).candidates[both].joined.slots, 0);
}

TEST(PlaceTest, GathersJoinedWithAPullAreCopied) {
  Sketch f;
  const int all = f.Concat({f.Gather(0, 4), f.Gather(1, 4), f.Pull(0, 4)});
  f.Scatter(f.MatMul(all, f.Capture(0, {12, 4})));
  EXPECT_EQ(Placed(&f).candidates[all].joined.slots, 0);
}

TEST(PlaceTest, ASingleGatherIsNotJoined) {
  Sketch f;
  const int h = f.Gather(0, 4);
  f.Scatter(f.MatMul(h, f.Capture(0, {4, 4})));
  EXPECT_EQ(Placed(&f).candidates[h].joined.slots, 0);
}

TEST(PlaceTest, AGradientThatSlotsShareIsComputedInTheRowsOfChildren) {
  Sketch f;
  const int both = f.MatMul(f.ScatterGrad(4), f.Capture(0, {8, 4}), true);
  f.GatherGrad(0, f.View(both, 0, 4));
  f.GatherGrad(1, f.View(both, 4, 4));
  EXPECT_EQ(Placed(&f).candidates[both].joined.slots, 2);
  EXPECT_TRUE(Placed(&f).candidates[both].joined.are_sent_back);
}

TEST(PlaceTest, AGradientThatIsAlsoPulledHasRowsOfItsOwn) {
  Sketch f;
  const int one = f.MatMul(f.ScatterGrad(4), f.Capture(0, {4, 4}), true);
  f.GatherGrad(0, one);
  f.PullGrad(0, one);
  EXPECT_EQ(Placed(&f).candidates[one].joined.slots, 0);
}

TEST(PlaceTest, RowsThatPassUnchangedToAnOutputAreNotThoseOfChildren) {
  Sketch f;
  const int both = f.Concat({f.Gather(0, 4), f.Gather(1, 4)});
  f.Scatter(f.MatMul(both, f.Capture(0, {8, 4})));
  f.Push(0, both);
  EXPECT_EQ(Placed(&f).candidates[both].joined.slots, 0);
  Sketch g;
  const int grad = g.ScatterGrad(4);
  g.GatherGrad(0, grad);
  EXPECT_EQ(Placed(&g).candidates[grad].joined.slots, 0);
}

TEST(PlaceTest, JoinedGathersOnTheTapeAreReadOverSeveralTasks) {
  Sketch f;
  const int both = f.Concat({f.Gather(0, 4), f.Gather(1, 4)});
  f.Scatter(f.MatMul(both, f.Capture(0, {8, 4})));
  f.program.results = {both};
  EXPECT_EQ(Placed(&f).candidates[both].joined.slots, 2);
  EXPECT_FALSE(Placed(&f).candidates[both].joined.by_task);
}

}  // namespace
}  // namespace cavs
