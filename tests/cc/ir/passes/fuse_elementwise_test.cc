#include "cc/ir/passes/fuse_elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cc/ir/passes/classify.h"
#include "cc/ir/passes/plan_memory.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using E = Elementwise;
using Sizes = std::vector<size_t>;

void Fuse(Sketch* f) {
  ASSERT_TRUE(Classify({}, &f->program).ok());
  FuseElementwise(&f->program);
  PlanMemory(&f->program);
}

std::vector<const Node*> Groups(const Sketch& f) {
  std::vector<const Node*> groups;
  for (const Node& node : f.program.nodes) {
    if (node.kind == NodeKind::kGroup) groups.push_back(&node);
  }
  return groups;
}

// The number of members of every group.
Sizes GroupSizes(const Sketch& f) {
  Sizes sizes;
  for (const Node* group : Groups(f)) sizes.push_back(group->members.size());
  return sizes;
}

size_t Count(const Sketch& f, NodeKind kind) {
  return std::count_if(f.program.nodes.begin(), f.program.nodes.end(),
                       [&](const Node& node) { return node.kind == kind; });
}

bool Stored(const Sketch& f, int id) { return f.program.symbols[id].stored; }

// Where a node of this kind is; the last of them.
size_t Last(const Sketch& f, NodeKind kind) {
  for (size_t i = f.program.nodes.size(); i-- > 0;) {
    if (f.program.nodes[i].kind == kind) return i;
  }
  ADD_FAILURE() << "there is none";
  return 0;
}

TEST(FuseElementwiseTest, AChainIsOneGroupAndItsLinksAreNeverInMemory) {
  Sketch f;
  const int h = f.Gather(0, 8);
  const int a = f.Call(E::kTanh, h);
  const int b = f.Call(E::kMul, a, f.Capture(0, {8}));
  const int c = f.Call(E::kAdd, a, b);
  f.Scatter(c);
  Fuse(&f);
  ASSERT_EQ(GroupSizes(f), Sizes{3});
  const Node& group = *Groups(f)[0];
  EXPECT_EQ(group.inputs, (std::vector<int>{h, f.program.nodes[1].inputs[1]}));
  EXPECT_EQ(group.outputs, std::vector<int>{c});
  EXPECT_EQ(group.group.num_operands, 3);
  EXPECT_EQ(group.group.num_scratch, 1) << "a; b is within a step";
  EXPECT_FALSE(Stored(f, a));
  EXPECT_FALSE(Stored(f, b));
  EXPECT_TRUE(Stored(f, c));
  EXPECT_TRUE(Stored(f, h));
}

TEST(FuseElementwiseTest, WhatDoesNotDependOnEachOtherJoinsToo) {
  Sketch f;
  const int h = f.Gather(0, 8), g = f.Gather(1, 8);
  f.Scatter(f.Call(E::kTanh, h));
  f.Push(0, f.Gather(2, 8));
  f.GatherGrad(0, f.Call(E::kNeg, g));
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), Sizes{2});
}

TEST(FuseElementwiseTest, WhatOthersSeeIsInMemory) {
  Sketch f;
  const int h = f.Gather(0, 8);
  const int on_tape = f.Call(E::kTanh, h);
  const int pushed = f.Call(E::kNeg, on_tape);
  const int multiplied = f.Call(E::kSquare, pushed);
  const int pieced = f.Call(E::kSigmoid, multiplied);
  const int hidden = f.Call(E::kAbs, pieced);
  f.Push(0, pushed);
  f.Push(1, f.View(pieced, 3, 2));
  f.Scatter(f.Call(E::kAdd, hidden, f.Call(E::kTanh, hidden)));
  f.Push(2, f.MatMul(multiplied, f.Capture(0, {8, 8})));
  f.program.results = {on_tape};
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), Sizes{7});
  for (int id : {on_tape, pushed, multiplied, pieced}) {
    EXPECT_TRUE(Stored(f, id)) << id;
  }
  EXPECT_FALSE(Stored(f, hidden));
  EXPECT_EQ(Groups(f)[0]->outputs.size(), 5u) << "and what is scattered";
}

