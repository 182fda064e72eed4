// Tests programs that a rewrite could get wrong: runs them by the executor and
// by the oracle.
#include "cc/ir/passes/run_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <random>
#include <utility>
#include <vector>

#include "tests/cc/device/cpu/backend_test_util.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/drawn_op.h"
#include "tests/cc/exec/gated_slots.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using E = Elementwise;

// Makes a cell, with the sizes of its inputs and outputs.
Cell MakeCell(Program forward, Program backward, int64_t state_columns) {
  Cell cell;
  cell.state_columns = state_columns;
  cell.captures.emplace_back();
  for (const Symbol& symbol : forward.symbols) {
    if (symbol.source != SymbolSource::kCapture) continue;
    cell.captures[0].resize(
        std::max<size_t>(cell.captures[0].size(), symbol.index + 1));
    cell.captures[0][symbol.index] = symbol.shape;
  }
  for (const Node& node : forward.nodes) {
    const bool pull = node.kind == NodeKind::kPull;
    if (!pull && node.kind != NodeKind::kPush) continue;
    std::vector<int64_t>& columns = pull ? cell.pulls : cell.pushes;
    columns.resize(std::max<size_t>(columns.size(), node.index + 1));
    columns[node.index] =
        forward.symbols[pull ? node.outputs[0] : node.inputs[0]].columns();
  }
  cell.forward = {std::move(forward)};
  cell.backward = {std::move(backward)};
  return cell;
}

