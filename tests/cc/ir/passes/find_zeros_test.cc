#include "cc/ir/passes/find_zeros.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/ir/passes/classify.h"
#include "cc/ir/passes/fuse_elementwise.h"
#include "cc/ir/passes/merge_matmuls.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm_cell.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

constexpr int64_t kUnits = 4;

int Weight(Sketch* f) { return f->Capture(0, {kUnits, kUnits}); }

Zeros Find(Sketch* f) {
  EXPECT_TRUE(Classify({}, &f->program).ok());
  return FindZeros(f->program);
}

TEST(FindZerosTest, WhatIsGatheredIsZeroAndSoAreItsPieces) {
  Sketch f;
  const int h = f.Gather(0, 2 * kUnits), x = f.Pull(0, kUnits);
  const int piece = f.View(h, kUnits, kUnits);
  const int product = f.MatMul(piece, Weight(&f));
  f.Scatter(f.Concat({f.Call(Elementwise::kAdd, product, x),
                      f.Call(Elementwise::kNeg, f.View(h, 0, kUnits))}));
  const Zeros zeros = Find(&f);
  EXPECT_TRUE(zeros.symbols[h]);
  EXPECT_TRUE(zeros.symbols[piece]);
  EXPECT_TRUE(zeros.symbols[product]) << "a piece was multiplied";
  EXPECT_FALSE(zeros.symbols[x]) << "an input is there without children too";
}

TEST(FindZerosTest, WhatKeepsZerosIsZeroThroughAnyNumberOfNodes) {
  Sketch f;
  const int h = f.Gather(0, kUnits), zero = f.Zero(kUnits);
  const int product = f.MatMul(h, Weight(&f));
  const int more = f.Call(Elementwise::kAdd, product, zero);
  const int copy = f.Node(NodeKind::kCopy, {more}, f.Rows(kUnits));
  const int sum = f.SumColumns(f.Call(Elementwise::kTanh, copy));
  f.Scatter(f.MatMul(f.Call(Elementwise::kMul, copy, sum), Weight(&f)));
  const int scattered = f.program.nodes.back().inputs[0];
  const Zeros zeros = Find(&f);
  for (int id : {h, zero, product, more, copy, sum, scattered}) {
    EXPECT_TRUE(zeros.symbols[id]) << "symbol " << id;
  }
}

TEST(FindZerosTest, WhatElseIsAddedIsNotZeroNorWhatIsMadeOfIt) {
  Sketch f;
  const int product = f.MatMul(f.Gather(0, kUnits), Weight(&f));
  const int biased = f.Call(Elementwise::kAdd, product, f.Capture(1, {kUnits}));
  const int pulled = f.Call(Elementwise::kAdd, product, f.Pull(0, kUnits));
  const int both = f.Call(Elementwise::kMul, f.Call(Elementwise::kTanh, biased),
                          f.MatMul(pulled, Weight(&f)));
  f.Scatter(both);
  const Zeros zeros = Find(&f);
  EXPECT_TRUE(zeros.symbols[product]);
  EXPECT_FALSE(zeros.symbols[biased]);
  EXPECT_FALSE(zeros.symbols[pulled]);
  EXPECT_FALSE(zeros.symbols[both]);
}

// What the backend makes of zeros.
double OfZeros(Elementwise op) {
  SerialWorkers workers;
  const CpuBackend backend(&workers);
  double x = 0, y = 0, out = 99;
  if (IsBinary(op)) {
    backend.Binary(op, DType::kFloat64, {&x, 1, 1, 1}, {&y, 1, 1, 1},
                   {&out, 1, 1, 1});
  } else {
    backend.Unary(op, DType::kFloat64, {&x, 1, 1, 1}, {&out, 1, 1, 1});
  }
  return out;
}

TEST(FindZerosTest, OperatorsThatTheBackendMapsToZeroAreThoseThatKeepIt) {
  for (const ElementwiseOperator& row : kElementwiseOperators) {
    const Elementwise op = row.op;
    Sketch f;
    const int h = f.Gather(0, kUnits);
    const int out = IsBinary(op) ? f.Call(op, h, h) : f.Call(op, h);
    f.Scatter(out);
    const Zeros zeros = Find(&f);
    EXPECT_EQ(zeros.symbols[out], OfZeros(op) == 0) << "operator " << row.name;
  }
}

TEST(FindZerosTest, SigmoidOfZeroIsNotZeroNorIsWhatItOpens) {
  Sketch f;
  const int h = f.Gather(0, kUnits), x = f.Pull(0, kUnits);
  const int hidden = f.MatMul(h, Weight(&f));
  const int gate = f.Call(Elementwise::kSigmoid, hidden);
  f.Scatter(f.Call(Elementwise::kMul, gate, x));
  const int opened = f.program.nodes.back().inputs[0];
  const Zeros zeros = Find(&f);
  EXPECT_TRUE(zeros.symbols[hidden]);
  EXPECT_FALSE(zeros.symbols[gate]);
  EXPECT_FALSE(zeros.symbols[opened]);
}

