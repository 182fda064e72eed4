#include "cc/ir/passes/merge_matmuls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/ir/passes/classify.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using E = Elementwise;

void Merge(Sketch* f) {
  ASSERT_TRUE(Classify({}, &f->program).ok());
  MergeMatMuls(&f->program);
}

std::vector<const Node*> NodesOf(const Sketch& f, NodeKind kind) {
  std::vector<const Node*> nodes;
  for (const Node& node : f.program.nodes) {
    if (node.kind == kind) nodes.push_back(&node);
  }
  return nodes;
}

size_t Count(const Sketch& f, NodeKind kind) { return NodesOf(f, kind).size(); }

// Where in which symbol's rows `id` lies.
std::pair<int, int64_t> Place(const Sketch& f, int id) {
  int64_t offset;
  const int root = f.program.Root(id, &offset);
  return {root, offset};
}

TEST(MergeMatMulsTest, ASecondProductAddsToWhatTheEagerOneWrote) {
  for (bool eager_first : {false, true}) {
    Sketch f;
    const int h = f.Gather(0, 8), x = f.Pull(0, 8);
    const int w = f.Capture(0, {8, 8}), u = f.Capture(1, {8, 8});
    const int of_x = f.MatMul(x, w), of_h = f.MatMul(h, u);
    const int sum =
        eager_first ? f.Call(E::kAdd, of_x, of_h) : f.Call(E::kAdd, of_h, of_x);
    f.Scatter(f.Call(E::kTanh, sum));
    Merge(&f);
    const auto products = NodesOf(f, NodeKind::kMatMul);
    ASSERT_EQ(products.size(), 2u);
    EXPECT_EQ(Count(f, NodeKind::kElementwise), 1u) << "no sum is left";
    EXPECT_EQ(products[0]->inputs, (std::vector<int>{x, w}));
    EXPECT_EQ(products[0]->outputs, std::vector<int>{sum});
    EXPECT_EQ(products[0]->stage, Stage::kEager);
    EXPECT_FALSE(products[0]->accumulate);
    EXPECT_EQ(products[1]->inputs, (std::vector<int>{h, u}));
    EXPECT_EQ(products[1]->outputs, std::vector<int>{sum});
    EXPECT_EQ(products[1]->stage, Stage::kCritical);
    EXPECT_TRUE(products[1]->accumulate);
  }
}

TEST(MergeMatMulsTest, AProductAddsToWhatAnElementwiseOperatorWrote) {
  Sketch f;
  const int h = f.Gather(0, 8), x = f.Pull(0, 8);
  const int biased = f.Call(E::kAdd, x, f.Capture(0, {8}));
  const int sum = f.Call(E::kAdd, biased, f.MatMul(h, f.Capture(1, {8, 8})));
  f.Scatter(sum);
  Merge(&f);
  ASSERT_EQ(Count(f, NodeKind::kElementwise), 1u);
  EXPECT_EQ(NodesOf(f, NodeKind::kElementwise)[0]->outputs,
            std::vector<int>{sum});
  ASSERT_EQ(Count(f, NodeKind::kMatMul), 1u);
  EXPECT_TRUE(NodesOf(f, NodeKind::kMatMul)[0]->accumulate);
}

TEST(MergeMatMulsTest, AllTermsOfALongSumOfProductsGoToOnePlace) {
  Sketch f;
  const int h0 = f.Gather(0, 8), h1 = f.Gather(1, 8), x = f.Pull(0, 8);
  int sum = f.MatMul(x, f.Capture(0, {8, 8}));
  sum = f.Call(E::kAdd, sum, f.MatMul(h0, f.Capture(1, {8, 8})));
  sum = f.Call(E::kAdd, f.MatMul(h1, f.Capture(2, {8, 8})), sum);
  f.Scatter(sum);
  Merge(&f);
  EXPECT_EQ(Count(f, NodeKind::kElementwise), 0u);
  const auto products = NodesOf(f, NodeKind::kMatMul);
  ASSERT_EQ(products.size(), 3u);
  for (const Node* product : products) {
    EXPECT_EQ(product->outputs, std::vector<int>{sum});
    EXPECT_EQ(product->accumulate, product != products[0]);
  }
}

