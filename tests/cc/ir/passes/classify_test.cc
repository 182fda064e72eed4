#include "cc/ir/passes/classify.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cc/ir/program.h"
#include "tests/cc/exec/tree_lstm.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using Names = std::set<std::string>;

// The stage of every node, in order: "eager critical lazy".
std::string Stages(Program program, ClassifyOptions options = {}) {
  const Status status = Classify(options, &program);
  if (!status.ok()) return status.message();
  std::string stages;
  for (const Node& node : program.nodes) {
    stages += (stages.empty() ? "" : " ") + std::string(ToString(node.stage));
  }
  return stages;
}

// Which names the nodes of each stage go by.
std::map<std::string, Names> NamesByStage(Program program) {
  const Status status = Classify({}, &program);
  EXPECT_TRUE(status.ok()) << status.message();
  std::map<std::string, Names> names;
  for (const Node& node : program.nodes) {
    names[ToString(node.stage)].insert(node.name);
  }
  return names;
}

TEST(ClassifyTest, FollowsStateFromGatherToScatter) {
  Sketch f;
  const int h = f.Gather(0, 4);                             // critical
  const int x = f.Pull(0, 4);                               // eager
  const int projected = f.MatMul(x, f.Capture(0, {4, 4}));  // eager
  const int sum = f.Call(Elementwise::kAdd, h, projected);  // critical
  f.Scatter(sum);                                           // critical
  const int y = f.MatMul(sum, f.Capture(1, {4, 2}));        // lazy
  f.Push(0, y);                                             // lazy
  EXPECT_EQ(Stages(f.program),
            "critical eager eager critical critical lazy lazy");
}

TEST(ClassifyTest, WithoutGatherEverythingIsEager) {
  Sketch f;
  const int x = f.Pull(0, 4);
  f.Scatter(x);
  f.Push(0, f.Call(Elementwise::kTanh, x));
  EXPECT_EQ(Stages(f.program), "eager eager eager eager");
}

TEST(ClassifyTest, AGatherThatOnlyAPushReadsIsLazy) {
  Sketch f;
  f.Scatter(f.Pull(0, 4));
  f.Push(0, f.Gather(0, 4));
  EXPECT_EQ(Stages(f.program), "eager eager lazy lazy");
}

TEST(ClassifyTest, SlotsAreClassifiedOneByOne) {
  Sketch f;
  f.Scatter(f.Gather(0, 4));
  f.Push(0, f.Gather(1, 4));
  EXPECT_EQ(Stages(f.program), "critical critical lazy lazy");
}

TEST(ClassifyTest, InADerivativeScatterAndGatherSwapRoles) {
  Sketch f;
  const int dstate = f.ScatterGrad(4);                         // critical
  const int dpush = f.PushGrad(0, 4);                          // eager
  const int dy = f.MatMul(dpush, f.Capture(0, {4, 4}), true);  // eager
  const int dz = f.Call(Elementwise::kAdd, dstate, dy);        // critical
  f.GatherGrad(0, f.MatMul(dz, f.Capture(1, {4, 4}), true));   // critical x2
  f.PullGrad(0, dz);                                           // lazy
  f.program.results = {f.WeightGrad(f.Saved(0, 4), dz),        // lazy
                       f.WeightGrad(f.Saved(1, 4), dpush)};    // eager
  EXPECT_EQ(Stages(f.program),
            "critical eager eager critical critical critical lazy lazy eager");
}

TEST(ClassifyTest, WithoutAGatherTheStateGradientIsLazy) {
  Sketch f;
  f.PullGrad(0, f.ScatterGrad(4));
  EXPECT_EQ(Stages(f.program), "lazy lazy");
}

TEST(ClassifyTest, AGatherGradientOfPushesAloneIsEager) {
  Sketch f;
  f.GatherGrad(0, f.PushGrad(0, 4));
  EXPECT_EQ(Stages(f.program), "eager eager");
}

TEST(ClassifyTest, WhatInvolvesNoRowIsPrologueOrEpilogue) {
  Sketch f;
  const int w = f.Foreign(nullptr, {f.Capture(0, {4})}, f.Invariant({4}));
  const int dx = f.ScatterGrad(4);                          // lazy
  const int dy = f.Call(Elementwise::kMul, dx, w);          // lazy
  const int first = f.SumRows(dx), second = f.SumRows(dy);  // lazy
  const int sum = f.Foreign(nullptr, {first, second}, f.Sum({4}));
  f.Foreign(nullptr, {sum, w}, f.Sum({4}));
  EXPECT_EQ(Stages(f.program),
            "prologue lazy lazy lazy lazy epilogue epilogue");
}