TEST(FindZerosTest, AConcatenationOfZerosIsZeroAndOfOthersIsNot) {
  Sketch f;
  const int x = f.Pull(0, kUnits);
  const int children = f.Concat({f.Gather(0, kUnits), f.Gather(1, kUnits)});
  const int mixed = f.Concat({x, f.Gather(2, kUnits)});
  const int weight = f.Capture(0, {2 * kUnits, kUnits});
  const int product = f.MatMul(children, weight);
  const int of_mixed = f.MatMul(mixed, weight);
  f.Scatter(f.Call(Elementwise::kAdd, product, of_mixed));
  const Zeros zeros = Find(&f);
  EXPECT_TRUE(zeros.symbols[children]);
  EXPECT_TRUE(zeros.symbols[product]);
  EXPECT_FALSE(zeros.symbols[mixed]);
  EXPECT_FALSE(zeros.symbols[of_mixed]);
}

TEST(FindZerosTest, WhatSeveralNodesWriteIsNotTakenForZero) {
  Sketch f;
  const int h = f.Gather(0, kUnits);
  const int sum = f.MatMul(f.Pull(0, kUnits), Weight(&f));
  f.Node(NodeKind::kMatMul, {h, Weight(&f)}, sum);
  f.program.nodes.back().accumulate = true;
  f.Scatter(sum);
  const Zeros zeros = Find(&f);
  EXPECT_TRUE(zeros.symbols[h]);
  EXPECT_FALSE(zeros.symbols[sum]) << "the first product is still there";
}

// What groups compute in scratch is no symbol in memory, and products that add
// to what others have written have no symbol of their own.
TEST(FindZerosTest, RewritingAProgramHidesNoZeros) {
  Sketch f;
  const int w = f.Capture(0, {kUnits, kUnits});
  const int sum = f.Call(Elementwise::kAdd, f.MatMul(f.Gather(0, kUnits), w),
                         f.MatMul(f.Gather(1, kUnits), w));
  const int hidden = f.Call(Elementwise::kNeg, sum);
  const int out = f.Call(Elementwise::kTanh, hidden);
  const int open = f.Call(Elementwise::kSigmoid, hidden);
  f.Scatter(f.MatMul(out, w));
  f.Push(0, f.MatMul(open, w));
  ASSERT_TRUE(Classify({}, &f.program).ok());
  MergeMatMuls(&f.program);
  FuseElementwise(&f.program);
  const Zeros zeros = FindZeros(f.program);
  for (int id : {sum, hidden, out}) EXPECT_TRUE(zeros.symbols[id]) << id;
  EXPECT_FALSE(zeros.symbols[open]);
}

TEST(FindZerosTest, AMemberOfAGroupThatServesChildrenAloneWantsNothing) {
  Sketch f;
  const int grad = f.ScatterGrad(kUnits), w = Weight(&f);
  const int for_child = f.MatMul(grad, w), wanted = f.MatMul(grad, w);
  f.GatherGrad(0, f.Call(Elementwise::kNeg, for_child));
  f.PullGrad(0, f.Call(Elementwise::kNeg, wanted));
  ClassifyOptions options;
  options.lazy = false;  // All in one group.
  ASSERT_TRUE(Classify(options, &f.program).ok());
  FuseElementwise(&f.program);
  const Zeros zeros = FindZeros(f.program);
  for (size_t i = 0; i < f.program.nodes.size(); ++i) {
    const Node& node = f.program.nodes[i];
    const bool alone = node.kind == NodeKind::kGatherGrad ||
                       node.outputs == std::vector<int>{for_child};
    EXPECT_EQ(zeros.only_for_children[i], alone) << RowOf(node.kind).name;
  }
}

TEST(FindZerosTest, ForeignOperatorsMayMakeAnythingOfZeros) {
  Sketch f;
  const int h = f.Gather(0, kUnits);
  const int out = f.Foreign(CopyOp(), {h}, f.Rows(kUnits));
  f.Scatter(out);
  const Zeros zeros = Find(&f);
  EXPECT_TRUE(zeros.symbols[h]);
  EXPECT_FALSE(zeros.symbols[out]);
}

// A derivative: dz, what it sends to the child, and to whom else.
struct Sent {
  explicit Sent(bool pulled) {
    const int saved = f.Saved(0, kUnits), state = f.ScatterGrad(kUnits);
    const int dz = f.Call(Elementwise::kTanhGrad, saved, state);
    const int dh = f.MatMul(dz, Weight(&f), /*transpose=*/true);
    f.GatherGrad(0, f.Call(Elementwise::kNeg, dh));
    if (pulled) f.PullGrad(0, dh);
    f.program.results = {f.WeightGrad(saved, dz)};
    zeros = Find(&f);
  }
  bool only_for_children(int node) const {
    return zeros.only_for_children[node];
  }