// Figure 4 of arXiv:1712.04048: every gate is written out.
TEST(MergeMatMulsTest, GatesWrittenOneByOneBecomeOneProductForEachOperand) {
  Sketch f;
  const int h = f.Gather(0, 16), x = f.Pull(0, 16);
  std::vector<int> ws, us, sums;
  for (int gate = 0; gate < 4; ++gate) {
    ws.push_back(f.Capture(3 * gate, {16, 16}));
    us.push_back(f.Capture(3 * gate + 1, {16, 16}));
    sums.push_back(
        f.Call(E::kAdd, f.MatMul(x, ws.back()), f.MatMul(h, us.back())));
  }
  std::vector<int> gates;
  for (int gate = 0; gate < 4; ++gate) {
    const int biased =
        f.Call(E::kAdd, sums[gate], f.Capture(3 * gate + 2, {16}));
    gates.push_back(f.Call(gate == 3 ? E::kTanh : E::kSigmoid, biased));
  }
  f.Scatter(f.Call(E::kMul, f.Call(E::kMul, gates[0], gates[1]),
                   f.Call(E::kMul, gates[2], gates[3])));
  Merge(&f);
  const auto products = NodesOf(f, NodeKind::kMatMul);
  ASSERT_EQ(products.size(), 2u);
  const Node &eager = *products[0], &critical = *products[1];
  EXPECT_EQ(eager.inputs, (std::vector<int>{x, ws[0], ws[1], ws[2], ws[3]}));
  EXPECT_EQ(critical.inputs, (std::vector<int>{h, us[0], us[1], us[2], us[3]}));
  EXPECT_EQ(eager.stage, Stage::kEager);
  EXPECT_EQ(critical.stage, Stage::kCritical);
  EXPECT_FALSE(eager.accumulate);
  EXPECT_TRUE(critical.accumulate);
  EXPECT_EQ(Place(f, eager.outputs[0]), Place(f, critical.outputs[0]));
  const int whole = Place(f, eager.outputs[0]).first;
  EXPECT_EQ(f.columns(eager.outputs[0]), 64);
  EXPECT_EQ(f.columns(critical.outputs[0]), 64);
  EXPECT_EQ(f.columns(whole), 64);
  for (int gate = 0; gate < 4; ++gate) {
    EXPECT_EQ(Place(f, sums[gate]), std::make_pair(whole, int64_t{16 * gate}));
  }
}

TEST(MergeMatMulsTest, GatesWhoseBiasComesBetweenTheProductsDoSoToo) {
  Sketch f;
  const int h = f.Gather(0, 16), x = f.Pull(0, 16);
  std::vector<int> gates;
  for (int gate = 0; gate < 2; ++gate) {
    const int biased =
        f.Call(E::kAdd, f.MatMul(x, f.Capture(3 * gate, {16, 16})),
               f.Capture(3 * gate + 1, {16}));
    gates.push_back(f.Call(E::kAdd, biased,
                           f.MatMul(h, f.Capture(3 * gate + 2, {16, 16}))));
  }
  f.Scatter(f.Call(E::kMul, gates[0], gates[1]));
  Merge(&f);
  const auto products = NodesOf(f, NodeKind::kMatMul);
  ASSERT_EQ(products.size(), 2u);
  EXPECT_EQ(products[0]->inputs.size(), 3u);
  EXPECT_EQ(products[1]->inputs.size(), 3u);
  EXPECT_TRUE(products[1]->accumulate);
  const int whole = Place(f, products[1]->outputs[0]).first;
  EXPECT_EQ(Place(f, gates[0]), std::make_pair(whole, int64_t{0}));
  EXPECT_EQ(Place(f, gates[1]), std::make_pair(whole, int64_t{16}));
}

