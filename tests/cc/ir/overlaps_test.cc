#include "cc/ir/overlaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using Ids = std::vector<int>;

TEST(OverlapsTest, ViewsOverlapTheirRootAndNotOneAnother) {
  Sketch f;
  const int whole = f.Rows(8), other = f.Rows(8);
  const int left = f.View(whole, 0, 4), right = f.View(whole, 4, 4);
  const int across = f.View(whole, 3, 2);
  const Overlaps overlaps(f.program);
  EXPECT_EQ(overlaps.of(whole), (Ids{whole, left, right, across}));
  EXPECT_EQ(overlaps.of(left), (Ids{whole, left, across}));
  EXPECT_EQ(overlaps.of(right), (Ids{whole, right, across}));
  EXPECT_EQ(overlaps.of(across), (Ids{whole, left, right, across}));
  EXPECT_EQ(overlaps.of(other), Ids{other});
}

TEST(OverlapsTest, ViewsOfViewsLieWhereTheirRootSays) {
  Sketch f;
  const int whole = f.Rows(12);
  const int middle = f.View(whole, 4, 6);
  const int inner = f.View(middle, 2, 2);  // Columns [6, 8) of the whole.
  const int before = f.View(whole, 0, 6), after = f.View(whole, 8, 4);
  const int same = f.View(whole, 6, 2);
  const Overlaps overlaps(f.program);
  EXPECT_EQ(overlaps.of(inner), (Ids{whole, middle, inner, same}));
  EXPECT_EQ(overlaps.of(before), (Ids{whole, middle, before}));
  EXPECT_EQ(overlaps.of(after), (Ids{whole, middle, after}));
}

TEST(OverlapsTest, WhatHasNoElementsOverlapsNothingElse) {
  Sketch f;
  const int empty = f.Rows(0), whole = f.Rows(4);
  const int view = f.View(whole, 2, 0);
  const Overlaps overlaps(f.program);
  EXPECT_EQ(overlaps.of(empty), Ids{empty});
  EXPECT_EQ(overlaps.of(view), Ids{view});
  EXPECT_EQ(overlaps.of(whole), Ids{whole});
}

TEST(OverlapsTest, ARootThatBecomesAViewTakesItsViewsAlong) {
  Sketch f;
  const int x = f.Rows(4), y = f.Rows(4);
  const int left = f.View(x, 0, 2), right = f.View(x, 2, 2);
  Overlaps overlaps(f.program);
  const int whole = f.Rows(8);
  overlaps.Update(whole);
  EXPECT_EQ(overlaps.of(whole), Ids{whole});
  f.program.symbols[y].parent = f.program.symbols[x].parent = whole;
  f.program.symbols[x].offset = 4;
  overlaps.Update(y);
  overlaps.Update(x);
  // The last column of y and the first of x.
  const int across = f.View(whole, 3, 2);
  overlaps.Update(across);
  const Overlaps anew(f.program);
  for (int id : {x, y, left, right, whole, across}) {
    Ids of = overlaps.of(id);
    std::sort(of.begin(), of.end());
    EXPECT_EQ(of, anew.of(id)) << id;
  }
  EXPECT_EQ(anew.of(across), (Ids{x, y, left, whole, across}));
}

TEST(OverlapsTest, AnyMarkedAsksForOverlappingSymbolsToo) {
  Sketch f;
  const int whole = f.Rows(8), other = f.Rows(8);
  const int left = f.View(whole, 0, 4), right = f.View(whole, 4, 4);
  const Overlaps overlaps(f.program);
  std::vector<bool> mark(f.program.symbols.size(), false);
  EXPECT_FALSE(overlaps.AnyMarked(mark, {whole, other, left, right}));
  mark[left] = true;
  EXPECT_TRUE(overlaps.AnyMarked(mark, {whole}));
  EXPECT_TRUE(overlaps.AnyMarked(mark, {other, left}));
  EXPECT_FALSE(overlaps.AnyMarked(mark, {other, right}));
  EXPECT_FALSE(overlaps.AnyMarked(mark, {}));
}

}  // namespace
}  // namespace cavs
