#include "cc/ir/passes/fuse_elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cc/ir/passes/classify.h"
#include "cc/ir/passes/place.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using E = Elementwise;
using Sizes = std::vector<size_t>;

void Fuse(Sketch* f) {
  ASSERT_TRUE(Classify({}, &f->program).ok());
  FuseElementwise(&f->program);
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

bool Stored(const Sketch& f, int id) {
  const Placement placement =
      Place(f.program, Zeros(f.program), kCapabilities, false);
  return placement.candidates[id].used;
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
  EXPECT_EQ(group.instructions[0].out, group.instructions[1].x);
  EXPECT_EQ(group.instructions[1].out, group.instructions[1].x);
  EXPECT_EQ(group.instructions[2].x, group.instructions[1].x);
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
  // A group would have too many values, or too many in scratch.
  for (int count : {90, 30}) {
    const bool in_memory = count == 90;
    Sketch f;
    const int h = f.Gather(0, 8);
    std::vector<int> values = {h};
    for (int i = 0; i < count; ++i) {
      values.push_back(f.Call(E::kTanh, values.back()));
      if (in_memory) f.Push(i, values.back());
    }
    int sum = h;  // All values live until here.
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
      EXPECT_EQ(group.instructions.size(), node.members.size());
      members += node.members.size();
      for (int id : node.inputs) EXPECT_TRUE(id == h || written[id]) << id;
      for (int id : node.outputs) written[id] = true;
    }
    EXPECT_EQ(members, 2u * count + 1);
  }
}

using Instruction = ElementwiseGroup::Instruction;

// The instructions of the only group.
std::vector<Instruction> Instructions(const Sketch& f) {
  EXPECT_EQ(Groups(f).size(), 1u);
  return Groups(f)[0]->group.instructions;
}

TEST(FuseElementwiseTest, ABiasAndItsActivationAreOneInstruction) {
  Sketch f;
  const int h = f.Gather(0, 8), b = f.Capture(0, {8});
  f.Scatter(f.Call(E::kSigmoid, f.Call(E::kAdd, h, b)));
  Fuse(&f);
  ASSERT_EQ(Instructions(f).size(), 1u);
  const Instruction instruction = Instructions(f)[0];
  EXPECT_EQ(instruction.op, E::kAdd);
  EXPECT_EQ(instruction.then, E::kSigmoid);
  EXPECT_EQ(Groups(f)[0]->operands[instruction.x], h);
  EXPECT_EQ(Groups(f)[0]->operands[instruction.y], b);
  EXPECT_EQ(Groups(f)[0]->group.num_scratch, 0);
}

TEST(FuseElementwiseTest, AnInstructionGoesOnWithEitherOperandOfASumOnly) {
  for (const bool swapped : {false, true}) {
    for (const E then : {E::kAdd, E::kSigmoidGrad, E::kSub}) {
      Sketch f;
      const int h = f.Gather(0, 8), g = f.Gather(1, 8);
      const int product = f.Call(E::kMul, h, h);
      f.Scatter(swapped ? f.Call(then, product, g) : f.Call(then, g, product));
      Fuse(&f);
      const bool pairs =
          then == E::kAdd || (then == E::kSigmoidGrad && !swapped);
      ASSERT_EQ(Instructions(f).size(), pairs ? 1u : 2u);
      if (!pairs) continue;
      EXPECT_EQ(Groups(f)[0]->operands[Instructions(f)[0].z], g);
    }
  }
}

TEST(FuseElementwiseTest, WhatIsReadTwiceOrSeenOutsideIsAnInstructionOfItsOwn) {
  const auto count = [](bool twice, bool outside) {
    Sketch f;
    const int sum = f.Call(E::kAdd, f.Gather(0, 8), f.Gather(1, 8));
    const int y = f.Call(E::kTanh, sum);
    f.Scatter(twice ? f.Call(E::kDiv, y, sum) : y);
    if (outside) f.Push(0, sum);
    Fuse(&f);
    return Instructions(f).size();
  };
  EXPECT_EQ(count(false, false), 1u);
  EXPECT_EQ(count(true, false), 3u);
  EXPECT_EQ(count(false, true), 2u);
}

TEST(FuseElementwiseTest, NoInstructionReadsWhatHasBeenOverwritten) {
  Sketch f;
  const int h = f.Gather(0, 8);
  const int sum = f.Call(E::kNeg, h);
  // Reads the sum before it is added to.
  const int before = f.Call(E::kMul, sum, h);
  f.Node(NodeKind::kElementwise, {sum, h}, sum);
  f.program.nodes.back().elementwise = E::kAdd;
  const int y = f.Call(E::kTanh, before);
  f.Scatter(f.Call(E::kDiv, y, sum));
  Fuse(&f);
  EXPECT_EQ(Instructions(f).size(), 5u);
}

TEST(FuseElementwiseTest, AColumnThatIsBroadcastIsInNoPair) {
  Sketch f;
  const int h = f.Gather(0, 8), g = f.Gather(1, 1);
  f.Scatter(f.Call(E::kTanh, f.Call(E::kMul, h, g)));
  Fuse(&f);
  EXPECT_EQ(Instructions(f).size(), 2u);
}

}  // namespace
}  // namespace cavs
