#include "cc/ir/uses.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using E = Elementwise;
using Ids = std::vector<int>;

TEST(UsesTest, NodesAreFoundByTheSymbolsTheyName) {
  Sketch f;
  const int x = f.Gather(0, 8);                 // 0
  const int square = f.Call(E::kMul, x, x);     // 1
  const int y = f.Call(E::kAdd, x, square);     // 2
  f.Node(NodeKind::kElementwise, {y}, square);  // 3
  f.program.results = {y};
  const Uses uses(f.program);
  EXPECT_EQ(uses.readers(x), (Ids{1, 1, 2}));
  EXPECT_EQ(uses.writers(x), Ids{0});
  EXPECT_EQ(uses.readers(square), Ids{2});
  EXPECT_EQ(uses.writers(square), (Ids{1, 3}));
  EXPECT_TRUE(uses.IsResult(y));
  EXPECT_FALSE(uses.IsResult(x));
}

TEST(UsesTest, NodesAreFoundByWhatOverlapsToo) {
  Sketch f;
  const int x = f.Gather(0, 8);  // 0
  const int left = f.View(x, 0, 4), right = f.View(x, 4, 4);
  f.Push(0, left);               // 1
  f.Call(E::kAdd, left, right);  // 2
  const Uses uses(f.program);
  EXPECT_EQ(uses.readers(x), Ids{});
  EXPECT_EQ(uses.ReadersOfAny(x), (Ids{1, 2}));
  EXPECT_EQ(uses.ReadersOfAny(right), Ids{2});
  EXPECT_EQ(uses.WritersOfAny(right), Ids{0});
  EXPECT_EQ(uses.WritersOfAny(left), Ids{0});
}

TEST(UsesTest, NodesAndViewsThatChangeAreFoundAnew) {
  Sketch f;
  const int x = f.Gather(0, 8);       // 0
  const int y = f.Call(E::kTanh, x);  // 1
  f.Push(0, y);                       // 2
  Uses uses(f.program);
  uses.Forget(2);
  EXPECT_EQ(uses.readers(y), Ids{});
  f.program.nodes[2].inputs = {x};
  uses.Add(2);
  EXPECT_EQ(uses.readers(x), (Ids{1, 2}));
  EXPECT_EQ(uses.readers(y), Ids{});

  const int view = f.View(x, 2, 2);
  uses.Update(view);
  EXPECT_EQ(uses.ReadersOfAny(view), (Ids{1, 2}));
  EXPECT_EQ(uses.readers(view), Ids{});
  EXPECT_FALSE(uses.IsResult(view));
}

}  // namespace
}  // namespace cavs