TEST(MergeMatMulsTest, OnlyTheLastOfTheWeightsSideBySideMayBeOfAnyWidth) {
  const auto widths = [](const std::vector<int64_t>& columns) {
    Sketch f;
    const int x = f.Pull(0, 8);
    for (size_t i = 0; i < columns.size(); ++i) {
      f.Push(i, f.MatMul(x, f.Capture(i, {8, columns[i]})));
    }
    Merge(&f);
    std::vector<int64_t> merged;
    for (const Node* node : NodesOf(f, NodeKind::kMatMul)) {
      merged.push_back(f.columns(node->outputs[0]));
    }
    return merged;
  };
  using Widths = std::vector<int64_t>;
  EXPECT_EQ(widths({16, 5}), Widths{21});
  EXPECT_EQ(widths({5, 16}), (Widths{5, 16}));
  EXPECT_EQ(widths({8, 8}), (Widths{8, 8}));
  EXPECT_EQ(widths({16, 32, 48, 1}), Widths{97});
  EXPECT_EQ(widths({16, 5, 16}), (Widths{21, 16}));
}

TEST(MergeMatMulsTest, ProductsThatDifferInMoreThanTheWeightStayApart) {
  Sketch f;
  const int h = f.Gather(0, 16), x = f.Pull(0, 16), y = f.Pull(1, 16);
  const int w = f.Capture(0, {16, 16});
  f.Push(0, f.MatMul(x, w));
  f.Push(1, f.MatMul(x, w, true));  // Transposed.
  f.Push(2, f.MatMul(y, w));        // Another operand.
  f.Scatter(f.MatMul(h, w));        // Another stage.
  f.Push(3, f.MatMul(h, w));
  Merge(&f);
  EXPECT_EQ(Count(f, NodeKind::kMatMul), 5u);
}

TEST(MergeMatMulsTest, TransposedWeightsStandSideBySideToo) {
  Sketch f;
  const int x = f.Pull(0, 8);
  const int w = f.Capture(0, {16, 8}), u = f.Capture(1, {32, 8});
  const int first = f.MatMul(x, w, true), second = f.MatMul(x, u, true);
  f.Push(0, first);
  f.Push(1, second);
  Merge(&f);
  const auto products = NodesOf(f, NodeKind::kMatMul);
  ASSERT_EQ(products.size(), 1u);
  EXPECT_TRUE(products[0]->transpose);
  EXPECT_EQ(Place(f, first).second, 0);
  EXPECT_EQ(Place(f, second).second, 16);
  EXPECT_EQ(Place(f, first).first, Place(f, second).first);
}

TEST(MergeMatMulsTest, AProductThatIsAPieceAlreadyStaysWhereItIs) {
  Sketch f;
  const int x = f.Pull(0, 16), w = f.Capture(0, {16, 16});
  const int first = f.MatMul(x, w), second = f.MatMul(x, w);
  f.Push(0, f.Concat({second, x}));
  f.Push(1, first);
  Merge(&f);
  EXPECT_EQ(Count(f, NodeKind::kMatMul), 2u);
}

// Either product of h adds to what a product of x wrote in the same stage.
TEST(MergeMatMulsTest, ProductsThatAddAfterOthersOfTheirStageStayInOrder) {
  Sketch f;
  const int h = f.Gather(0, 16), g = f.Gather(1, 16);
  const int w = f.Capture(0, {16, 16});
  std::vector<int> sums;
  for (int i = 0; i < 2; ++i) {
    sums.push_back(
        f.Call(E::kAdd, f.MatMul(f.Call(E::kTanh, g), w), f.MatMul(h, w)));
  }
  f.Scatter(f.Concat(sums));
  Merge(&f);
  size_t i = 0;
  for (const Node* product : NodesOf(f, NodeKind::kMatMul)) {
    EXPECT_EQ(product->outputs, std::vector<int>{sums[i / 2]});
    EXPECT_EQ(product->accumulate, i % 2 == 1);
    ++i;
  }
  EXPECT_EQ(i, 4u);
}

// Sums x W + h U which must be left as they are, each with one reason why.
class LeftAsTheyAre : public testing::Test {
 protected:
  LeftAsTheyAre() {
    h_ = f_.Gather(0, 8);
    x_ = f_.Pull(0, 8);
    of_x_ = f_.MatMul(x_, f_.Capture(0, {8, 8}));
    of_h_ = f_.MatMul(h_, f_.Capture(1, {8, 8}));
  }
  void AddAndScatter() {
    f_.Scatter(f_.Call(E::kTanh, f_.Call(E::kAdd, of_x_, of_h_)));
  }
  bool Merged() {
    Merge(&f_);
    const auto products = NodesOf(f_, NodeKind::kMatMul);
    return std::any_of(products.begin(), products.end(),
                       [](const Node* node) { return node->accumulate; });
  }