TEST(FuseElementwiseTest, WhatDependsThroughAProductIsAnotherGroup) {
  Sketch f;
  const int h = f.Gather(0, 8), w = f.Capture(0, {8, 8});
  const int a = f.Call(E::kTanh, f.Call(E::kNeg, h));
  const int b = f.Call(E::kTanh, f.Call(E::kNeg, f.MatMul(a, w)));
  f.Scatter(f.Call(E::kMul, f.Call(E::kAbs, h), b));
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), (Sizes{3, 3})) << "|h| need not wait";
  EXPECT_TRUE(Stored(f, a)) << "the product reads it";
  ASSERT_EQ(Count(f, NodeKind::kMatMul), 1u);
  const size_t product = Last(f, NodeKind::kMatMul);
  EXPECT_EQ(f.program.nodes[product - 1].kind, NodeKind::kGroup);
  EXPECT_EQ(f.program.nodes[product + 1].kind, NodeKind::kGroup);
}

TEST(FuseElementwiseTest, OperatorsOfDifferentWidthsOrStagesStayApart) {
  Sketch f;
  const int h = f.Gather(0, 8), x = f.Pull(0, 8), y = f.Pull(1, 5);
  const int eager = f.Call(E::kNeg, f.Call(E::kTanh, x));
  const int narrow = f.Call(E::kNeg, f.Call(E::kTanh, y));
  const int critical = f.Call(E::kNeg, f.Call(E::kTanh, h));
  f.Scatter(critical);
  f.Push(0, eager);
  f.Push(1, narrow);
  f.Push(2, f.Call(E::kNeg, f.Call(E::kTanh, critical)));
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), (Sizes{2, 2, 2, 2}));
}

TEST(FuseElementwiseTest, OneColumnIsBroadcastFromMemory) {
  Sketch f;
  const int h = f.Gather(0, 8);
  const int sum = f.SumColumns(h);
  const int weight = f.Call(E::kSigmoid, f.Call(E::kNeg, sum));
  const int y = f.Call(E::kTanh, f.Call(E::kMul, h, weight));
  f.Scatter(y);
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), (Sizes{2, 2}));
  EXPECT_TRUE(Stored(f, weight));
  const Node& last = *Groups(f)[1];
  EXPECT_EQ(last.inputs, (std::vector<int>{h, weight}));
}

TEST(FuseElementwiseTest, AColumnOfAValueOfTheGroupIsReadByTheNextGroup) {
  Sketch f;
  const int h = f.Gather(0, 8);
  const int a = f.Call(E::kTanh, h), b = f.Call(E::kNeg, h);
  const int c = f.Call(E::kMul, a, f.View(a, 2, 1));
  f.Scatter(f.Call(E::kAdd, c, b));
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), (Sizes{2, 2}));
  EXPECT_TRUE(Stored(f, a));
  EXPECT_TRUE(Stored(f, b));
}

TEST(FuseElementwiseTest, ReadersOfOtherPiecesWaitForTheWriter) {
  Sketch f;
  const int h = f.Gather(0, 8), g = f.Gather(1, 8);
  const int whole = f.Concat({f.Call(E::kTanh, h), f.Call(E::kNeg, g)});
  // Straddles both pieces, and has their width.
  const int across = f.Call(E::kSigmoid, f.View(whole, 4, 8));
  f.Scatter(f.Call(E::kMul, across, f.View(whole, 0, 8)));
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), (Sizes{2, 2}));
  EXPECT_TRUE(Stored(f, whole));
}

TEST(FuseElementwiseTest, ASumInPlaceIsOneValue) {
  Sketch f;
  const int h = f.Gather(0, 8), x = f.Pull(0, 8), y = f.Gather(1, 8);
  const int sum = f.Call(E::kAdd, h, x);
  f.Node(NodeKind::kElementwise, {sum, y}, sum);
  f.program.nodes.back().elementwise = E::kAdd;
  const int out = f.Call(E::kTanh, sum);
  f.Scatter(out);
  Fuse(&f);
  ASSERT_EQ(GroupSizes(f), Sizes{3});
  const ElementwiseGroup& group = Groups(f)[0]->group;
  EXPECT_EQ(group.num_scratch, 1);
  EXPECT_EQ(group.steps[0].out, group.steps[1].x);
  EXPECT_EQ(group.steps[1].out, group.steps[1].x);
  EXPECT_EQ(group.steps[2].x, group.steps[1].x);
  EXPECT_FALSE(Stored(f, sum));
}

TEST(FuseElementwiseTest, TwoViewsOfTheSameElementsAreOneValue) {
  Sketch f;
  const int whole = f.Gather(0, 16);
  const int first = f.View(whole, 8, 8);
  const int second = f.View(f.View(whole, 4, 12), 4, 8);
  const int y = f.Call(E::kMul, f.Call(E::kTanh, first), second);
  f.Scatter(y);
  Fuse(&f);
  ASSERT_EQ(GroupSizes(f), Sizes{2});
  EXPECT_EQ(Groups(f)[0]->group.num_operands, 2) << "what is read, and y";
}

