#include "cc/ir/label.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

Node Operator(NodeKind kind, const char* op, const char* name = "cell/op") {
  Node node;
  node.kind = kind;
  node.op = op;
  node.name = name;
  return node;
}

TEST(LabelTest, AnOperatorGoesByTheFrameworksName) {
  EXPECT_EQ(Label(Operator(NodeKind::kForeign, "Softmax")), "Softmax");
  EXPECT_EQ(Label(Operator(NodeKind::kElementwise, "Tanh")), "Tanh");
  EXPECT_EQ(Label(Operator(NodeKind::kMatMul, "MatMul")), "MatMul");
}

TEST(LabelTest, NodesThatMoveRowsSayWhichSlotOrInput) {
  Sketch f;
  f.Gather(1, 4);
  EXPECT_EQ(Label(f.program.nodes[0]), "gather(1)");
  f.Push(2, f.Pull(0, 4));
  EXPECT_EQ(Label(f.program.nodes[1]), "pull(0)");
  EXPECT_EQ(Label(f.program.nodes[2]), "push(2)");
}

TEST(LabelTest, AWeightGradientIsNotTheProductThatItWasTracedAs) {
  EXPECT_EQ(Label(Operator(NodeKind::kWeightGrad, "MatMul")),
            "weight gradient");
}

TEST(LabelTest, AMergedProductNamesTheLayersItIsMadeOf) {
  Node node = Operator(NodeKind::kMatMul, "MatMul", "gates/i/MatMul");
  node.merged = {"gates/f/MatMul", "plain", "MatMul", "gates/MatMul_1"};
  // Only "/MatMul" at the end of a longer name is cut off.
  EXPECT_EQ(Label(node),
            "MatMul x5 (gates/i, gates/f, plain, MatMul, gates/MatMul_1)");
}

TEST(LabelTest, AGroupCountsItsOperatorsInTheOrderInWhichTheyOccur) {
  Node group = Operator(NodeKind::kGroup, "");
  for (const char* op : {"AddV2", "Tanh", "AddV2", "Sigmoid", "AddV2"}) {
    group.members.push_back(Operator(NodeKind::kElementwise, op));
  }
  EXPECT_EQ(Label(group), "group of 5: AddV2 x3, Tanh, Sigmoid");
}

}  // namespace
}  // namespace cavs