  Sketch f;
  Zeros zeros = Zeros(Program());
};

enum SentNode { kStateGrad, kDz, kDh, kNegated, kGatherGrad };

TEST(FindZerosTest, WhatIsComputedForChildrenAloneIsMarked) {
  const Sent sent(/*pulled=*/false);
  EXPECT_TRUE(sent.only_for_children(kDh));
  EXPECT_TRUE(sent.only_for_children(kNegated));
  EXPECT_TRUE(sent.only_for_children(kGatherGrad));
  EXPECT_FALSE(sent.only_for_children(kStateGrad));
  EXPECT_FALSE(sent.only_for_children(kDz)) << "the weight's gradient needs it";
}

TEST(FindZerosTest, WhatSomeoneElseReadsIsNotForChildrenAlone) {
  const Sent sent(/*pulled=*/true);
  EXPECT_FALSE(sent.only_for_children(kDh));
  EXPECT_TRUE(sent.only_for_children(kNegated));
  EXPECT_TRUE(sent.only_for_children(kGatherGrad));
}

// Counts the rows that are multiplied by weights, and those of which gradients
// of weights are sums, where the left operand has kUnits columns.
class CountingBackend : public CpuBackend {
 public:
  using CpuBackend::CpuBackend;

  void MatMul(DType dtype, ConstBlock a, ConstBlock b, bool transpose_b,
              Block c, bool accumulate) const override {
    if (a.cols == kUnits) multiplied += a.rows;
    CpuBackend::MatMul(dtype, a, b, transpose_b, c, accumulate);
  }
  void MatMulPacked(DType dtype, ConstBlock a, const void* packed, Block c,
                    bool accumulate) const override {
    if (a.cols == kUnits) multiplied += a.rows;
    CpuBackend::MatMulPacked(dtype, a, packed, c, accumulate);
  }
  void MatMulTransposeA(DType dtype, ConstBlock a, ConstBlock b, Block c,
                        bool accumulate) const override {
    if (a.cols == kUnits) added_up += a.rows;
    CpuBackend::MatMulTransposeA(dtype, a, b, c, accumulate);
  }

  mutable int64_t multiplied = 0, added_up = 0;
};

struct Work {
  int64_t forward, backward, added_up;  // Rows.
};

// Also compares the results with the oracle's.
Work CountWork(const Graph& graph, bool skip_zeros, bool views) {
  // Inputs of another width than states, to tell the products apart.
  const Cell cell = TreeLstmCell(DType::kFloat64, kUnits + 1, kUnits);
  const Experiment experiment(cell, graph, 1);
  PassOptions options;
  options.merge = false;  // One product for each that was drawn.
  options.views = views;
  options.skip_zeros = skip_zeros;
  const CellExecutor executor(cell, options);
  const Schedule schedule = MakeSchedule(graph, cell);
  SerialWorkers workers;
  const CountingBackend backend(&workers);
  Environment environment;
  environment.backend = &backend;
  Tape tape;
  Results results;
  EXPECT_TRUE(
      executor.Forward(experiment, schedule, environment, &tape, &results)
          .ok());
  const int64_t forward = backend.multiplied;
  EXPECT_TRUE(executor.Backward(experiment, tape, environment, &results).ok());
  ExpectNear(results, experiment.RunOracle(), 1e-12);
  return {forward, backend.multiplied - forward, backend.added_up};
}

TEST(FindZerosTest, TasksWithoutChildrenMultiplyNoZerosAndGiveTheSame) {
  // By task 3, 2 and 1 rows: the first has no children, and runs last in the
  // derivative.
  const Graph graph = Join({Chain(3), Chain(2), Chain(1)});
  constexpr int64_t kChildless = 3, kRows = 6;
  // Forward: three gates of h0 + h1, and a forget gate for each child.
  // Backward: as many times U', and four times W' for the gradient of x.
  constexpr int64_t kGathered = 5, kOthers = 4;
  for (bool views : {false, true}) {
    SCOPED_TRACE(testing::Message() << "views " << views);
    const Work all = CountWork(graph, /*skip_zeros=*/false, views);
    EXPECT_EQ(all.forward, kGathered * kRows);
    EXPECT_EQ(all.backward, (kGathered + kOthers) * kRows);
    EXPECT_EQ(all.added_up, kGathered * kRows);
    const Work some = CountWork(graph, /*skip_zeros=*/true, views);
    EXPECT_EQ(some.forward, all.forward - kGathered * kChildless);
    EXPECT_EQ(some.backward, all.backward - kGathered * kChildless);
    EXPECT_EQ(some.added_up, all.added_up - kGathered * kChildless);
  }
}

TEST(FindZerosTest, LeavesAloneMultiplyOnlyTheirInputs) {
  const Work work = CountWork(Join({Chain(1), Chain(1)}), true, true);
  EXPECT_EQ(work.forward, 0);
  EXPECT_EQ(work.added_up, 0);
}

}  // namespace
}  // namespace cavs
