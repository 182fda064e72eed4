#include "cc/ir/passes/specialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/ir/passes/run_passes.h"
#include "cc/ir/print.h"
#include "cc/ir/verify.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using E = Elementwise;

// h = sigmoid(x U + b) * h_child + x, and its derivative.
struct Gated {
  Sketch f, b;
};

Gated Draw() {
  Gated gated;
  Sketch& f = gated.f;
  const int u = f.Capture(0, {4, 4});
  const int h = f.Gather(0, 4), x = f.Pull(0, 4);
  const int gate = f.Call(E::kSigmoid, f.MatMul(x, u));
  f.Scatter(f.Call(E::kAdd, f.Call(E::kMul, gate, h), x));
  f.program.results = {gate, h, x, u};

  Sketch& b = gated.b;
  const int dh = b.ScatterGrad(4);
  const int saved_gate = b.Saved(0, 4), saved_h = b.Saved(1, 4);
  const int saved_x = b.Saved(2, 4);
  b.GatherGrad(0, b.Call(E::kMul, dh, saved_gate));
  const int dz =
      b.Call(E::kSigmoidGrad, saved_gate, b.Call(E::kMul, dh, saved_h));
  const int du = b.WeightGrad(saved_x, dz);
  const int dx = b.WeightGrad(saved_x, dh);
  b.program.results = {du, dx};
  b.program.is_derivative = true;
  for (Program* program : {&f.program, &b.program}) {
    const Status status = Simplify({}, program);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return gated;
}

VertexTraits Leaves() {
  VertexTraits traits;
  traits.childless = true;
  return traits;
}

VertexTraits NoInput() {
  VertexTraits traits;
  traits.missing_pulls = traits.missing_pull_grads = {0};
  return traits;
}

int Count(const Program& program, NodeKind kind) {
  return static_cast<int>(
      std::count_if(program.nodes.begin(), program.nodes.end(),
                    [kind](const Node& node) { return node.kind == kind; }));
}

TEST(SpecializeTest, LeavesComputeNoGateOfWhatTheyDoNotHave) {
  const Gated gated = Draw();
  ASSERT_TRUE(MaySpecialize(gated.f.program, &gated.b.program, Leaves()));
  const Variant leaf = Specialize(gated.f.program, &gated.b.program, Leaves());
  SCOPED_TRACE(Print(leaf.function) + Print(leaf.derivative));
  for (const Program* program : {&leaf.function, &leaf.derivative}) {
    const Status status = VerifyProgram(*program);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(Count(*program, NodeKind::kMatMul), 0);
    EXPECT_EQ(Count(*program, NodeKind::kElementwise), 0);
  }
  EXPECT_EQ(Count(leaf.derivative, NodeKind::kGatherGrad), 0);
  EXPECT_EQ(leaf.kept, (std::vector<int>{2}));  // x alone is read.
  ASSERT_EQ(leaf.parts.size(), 1u);
  EXPECT_EQ(leaf.parts[0].result, 1);
  EXPECT_EQ(leaf.finite_captures.count(0), 1u);
  EXPECT_EQ(leaf.finite_pulls, (std::set<int>{0}));
  EXPECT_TRUE(leaf.finite_gradients);
}

TEST(SpecializeTest, OnlyTheRowsOfWeightsThatZerosAreMultipliedByMustBeFinite) {
  Sketch f;
  const int h = f.Gather(0, 4), x = f.Pull(0, 4);
  f.Scatter(f.Call(E::kTanh, f.MatMul(f.Concat({x, h}), f.Capture(0, {8, 4}))));
  const Status status = Simplify({}, &f.program);
  EXPECT_TRUE(status.ok()) << status.message();
  const Variant leaf = Specialize(f.program, nullptr, Leaves());
  SCOPED_TRACE(Print(leaf.function));
  ASSERT_EQ(leaf.finite_captures.count(0), 1u);
  EXPECT_EQ(leaf.finite_captures.at(0).begin, 16);
  EXPECT_EQ(leaf.finite_captures.at(0).end, 32);
}

TEST(SpecializeTest, VerticesWithoutInputMultiplyNothingByIt) {
  Gated gated = Draw();
  Sketch& b = gated.b;
  b.PullGrad(0, b.MatMul(b.ScatterGrad(4), b.Capture(0, {4, 4}), true));
  ASSERT_TRUE(MaySpecialize(gated.f.program, &gated.b.program, NoInput()));
  const Variant bare = Specialize(gated.f.program, &gated.b.program, NoInput());
  SCOPED_TRACE(Print(bare.function) + Print(bare.derivative));
  for (const Program* program : {&bare.function, &bare.derivative}) {
    const Status status = VerifyProgram(*program);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(Count(*program, NodeKind::kMatMul), 0);
    EXPECT_EQ(Count(*program, NodeKind::kPull), 0);
  }
  EXPECT_EQ(Count(bare.function, NodeKind::kGather), 1);
  EXPECT_EQ(Count(bare.derivative, NodeKind::kGatherGrad), 1);
  EXPECT_EQ(Count(bare.derivative, NodeKind::kPullGrad), 0);
  EXPECT_EQ(Count(bare.derivative, NodeKind::kWeightGrad), 0);
  // Nothing is multiplied by what is not there, so nothing need be finite.
  EXPECT_FALSE(bare.NeedsFinite());
}

// h = h_child where there is a child, else x, and its derivative.
TEST(SpecializeTest, VerticesWithAllChildrenAskForNone) {
  VertexTraits parents;
  parents.all_children = true;
  parents.of_children = {1};
  Sketch f, b;
  const int h = f.Gather(0, 4), x = f.Pull(0, 4);
  const int asked = f.Pull(1, 1);
  f.program.symbols[asked].dtype = DType::kBool;
  const int mask = f.Node(NodeKind::kToMask, {asked}, f.Rows(1));
  f.Scatter(
      f.Call(E::kAdd, f.Call(E::kKeep, h, mask), f.Call(E::kDrop, x, mask)));
  f.program.results = {mask};
  const int dh = b.ScatterGrad(4), saved = b.Saved(0, 1);
  b.GatherGrad(0, b.Call(E::kKeep, dh, saved));
  b.PullGrad(0, b.Call(E::kDrop, dh, saved));
  b.program.is_derivative = true;
  for (Program* program : {&f.program, &b.program}) {
    const Status status = Simplify({}, program);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(MaySpecialize(f.program, &b.program, parents));
  const Variant variant = Specialize(f.program, &b.program, parents);
  SCOPED_TRACE(Print(variant.function) + Print(variant.derivative));
  for (const Program* program : {&variant.function, &variant.derivative}) {
    const Status status = VerifyProgram(*program);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(Count(*program, NodeKind::kElementwise), 0);
  }
  EXPECT_EQ(Count(variant.derivative, NodeKind::kGatherGrad), 1);
  EXPECT_EQ(Count(variant.derivative, NodeKind::kPullGrad), 0);
  EXPECT_TRUE(variant.kept.empty());
  // Nothing is multiplied, so nothing need be finite.
  EXPECT_FALSE(variant.NeedsFinite());
  parents.of_children = {2};
  EXPECT_FALSE(MaySpecialize(f.program, &b.program, parents));
}

// h = x where there is no child, else h_child: `tf.where(~has_child, x, h)`.
TEST(SpecializeTest, TheNegationOfAMaskOfChildrenIsKnown) {
  Sketch f;
  const int h = f.Gather(0, 4), x = f.Pull(0, 4);
  const int asked = f.Pull(1, 1);
  f.program.symbols[asked].dtype = DType::kBool;
  const int mask = f.Node(NodeKind::kToMask, {asked}, f.Rows(1));
  const int none = f.Call(E::kEqual, mask, f.ScalarZero());
  f.Scatter(
      f.Call(E::kAdd, f.Call(E::kKeep, x, none), f.Call(E::kDrop, h, none)));
  VertexTraits leaves, parents;
  leaves.childless = parents.all_children = true;
  for (VertexTraits* traits : {&leaves, &parents}) {
    traits->of_children = {1};
    ASSERT_TRUE(MaySpecialize(f.program, nullptr, *traits));
    const Variant variant = Specialize(f.program, nullptr, *traits);
    SCOPED_TRACE(Print(variant.function));
    const Status status = VerifyProgram(variant.function);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(Count(variant.function, NodeKind::kElementwise), 0);
  }
}

TEST(SpecializeTest, AFunctionThatPullsNoneOfTheInputsHasNoVariant) {
  Sketch f;
  f.Scatter(f.Pull(1, 4));
  EXPECT_FALSE(MaySpecialize(f.program, nullptr, NoInput()));
}

TEST(SpecializeTest, AFunctionThatGathersNothingHasNoVariant) {
  Sketch f;
  f.Scatter(f.Pull(0, 4));
  EXPECT_FALSE(MaySpecialize(f.program, nullptr, Leaves()));
}

TEST(SpecializeTest, WhatTheTapeHoldsMustBeReadByADerivativeThatIsKnown) {
  const Gated gated = Draw();
  EXPECT_FALSE(MaySpecialize(gated.f.program, nullptr, Leaves()));
}

// The sum over leaves and the sum over other vertices would both be clipped.
TEST(SpecializeTest, ASumThatTheFrameworkChangesIsFormedOverAllVertices) {
  Gated gated = Draw();
  Sketch& b = gated.b;
  b.Foreign(nullptr, {b.program.results[0]}, b.Sum({4, 4}));
  b.program.results[0] = b.program.nodes.back().outputs[0];
  b.program.nodes.back().op = "ClipByValue";
  b.program.nodes.back().stage = Stage::kEpilogue;
  EXPECT_FALSE(MaySpecialize(gated.f.program, &b.program, Leaves()));
  b.program.nodes.back().op = "Transpose";
  EXPECT_TRUE(MaySpecialize(gated.f.program, &b.program, Leaves()));
}

TEST(SpecializeTest, PartsOfASumThatAreZeroAreLeftOut) {
  Gated gated = Draw();
  Sketch f, b;
  const int h = f.Gather(0, 4), x = f.Pull(0, 4);
  f.Scatter(f.Call(E::kAdd, h, x));
  f.program.results = {h, x};
  const int sum = b.Sum({8, 4});
  const auto part = [&](int64_t offset) {
    const int id = b.Sum({4, 4});
    b.program.symbols[id].parent = sum;
    b.program.symbols[id].offset = offset;
    return id;
  };
  const int dh = b.ScatterGrad(4);
  b.Node(NodeKind::kWeightGrad, {b.Saved(0, 4), dh}, part(0));
  b.Node(NodeKind::kWeightGrad, {b.Saved(1, 4), dh}, part(16));
  b.program.results = {sum};
  b.program.is_derivative = true;
  const Variant leaf = Specialize(f.program, &b.program, Leaves());
  ASSERT_EQ(leaf.parts.size(), 1u);
  EXPECT_EQ(leaf.parts[0].result, 0);
  EXPECT_EQ(leaf.parts[0].offset, 16);
}

}  // namespace
}  // namespace cavs