TEST(FuseElementwiseTest, ScratchIsGivenOutAgain) {
  Sketch f;
  int x = f.Gather(0, 8);
  for (int i = 0; i < 50; ++i) x = f.Call(E::kTanh, x);
  f.Scatter(x);
  Fuse(&f);
  ASSERT_EQ(GroupSizes(f), Sizes{50});
  EXPECT_LE(Groups(f)[0]->group.num_scratch, 2);
}

TEST(FuseElementwiseTest, GroupsTooLargeForAKernelFallApartInOrder) {
  // Too many values in all, or too many in scratch.
  for (int count : {90, 30}) {
    const bool in_memory = count == 90;
    Sketch f;
    const int h = f.Gather(0, 8);
    std::vector<int> values = {h};
    for (int i = 0; i < count; ++i) {
      values.push_back(f.Call(E::kTanh, values.back()));
      if (in_memory) f.Push(i, values.back());
    }
    int sum = h;  // All live until here.
    for (int value : values) sum = f.Call(E::kSub, sum, value);
    f.Scatter(sum);
    Fuse(&f);
    const auto groups = Groups(f);
    EXPECT_GT(groups.size(), 1u);
    std::vector<bool> written(f.program.symbols.size(), false);
    size_t members = Count(f, NodeKind::kElementwise);
    for (const Node& node : f.program.nodes) {
      if (node.kind != NodeKind::kGroup) continue;
      const ElementwiseGroup& group = node.group;
      EXPECT_LE(group.num_scratch, ElementwiseGroup::kMaxScratch);
      EXPECT_LE(group.num_scratch + group.num_operands,
                ElementwiseGroup::kMaxValues);
      EXPECT_EQ(group.steps.size(), node.members.size());
      members += node.members.size();
      for (int id : node.inputs) EXPECT_TRUE(id == h || written[id]) << id;
      for (int id : node.outputs) written[id] = true;
    }
    EXPECT_EQ(members, 2u * count + 1);
  }
}

TEST(FuseElementwiseTest, AWriterStaysBehindReadersOfWhatItOverwrites) {
  Sketch f;
  const int h = f.Gather(0, 8), w = f.Capture(0, {8, 8});
  const int sum = f.Call(E::kNeg, h);
  const int product = f.MatMul(sum, w);  // Of what is there before.
  f.Node(NodeKind::kElementwise, {sum, h}, sum);
  f.program.nodes.back().elementwise = E::kAdd;
  f.Scatter(f.Call(E::kMul, product, sum));
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), (Sizes{1, 2}));
  const size_t product_at = Last(f, NodeKind::kMatMul);
  EXPECT_LT(product_at, Last(f, NodeKind::kGroup));
  EXPECT_EQ(f.program.nodes[product_at - 1].kind, NodeKind::kGroup);
}

TEST(FuseElementwiseTest, AWriterOfAColumnStaysBehindThoseWhoBroadcastIt) {
  Sketch f;
  const int h = f.Gather(0, 8), g = f.Gather(1, 1);
  const int sum = f.Call(E::kNeg, g);
  const int y = f.Call(E::kMul, h, sum);  // By what is there before.
  f.Node(NodeKind::kElementwise, {sum, g}, sum);
  f.program.nodes.back().elementwise = E::kAdd;
  f.Scatter(f.Call(E::kMul, y, sum));
  Fuse(&f);
  std::vector<int> widths;
  for (const Node& node : f.program.nodes) {
    if (node.kind == NodeKind::kGroup) {
      widths.push_back(static_cast<int>(f.columns(node.outputs[0])));
    }
  }
  EXPECT_EQ(widths, (std::vector<int>{1, 8, 1, 8}));
}

TEST(FuseElementwiseTest, PiecesOfABiasedSumJoinTheirReaders) {
  Sketch f;
  const int h = f.Gather(0, 8), b = f.Capture(1, {16});
  const int z = f.Call(E::kAdd, f.MatMul(h, f.Capture(0, {8, 16})), b);
  const int gate = f.Call(E::kSigmoid, f.View(z, 0, 8));
  f.Scatter(f.Call(E::kMul, gate, f.Call(E::kTanh, f.View(z, 8, 8))));
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), Sizes{5});
  EXPECT_FALSE(Stored(f, z));
  EXPECT_TRUE(Stored(f, b));
}