  Sketch f_;
  int h_, x_, of_x_, of_h_;
};

TEST_F(LeftAsTheyAre, OnlyForAReason) {
  AddAndScatter();
  EXPECT_TRUE(Merged());
}

TEST_F(LeftAsTheyAre, IfATermIsOnTheTape) {
  AddAndScatter();
  f_.program.results = {of_x_};
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfTheProductIsOnTheTape) {
  AddAndScatter();
  f_.program.results = {of_h_};
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfATermIsReadTwice) {
  AddAndScatter();
  f_.Push(0, of_x_);
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfTheProductIsReadTwice) {
  AddAndScatter();
  f_.Push(0, of_h_);
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfAPieceOfATermIsRead) {
  AddAndScatter();
  f_.Push(0, f_.View(of_x_, 2, 3));
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfTheTermsArePiecesOfOneTensor) {
  f_.Concat({of_x_, of_h_});
  AddAndScatter();
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfTheSumIsAddedToInPlace) {
  AddAndScatter();
  const int sum = f_.program.nodes[4].outputs[0];
  f_.Node(NodeKind::kElementwise, {sum, x_}, sum);
  f_.program.nodes.back().elementwise = E::kAdd;
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfTheTermComesFromOutside) {
  f_.Scatter(f_.Call(E::kAdd, f_.Pull(1, 8), of_h_));
  f_.Push(0, of_x_);
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfOneTermIsBroadcast) {
  const int column = f_.MatMul(h_, f_.Capture(2, {8, 1}));
  f_.Scatter(f_.Call(E::kAdd, of_h_, column));
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfTheyAreMultipliedRatherThanAdded) {
  f_.Scatter(f_.Call(E::kMul, of_x_, of_h_));
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfAProductIsAddedToItself) {
  f_.Scatter(f_.Call(E::kAdd, of_h_, of_h_));
  f_.Push(0, of_x_);
  EXPECT_FALSE(Merged());
}

TEST_F(LeftAsTheyAre, IfTheProductIsOfAnEarlierStageThanTheSum) {
  f_.Scatter(f_.Call(E::kAdd, f_.Call(E::kTanh, of_h_), of_x_));
  EXPECT_FALSE(Merged());
}

// A derivative whose `terms` are summed to the gradient of one capture.
struct Gradient {
  Sketch f;
  int dstate = f.ScatterGrad(8), dy = f.PushGrad(0, 8);
  int total = -1;

  void Sum(const std::vector<int>& terms) {
    total = f.Foreign(nullptr, terms, f.Sum(f.program.symbols[terms[0]].shape));
    f.program.nodes.back().adds = true;
    f.program.results.push_back(total);
    f.GatherGrad(0, dstate);
  }
};

TEST(MergeMatMulsTest, GradientsOfOneWeightAreSummedInOnePlace) {
  Gradient g;
  g.Sum({g.f.WeightGrad(g.dy, g.dstate), g.f.WeightGrad(g.dstate, g.dy),
         g.f.WeightGrad(g.dy, g.dy)});
  Merge(&g.f);
  EXPECT_EQ(Count(g.f, NodeKind::kForeign), 0u);
  ASSERT_EQ(Count(g.f, NodeKind::kWeightGrad), 3u);
  for (const Node* node : NodesOf(g.f, NodeKind::kWeightGrad)) {
    EXPECT_EQ(node->outputs, std::vector<int>{g.total});
  }
}

TEST(MergeMatMulsTest, SumsOverRowsAreSummedInOnePlace) {
  Gradient g;
  g.Sum({g.f.SumRows(g.dy), g.f.SumRows(g.dstate)});
  Merge(&g.f);
  EXPECT_EQ(Count(g.f, NodeKind::kForeign), 0u);
  for (const Node* node : NodesOf(g.f, NodeKind::kSumRows)) {
    EXPECT_EQ(node->outputs, std::vector<int>{g.total});
  }
}

