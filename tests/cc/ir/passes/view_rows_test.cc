#include "cc/ir/passes/view_rows.h"

#include <gtest/gtest.h>

#include "cc/ir/passes/classify.h"
#include "cc/ir/passes/fuse_elementwise.h"
#include "cc/ir/passes/plan_memory.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

void View(Program* program, bool fuse = true) {
  ASSERT_TRUE(Classify({}, program).ok());
  if (fuse) FuseElementwise(program);
  ViewRows(program);
  PlanMemory(program);
}

TEST(ViewRowsTest, WhatProductsAndGroupsReadIsNotStored) {
  Sketch f;
  const int w = f.Capture(0, {4, 4});
  const int h = f.Gather(0, 4), x = f.Pull(0, 4);
  const int sum = f.Call(Elementwise::kAdd, f.MatMul(h, w), x);
  f.Scatter(f.Call(Elementwise::kTanh, sum));
  View(&f.program);
  EXPECT_TRUE(f.program.symbols[h].viewed);
  EXPECT_FALSE(f.program.symbols[h].stored);
  EXPECT_TRUE(f.program.symbols[x].viewed);
  EXPECT_FALSE(f.program.symbols[sum].viewed);
}

TEST(ViewRowsTest, AWholeIsViewedOnlyIfAllReadersOfItsPiecesCanDoSo) {
  Sketch f;
  const int state = f.Gather(0, 4), other = f.Gather(1, 4);
  const int c = f.View(state, 0, 2), h = f.View(state, 2, 2);
  f.Scatter(f.Concat({f.Call(Elementwise::kTanh, f.Call(Elementwise::kNeg, c)),
                      f.Call(Elementwise::kTanh,
                             f.Call(Elementwise::kNeg, f.View(other, 0, 2)))}));
  f.Push(0, h);
  View(&f.program);
  EXPECT_FALSE(f.program.symbols[state].viewed) << "a push moves rows itself";
  EXPECT_TRUE(f.program.symbols[state].stored);
  EXPECT_TRUE(f.program.symbols[other].viewed);
}

TEST(ViewRowsTest, OperatorsThatAreNotFusedReadCopies) {
  Sketch f;
  const int h = f.Gather(0, 4);
  f.Scatter(f.Call(Elementwise::kTanh, h));
  View(&f.program, /*fuse=*/false);
  EXPECT_FALSE(f.program.symbols[h].viewed);
}

TEST(ViewRowsTest, WideOperandsOfProductsAreCopied) {
  Sketch f;
  const int64_t width = kMaxIndexedColumns + 1;
  const int x = f.Pull(0, width), y = f.Pull(1, width - 1);
  const int product = f.MatMul(x, f.Capture(0, {width, 4}));
  f.Scatter(f.Call(Elementwise::kAdd, product,
                   f.MatMul(y, f.Capture(1, {width - 1, 4}))));
  View(&f.program);
  EXPECT_FALSE(f.program.symbols[x].viewed);
  EXPECT_TRUE(f.program.symbols[y].viewed);
}

TEST(ViewRowsTest, TheTapeMayHoldViews) {
  Sketch f;
  const int h = f.Gather(0, 4);
  f.Scatter(f.Call(Elementwise::kTanh, f.Call(Elementwise::kNeg, h)));
  f.program.results = {h};
  View(&f.program);
  EXPECT_TRUE(f.program.symbols[h].viewed);
  EXPECT_FALSE(f.program.symbols[h].stored);
}

}  // namespace
}  // namespace cavs