TEST(ClassifyTest, RowCountsHaveRowsOfWhateverIsComputed) {
  Sketch f;
  const int count = f.Add(SymbolKind::kRowCount, {2});
  const int x = f.Foreign(nullptr, {count}, f.Rows(4));  // eager
  const int h = f.Gather(0, 4);                          // critical
  const int y = f.Foreign(nullptr, {count, h}, f.Rows(4));
  f.Scatter(f.Call(Elementwise::kAdd, x, y));
  EXPECT_EQ(Stages(f.program), "eager critical critical critical critical");
}

TEST(ClassifyTest, ZerosAndVertexIdsAreEager) {
  Sketch f;
  const int zero = f.Zero(4);
  f.Scatter(f.Call(Elementwise::kAdd, zero, f.Gather(0, 4)));
  f.Node(NodeKind::kVertexIds, {}, f.Rows(1));
  EXPECT_EQ(Stages(f.program), "eager critical critical critical eager");
}

TEST(ClassifyTest, ViewsCarryStateOnlyWhereTheyOverlap) {
  // The state is (a, b): a goes from gather to scatter, b is replaced.
  Sketch f;
  const int state = f.Gather(0, 8);                               // critical
  const int b = f.Call(Elementwise::kTanh, f.View(state, 4, 4));  // lazy
  f.Push(0, b);                                                   // lazy
  const int x = f.Pull(0, 4);                                     // eager
  const int a = f.Call(Elementwise::kTanh, f.View(state, 0, 4));  // critical
  f.Scatter(f.Concat({a, x}));                                    // critical
  EXPECT_EQ(Stages(f.program), "critical lazy lazy eager critical critical");
}

TEST(ClassifyTest, ACriticalPieceDoesNotMakeAnEagerPieceCritical) {
  Sketch f;
  const int x = f.Pull(0, 4);
  const int left = f.Call(Elementwise::kTanh, x);  // eager
  const int right = f.Gather(0, 4);                // critical
  const int whole = f.Concat({left, right});
  f.Push(0, f.Call(Elementwise::kNeg, left));        // eager
  f.Push(1, f.Call(Elementwise::kNeg, right));       // lazy
  f.Scatter(f.MatMul(whole, f.Capture(0, {8, 8})));  // critical
  EXPECT_EQ(Stages(f.program),
            "eager eager critical eager eager lazy lazy critical critical");
}

TEST(ClassifyTest, TheWholeDependsOnEveryPiece) {
  Sketch f;
  const int whole = f.Concat({f.Pull(0, 4), f.Gather(0, 4)});
  f.Scatter(f.Pull(1, 4));
  f.Push(0, f.Call(Elementwise::kNeg, whole));
  EXPECT_EQ(Stages(f.program), "eager lazy eager eager lazy lazy");
}

TEST(ClassifyTest, AViewThatStraddlesTwoPiecesDependsOnBoth) {
  Sketch f;
  const int whole = f.Concat({f.Pull(0, 4), f.Gather(0, 4)});
  f.Scatter(f.Call(Elementwise::kNeg, f.View(whole, 3, 2)));
  f.Push(0, f.Call(Elementwise::kNeg, f.View(whole, 0, 4)));
  EXPECT_EQ(Stages(f.program), "eager critical critical critical eager eager");
}

TEST(ClassifyTest, ACopiedPieceIsPlacedByWhatItCopies) {
  Sketch f;
  const int x = f.Pull(0, 4);         // eager
  const int h = f.Gather(0, 4);       // critical
  f.Scatter(f.Concat({x, x, h, h}));  // x, h move; copies: eager, crit.
  EXPECT_EQ(Stages(f.program), "eager critical eager critical critical");
}

TEST(ClassifyTest, SumsInPlaceArePlacedTermByTerm) {
  Sketch f;
  const int sum = f.Call(Elementwise::kAdd, f.Pull(0, 4), f.Pull(1, 4));
  f.Node(NodeKind::kElementwise, {sum, f.Gather(0, 4)}, sum);
  f.program.nodes.back().elementwise = Elementwise::kAdd;
  f.Scatter(sum);
  EXPECT_EQ(Stages(f.program), "eager eager eager critical critical critical");
}

TEST(ClassifyTest, SwitchesMakeOperatorsCriticalAndNothingElse) {
  Sketch f;
  const int w = f.Foreign(nullptr, {f.Capture(0, {4})}, f.Invariant({4}));
  const int h = f.Gather(0, 4);
  f.Scatter(f.Call(Elementwise::kMul, h, w));
  f.Push(0, f.Pull(0, 4));
  f.Push(1, h);
  EXPECT_EQ(Stages(f.program),
            "prologue critical critical critical eager eager lazy");
  ClassifyOptions options;
  options.eager = false;
  EXPECT_EQ(Stages(f.program, options),
            "prologue critical critical critical critical critical lazy");
  options.lazy = false;
  EXPECT_EQ(Stages(f.program, options),
            "prologue critical critical critical critical critical critical");
  options.eager = true;
  EXPECT_EQ(Stages(f.program, options),
            "prologue critical critical critical eager eager critical");
}