// Runs every combination of passes and number of workers, on a chain, a tree
// (in which no row is gathered twice) and a random DAG.
void ExpectMatchesOracle(const Cell& cell) {
  std::mt19937 random(1);
  std::vector<std::pair<Experiment, Results>> minibatches;
  for (const Graph& graph :
       {Chain(7), RandomTree(23, 2, &random), RandomDag(23, 2, &random)}) {
    const Experiment experiment(cell, graph, 2);
    minibatches.emplace_back(experiment, experiment.RunOracle());
  }
  for (int i = 0; i < 16; ++i) {
    PassOptions options;
    options.eager = (i & 1) == 0;
    options.lazy = (i & 2) == 0;
    options.merge = (i & 4) == 0;
    options.fuse = (i & 8) == 0;
    const CellExecutor executor(cell, options);
    for (int count : {0, 1, 2}) {  // 0: no workers.
      ThreadedWorkers workers(std::max(count, 1));
      Setting setting;
      if (count > 0) setting.workers = &workers;
      setting.costs.nanos_to_call = 0;
      setting.costs.nanos_to_divide = 0;
      for (const auto& [experiment, want] : minibatches) {
        SCOPED_TRACE(testing::Message()
                     << experiment.graph().size() << " vertices, " << count
                     << " workers, eager " << options.eager << ", lazy "
                     << options.lazy << ", merge " << options.merge << ", fuse "
                     << options.fuse);
        ExpectNear(executor.Run(experiment, setting), want, 1e-11);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

void ExpectForwardMatchesOracle(Program forward, int64_t state_columns) {
  ExpectMatchesOracle(MakeCell(std::move(forward), Program(), state_columns));
}

// Every gate is written by itself, as in figure 4 of arXiv:1712.04048.
TEST(RunPassesTest, GatesWrittenOneByOneMatchTheOracle) {
  for (int64_t units : {5, 16, 32}) {
    Sketch f;
    const int h = f.Gather(0, units), x = f.Pull(0, units);
    std::vector<int> gates;
    for (int gate = 0; gate < 4; ++gate) {
      const int w = f.Capture(3 * gate, {units, units});
      const int u = f.Capture(3 * gate + 1, {units, units});
      const int sum = f.Call(E::kAdd, f.MatMul(x, w), f.MatMul(h, u));
      gates.push_back(
          f.Call(gate == 3 ? E::kTanh : E::kSigmoid,
                 f.Call(E::kAdd, sum, f.Capture(3 * gate + 2, {units}))));
    }
    const int c = f.Call(E::kAdd, f.Call(E::kMul, gates[0], h),
                         f.Call(E::kMul, gates[1], gates[3]));
    const int out = f.Call(E::kMul, gates[2], f.Call(E::kTanh, c));
    f.Scatter(out);
    f.Push(0, out);
    ExpectForwardMatchesOracle(std::move(f.program), units);
  }
}

TEST(RunPassesTest, ASumOfProductsMayBeAViewOfAConcatenation) {
  Sketch f;
  const int h = f.Gather(0, 32), x = f.Pull(0, 16);
  const int first = f.Call(E::kAdd, f.MatMul(x, f.Capture(0, {16, 16})),
                           f.MatMul(h, f.Capture(1, {32, 16})));
  const int second = f.Call(E::kAdd, f.MatMul(x, f.Capture(2, {16, 16})),
                            f.MatMul(h, f.Capture(3, {32, 16})));
  const int whole = f.Concat({first, second});
  f.Scatter(f.Call(E::kTanh, whole));
  f.Push(0, whole);
  f.Push(1, f.View(f.View(whole, 8, 16), 3, 7));
  ExpectForwardMatchesOracle(std::move(f.program), 32);
}

TEST(RunPassesTest, AProductMayBeReadBeforeTheOneItIsJoinedWith) {
  Sketch f;
  const int h = f.Gather(0, 16);
  const int y = f.MatMul(h, f.Capture(0, {16, 16}));
  const int z = f.Call(E::kTanh, y);
  const int again = f.MatMul(h, f.Capture(1, {16, 16}));
  const int other = f.MatMul(z, f.Capture(2, {16, 16}));
  f.Scatter(f.Call(E::kSigmoid, f.Call(E::kAdd, again, other)));
  f.Push(0, y);
  f.Push(1, f.View(again, 3, 5));
  f.program.results = {again, y};
  ExpectForwardMatchesOracle(std::move(f.program), 16);
}

TEST(RunPassesTest, TheStateMayBeAnyKindOfRows) {
  for (int kind = 0; kind < 6; ++kind) {
    Sketch f;
    const int h = f.Gather(0, 16), x = f.Pull(0, 16);
    const int w = f.Capture(0, {16, 16}), u = f.Capture(1, {16, 16});
    int state = h;
    if (kind == 1) state = x;
    if (kind == 2) state = f.MatMul(h, w);
    if (kind == 3) {
      state = f.Call(E::kAdd, f.MatMul(x, w), f.MatMul(h, u));
    }
    if (kind == 4) state = f.Foreign(RunningSumOp(), {h}, f.Rows(16));
    if (kind == 5) {
      state =
          f.View(f.Concat({f.Call(E::kTanh, h), f.Call(E::kNeg, x)}), 7, 16);
    }
    f.Scatter(state);
    f.Push(0, f.Call(E::kTanh, f.MatMul(h, u)));
    f.Push(1, f.Call(E::kTanh, state));
    f.program.results = {state};
    Sketch b;
    const int dstate = b.ScatterGrad(16), dy = b.PushGrad(0, 16);
    b.PushGrad(1, 16);
    const int saved = b.Saved(0, 16);
    b.GatherGrad(0, kind == 0 ? dstate : b.Call(E::kMul, dy, saved));
    b.GatherGrad(1, b.Call(E::kTanh, dstate));
    b.PullGrad(0, b.Call(E::kMul, saved, dstate));
    SCOPED_TRACE(kind);
    ExpectMatchesOracle(
        MakeCell(std::move(f.program), std::move(b.program), 16));
  }
}

TEST(RunPassesTest, OneSlotMayGetTwoGradients) {
  Sketch f;
  f.Scatter(f.Call(E::kTanh, f.Gather(0, 16)));
  f.Push(0, f.Pull(0, 16));
  Sketch b;
  const int dstate = b.ScatterGrad(16), dy = b.PushGrad(0, 16);
  b.GatherGrad(0, b.Call(E::kTanh, dstate));
  b.GatherGrad(0, b.Call(E::kNeg, dy));
  b.PullGrad(0, dstate);
  ExpectMatchesOracle(MakeCell(std::move(f.program), std::move(b.program), 16));
}

// The capture is a weight of a product, and is also added to rows.
TEST(RunPassesTest, ProductsAndRowsMayAddToTheGradientOfOneCapture) {
  for (bool product_first : {false, true}) {
    Sketch f;
    const int h = f.Gather(0, 16), x = f.Pull(0, 64);
    f.Scatter(f.Call(E::kTanh, h));
    f.Push(0, f.Call(E::kTanh, h));
    f.Push(1, f.Call(E::kTanh, x));
    f.program.results = {h};
    Sketch b;
    const int dstate = b.ScatterGrad(16);
    const int dy = b.PushGrad(0, 16), dz = b.PushGrad(1, 64);
    b.GatherGrad(0, b.Call(E::kTanh, dstate));
    b.PullGrad(0, dz);
    const int product = b.WeightGrad(b.View(dstate, 0, 4), dy);
    const int sum = b.Node(NodeKind::kSumRows, {dz}, b.Sum({4, 16}));
    std::vector<int> terms = {sum, product};
    if (product_first) std::swap(terms[0], terms[1]);
    b.program.results = {b.Foreign(AddOp(), terms, b.Sum({4, 16}))};
    b.program.nodes.back().adds = true;
    if (product_first) std::swap(b.program.nodes[6], b.program.nodes[7]);
    SCOPED_TRACE(product_first);
    ExpectMatchesOracle(
        MakeCell(std::move(f.program), std::move(b.program), 16));
  }
}

TEST(RunPassesTest, SumsMayBeAddedUpOverSeveralStages) {
  Sketch f;
  f.Scatter(f.Call(E::kTanh, f.Gather(0, 16)));
  f.Push(0, f.Pull(0, 16));
  Sketch b;
  const int dstate = b.ScatterGrad(16), dy = b.PushGrad(0, 16);
  const int through = b.Call(E::kTanh, dstate);
  b.GatherGrad(0, through);
  b.PullGrad(0, dstate);
  const int first = b.WeightGrad(dy, dy);            // An eager node.
  const int second = b.WeightGrad(through, dstate);  // A lazy node.
  const int third = b.WeightGrad(dy, through);
  const int sum = b.Foreign(AddOp(), {first, second}, b.Sum({16, 16}));
  b.program.nodes.back().adds = true;
  const int all = b.Foreign(AddOp(), {third, sum}, b.Sum({16, 16}));
  b.program.nodes.back().adds = true;
  b.program.results = {all, all};
  ExpectMatchesOracle(MakeCell(std::move(f.program), std::move(b.program), 16));
}

// Nothing reads the results, so they have no memory.
TEST(RunPassesTest, OperatorsThatNobodyReadsDoNoHarm) {
  Sketch f;
  const int h = f.Gather(0, 32), x = f.Pull(0, 1);
  const int y = f.Call(E::kTanh, f.MatMul(h, f.Capture(0, {32, 32})));
  f.Call(E::kNeg, f.Call(E::kMul, x, f.Capture(1, {5})));
  f.Call(E::kNeg, f.Call(E::kMul, f.View(h, 3, 1), f.Capture(1, {5})));
  f.Scatter(y);
  f.Push(0, y);
  ExpectForwardMatchesOracle(std::move(f.program), 32);
}

// A column that is one worker's is broadcast to the columns of all workers.
TEST(RunPassesTest, AColumnThatAnotherWorkerOwnsMayBeBroadcast) {
  Sketch f;
  const int h = f.Gather(0, 64), x = f.Pull(0, 32);
  const int y = f.Call(E::kTanh, f.MatMul(h, f.Capture(0, {64, 32})));
  const int scaled = f.Call(E::kMul, x, f.View(y, 31, 1));
  const int other = f.Call(E::kMul, f.View(scaled, 0, 1), y);
  const int sum = f.Call(E::kTanh, f.SumColumns(other));
  f.Scatter(f.Concat({f.Call(E::kMul, sum, scaled), other}));
  f.Push(0, f.Call(E::kAdd, f.Call(E::kMul, f.View(h, 33, 1), y),
                   f.Call(E::kMul, sum, f.Capture(1, {32}))));
  ExpectForwardMatchesOracle(std::move(f.program), 64);
}

TEST(RunPassesTest, SumsInPlaceAndTheirViewsMatchTheOracle) {
  Sketch f;
  const int h = f.Gather(0, 32), x = f.Pull(0, 32);
  const int product = f.MatMul(h, f.Capture(0, {32, 32}));
  const int sum = f.Call(E::kAdd, x, product);
  const auto add = [&](int term, int to) {
    f.Node(NodeKind::kElementwise, {to, term}, to);
    f.program.nodes.back().elementwise = E::kAdd;
  };
  add(h, sum);
  add(f.MatMul(x, f.Capture(1, {32, 32})), sum);
  const int z = f.Call(E::kTanh, sum);
  const int left = f.View(z, 0, 16), right = f.View(z, 16, 16);
  const int y = f.Call(E::kAdd, left, right);
  add(f.Call(E::kNeg, left), y);
  add(right, y);
  f.Scatter(f.Call(E::kTanh, f.Concat({y, f.Call(E::kMul, left, right)})));
  f.Push(0, y);
  ExpectForwardMatchesOracle(std::move(f.program), 32);
}

// There are more values than fit into one group.
TEST(RunPassesTest, GroupsTooLargeForOneKernelMatchTheOracle) {
  Sketch f;
  const int h = f.Gather(0, 32), x = f.Pull(0, 32);
  std::vector<int> values = {h, x};
  for (int i = 0; i < 40; ++i) {
    values.push_back(f.Call(E::kTanh, f.Call(E::kAdd, values[i], x)));
  }
  int sum = f.Call(E::kNeg, h);  // Keeps all values alive until here.
  for (int value : values) {
    sum = f.Call(E::kSub, f.Call(E::kTanh, sum), value);
  }
  f.Scatter(f.Call(E::kTanh, sum));
  for (int i = 0; i < 70; ++i) f.Push(i, f.Call(E::kMul, values[i % 42], sum));
  ExpectForwardMatchesOracle(std::move(f.program), 32);
}

TEST(RunPassesTest, SymbolsThatNoNodeNamesAreGone) {
  const Program program = GatedSlots(3);
  CompiledProgram expected(program), compiled(program);
  compiled.symbols.insert(compiled.symbols.end(), 7, program.symbols[0]);
  EXPECT_TRUE(RunPasses({}, kCapabilities, &expected).ok());
  EXPECT_TRUE(RunPasses({}, kCapabilities, &compiled).ok());
  EXPECT_EQ(compiled.symbols.size(), expected.symbols.size());
}

// If each node needed a walk over all nodes, 4 times as many nodes would take
// 16 times as long.
TEST(RunPassesTest, TimeGrowsAsTheProgramDoes) {
  const auto seconds = [](int slots) {
    const Program program = GatedSlots(slots);
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
      CompiledProgram compiled(program);
      const std::clock_t start = std::clock();
      EXPECT_TRUE(RunPasses({}, kCapabilities, &compiled).ok());
      const double taken = static_cast<double>(std::clock() - start);
      least = std::min(least, taken / CLOCKS_PER_SEC);
    }
    return least;
  };
  EXPECT_LT(seconds(400), 9 * seconds(100));
}

}  // namespace
}  // namespace cavs