using Step = ElementwiseGroup::Step;

// The steps of the only group.
std::vector<Step> Steps(const Sketch& f) {
  EXPECT_EQ(Groups(f).size(), 1u);
  return Groups(f)[0]->group.steps;
}

TEST(FuseElementwiseTest, ABiasAndItsActivationAreOneStep) {
  Sketch f;
  const int h = f.Gather(0, 8), b = f.Capture(0, {8});
  f.Scatter(f.Call(E::kSigmoid, f.Call(E::kAdd, h, b)));
  Fuse(&f);
  ASSERT_EQ(Steps(f).size(), 1u);
  const Step step = Steps(f)[0];
  EXPECT_EQ(step.op, E::kAdd);
  EXPECT_EQ(step.then, E::kSigmoid);
  EXPECT_EQ(Groups(f)[0]->operands[step.x], h);
  EXPECT_EQ(Groups(f)[0]->operands[step.y], b);
  EXPECT_EQ(Groups(f)[0]->group.num_scratch, 0);
}

TEST(FuseElementwiseTest, AStepGoesOnWithEitherOperandOfASumOnly) {
  for (const bool swapped : {false, true}) {
    for (const E then : {E::kAdd, E::kSigmoidGrad, E::kSub}) {
      Sketch f;
      const int h = f.Gather(0, 8), g = f.Gather(1, 8);
      const int product = f.Call(E::kMul, h, h);
      f.Scatter(swapped ? f.Call(then, product, g) : f.Call(then, g, product));
      Fuse(&f);
      const bool pairs =
          then == E::kAdd || (then == E::kSigmoidGrad && !swapped);
      ASSERT_EQ(Steps(f).size(), pairs ? 1u : 2u);
      if (!pairs) continue;
      EXPECT_EQ(Groups(f)[0]->operands[Steps(f)[0].z], g);
    }
  }
}

TEST(FuseElementwiseTest, WhatIsReadTwiceOrSeenOutsideIsAStepOfItsOwn) {
  const auto steps = [](bool twice, bool outside) {
    Sketch f;
    const int sum = f.Call(E::kAdd, f.Gather(0, 8), f.Gather(1, 8));
    const int y = f.Call(E::kTanh, sum);
    f.Scatter(twice ? f.Call(E::kDiv, y, sum) : y);
    if (outside) f.Push(0, sum);
    Fuse(&f);
    return Steps(f).size();
  };
  EXPECT_EQ(steps(false, false), 1u);
  EXPECT_EQ(steps(true, false), 3u);
  EXPECT_EQ(steps(false, true), 2u);
}

TEST(FuseElementwiseTest, NoStepReadsWhatHasBeenOverwritten) {
  Sketch f;
  const int h = f.Gather(0, 8);
  const int sum = f.Call(E::kNeg, h);
  const int before = f.Call(E::kMul, sum, h);  // Of what is there before.
  f.Node(NodeKind::kElementwise, {sum, h}, sum);
  f.program.nodes.back().elementwise = E::kAdd;
  const int y = f.Call(E::kTanh, before);
  f.Scatter(f.Call(E::kDiv, y, sum));
  Fuse(&f);
  EXPECT_EQ(Steps(f).size(), 5u);
}

TEST(FuseElementwiseTest, AColumnThatIsBroadcastIsInNoPair) {
  Sketch f;
  const int h = f.Gather(0, 8), g = f.Gather(1, 1);
  f.Scatter(f.Call(E::kTanh, f.Call(E::kMul, h, g)));
  Fuse(&f);
  EXPECT_EQ(Steps(f).size(), 2u);
}

TEST(FuseElementwiseTest, CopiesOfRowsJoinAndOthersAreLeft) {
  Sketch f;
  const int h = f.Gather(0, 8);
  const int y = f.Call(E::kTanh, h);
  f.Scatter(f.Concat({h, h, y}));  // One h is copied.
  const int z = f.Foreign(nullptr, {h}, f.Rows(8));
  f.Push(0, z);
  Fuse(&f);
  EXPECT_EQ(GroupSizes(f), Sizes{2});
  EXPECT_EQ(Count(f, NodeKind::kCopy), 0u);
  EXPECT_EQ(Count(f, NodeKind::kForeign), 1u);
}

}  // namespace
}  // namespace cavs