TEST(ClassifyTest, AnOpaqueValuePinsItsMakerAndItsReaders) {
  Sketch f;
  const int list = f.Foreign(nullptr, {f.Pull(0, 4)}, f.Opaque());
  f.Push(0, f.Foreign(nullptr, {list}, f.Rows(4)));
  EXPECT_EQ(Stages(f.program), "eager critical critical critical");
}

TEST(ClassifyTest, EagerOperatorsAfterAnOpaqueValueFollowIt) {
  Sketch f;
  const int list = f.Foreign(nullptr, {f.Pull(0, 4)}, f.Opaque());
  const int x = f.Foreign(nullptr, {list}, f.Rows(4));
  const int other = f.Call(Elementwise::kTanh, f.Pull(1, 4));  // eager
  f.Push(0, f.Call(Elementwise::kAdd, x, other));              // critical
  f.Scatter(other);                                            // eager
  EXPECT_EQ(Stages(f.program),
            "eager critical critical eager eager critical critical eager");
}

TEST(ClassifyTest, LazyOperatorsBeforeAnOpaqueValuePrecedeIt) {
  Sketch f;
  const int h = f.Gather(0, 4);                          // critical
  f.Scatter(f.Pull(0, 4));                               // eager
  const int x = f.Call(Elementwise::kTanh, h);           // critical
  const int other = f.Call(Elementwise::kNeg, h);        // lazy
  const int list = f.Foreign(nullptr, {x}, f.Opaque());  // critical
  const int y = f.Foreign(nullptr, {list}, f.Rows(4));   // critical
  f.Push(0, f.Call(Elementwise::kAdd, y, other));        // lazy
  EXPECT_EQ(Stages(f.program),
            "critical eager eager critical lazy critical critical lazy lazy");
}

TEST(ClassifyTest, AnOpaqueValuePinsThroughViewsOfItsOperands) {
  Sketch f;
  const int whole = f.Concat({f.Gather(0, 4), f.Gather(1, 4)});  // lazy
  f.Scatter(f.Pull(0, 4));
  f.Push(0, f.Foreign(nullptr,
                      {f.Foreign(nullptr, {f.View(whole, 1, 2)}, f.Opaque())},
                      f.Rows(2)));
  EXPECT_EQ(Stages(f.program),
            "critical lazy eager eager critical critical lazy");
}

TEST(ClassifyTest, JoiningRowsWithASumOverRowsIsRejected) {
  Sketch f;
  const int x = f.Pull(0, 4);
  const int mean = f.SumRows(x);
  f.Foreign(nullptr, {x, mean}, f.Rows(4));
  f.Name("center");
  f.program.nodes.back().op = "Sub";
  const Status status = Classify({}, &f.program);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "vertex function: operator center (Sub) joins rows with a sum over "
            "rows but expected rows to be independent. Compute what depends on "
            "several vertices outside of the vertex function.");
}

TEST(ClassifyTest, AnEmptyProgramIsValid) { EXPECT_EQ(Stages(Program()), ""); }

// Figure 7 of arXiv:1712.04048.
TEST(ClassifyTest, TreeLstmHasTheColoursOfThePaper) {
  const auto names =
      NamesByStage(TreeLstm(DType::kFloat32, 5, 3, nullptr).Forward());
  EXPECT_EQ(names, (std::map<std::string, Names>{
                       {"eager", {"pull", "x W", "x W + b"}},
                       {"critical",
                        {"gather", "h0 + h1", "h U", "z", "gate", "f c", "i u",
                         "c", "tanh c", "h", "scatter"}},
                       {"lazy", {"push"}}}));
}

TEST(ClassifyTest, TheDerivativeOfTreeLstmHasTheColoursOfThePaper) {
  const auto names =
      NamesByStage(TreeLstm(DType::kFloat32, 5, 3, nullptr).Backward());
  EXPECT_EQ(
      names,
      (std::map<std::string, Names>{
          {"eager", {"push grad"}},
          {"critical",
           {"scatter grad", "dh", "dtanh", "through tanh", "dc", "dgate", "dz",
            "dz U'", "dh0 + dh1", "dck", "dhk", "gather grad"}},
          {"lazy", {"df0 + df1", "dz W'", "dx", "pull grad", "dW", "dU", "db"}},
          {"epilogue", {"dU0 + dU1"}}}));
}

TEST(ClassifyTest, StagesHaveNames) {
  EXPECT_STREQ(ToString(Stage::kPrologue), "prologue");
  EXPECT_STREQ(ToString(Stage::kEager), "eager");
  EXPECT_STREQ(ToString(Stage::kCritical), "critical");
  EXPECT_STREQ(ToString(Stage::kLazy), "lazy");
  EXPECT_STREQ(ToString(Stage::kEpilogue), "epilogue");
}

}  // namespace
}  // namespace cavs