// `of` in another shape.
int Reshaped(Gradient* g, int of, std::vector<int64_t> shape) {
  const int view = g->f.Sum(std::move(shape));
  g->f.program.symbols[view].parent = of;
  return view;
}

// As gradients of a bias come.
TEST(MergeMatMulsTest, SumsOfAnotherShapeAreSummedInOnePlace) {
  Gradient g;
  g.Sum({Reshaped(&g, g.f.SumRows(g.dy), {1, 8}),
         Reshaped(&g, g.f.SumRows(g.dstate), {1, 8})});
  Merge(&g.f);
  EXPECT_EQ(Count(g.f, NodeKind::kForeign), 0u);
  for (const Node* node : NodesOf(g.f, NodeKind::kSumRows)) {
    EXPECT_EQ(node->outputs, std::vector<int>{g.total});
  }
}

TEST(MergeMatMulsTest, SumsThatAreNotAlikeAreNotMoved) {
  for (int reason = 0; reason < 4; ++reason) {
    SCOPED_TRACE(reason);
    Gradient g;
    const int first = g.f.WeightGrad(g.dy, g.dstate);
    const int high = g.f.WeightGrad(g.f.Saved(0, 16), g.f.Saved(1, 4));
    const int second = g.f.WeightGrad(g.dstate, g.dy);
    if (reason == 0) g.Sum({first, Reshaped(&g, high, {8, 8})});
    if (reason == 1) g.Sum({Reshaped(&g, high, {8, 8}), first});
    if (reason == 2) {  // The same sum twice.
      g.Sum({Reshaped(&g, first, {8, 8}), Reshaped(&g, first, {8, 8})});
    }
    if (reason == 3) g.Sum({first, second});
    ASSERT_TRUE(Classify({}, &g.f.program).ok());
    for (Node& node : g.f.program.nodes) {
      if (node.outputs == std::vector<int>{second} && reason == 3) {
        node.stage = Stage::kCritical;  // Beside what is eager or lazy.
      }
    }
    MergeMatMuls(&g.f.program);
    EXPECT_EQ(Count(g.f, NodeKind::kForeign), 1u);
  }
}

TEST(MergeMatMulsTest, SumsThatOthersSeeAreNotMoved) {
  for (int reason = 0; reason < 8; ++reason) {
    SCOPED_TRACE(reason);
    Gradient g;
    const int first = g.f.WeightGrad(g.dy, g.dstate);
    const int second = g.f.WeightGrad(g.dstate, g.dy);
    std::vector<int> terms = {first, second};
    if (reason == 1) terms = {first, first};
    if (reason == 2)
      terms[1] =
          g.f.Node(NodeKind::kSumRows, {g.f.Saved(0, 64)}, g.f.Sum({8, 8}));
    if (reason == 3) terms[1] = g.f.Foreign(nullptr, {g.dy}, g.f.Sum({8, 8}));
    g.Sum(terms);
    if (reason == 0) g.f.program.results.push_back(first);
    if (reason == 4) g.f.Foreign(nullptr, {first}, g.f.Sum({8, 8}));
    if (reason == 5) {
      g.f.program.results.push_back(Reshaped(&g, second, {64}));
    }
    if (reason >= 6) {  // Another reads a piece, or all of it in another shape.
      const int view = Reshaped(&g, second, {reason == 6 ? 8 : 64});
      g.f.Foreign(nullptr, {view}, g.f.Sum({8, 8}));
    }
    Merge(&g.f);
    const auto foreign = NodesOf(g.f, NodeKind::kForeign);
    EXPECT_TRUE(std::any_of(foreign.begin(), foreign.end(),
                            [](const Node* node) { return node->adds; }));
  }
}

TEST(MergeMatMulsTest, OtherOperatorsOnSumsAreNotTakenForSums) {
  Gradient g;
  g.Sum({g.f.WeightGrad(g.dy, g.dstate), g.f.WeightGrad(g.dstate, g.dy)});
  for (Node& node : g.f.program.nodes) node.adds = false;
  Merge(&g.f);
  EXPECT_EQ(Count(g.f, NodeKind::kForeign), 1u);
}

}  // namespace
}  // namespace cavs
