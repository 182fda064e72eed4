#include "cc/ir/passes/find_zeros.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/ir/passes/classify.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm_cell.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

constexpr int64_t kUnits = 4;

Zeros Find(Sketch* f) {
  EXPECT_TRUE(Classify({}, &f->program).ok());
  return FindZeros(f->program);
}

// What the CPU computes from zeros.
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

// Counts the rows that are multiplied by weights, and those that gradients of
// weights are summed over, if the left operand has kUnits columns.
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
  int64_t forward, backward, added_up;  // Numbers of rows.
};

// Counts the work of a step, and compares its results with the oracle's.
Work CountWork(const Graph& graph, bool skip_zeros, bool views) {
  // Inputs and states have different widths, so that their products can be told
  // apart.
  const Cell cell = TreeLstmCell(DType::kFloat64, kUnits + 1, kUnits);
  const Experiment experiment(cell, graph, 1);
  PassOptions options;
  options.merge = false;  // Every product stays as it was drawn.
  options.views = views;
  options.skip_zeros = skip_zeros;
  options.specialize = false;  // Leaves run the program of other vertices.
  const CellExecutor executor(cell, options);
  const Schedule schedule = MakeSchedule(graph, cell);
  SerialWorkers workers;
  const CountingBackend backend(&workers);
  Setting setting;
  setting.kernels = &backend;
  Tape tape;
  Results results;
  EXPECT_TRUE(
      executor.Forward(experiment, schedule, setting, &tape, &results).ok());
  const int64_t forward = backend.multiplied;
  EXPECT_TRUE(executor.Backward(experiment, tape, setting, &results).ok());
  ExpectNear(results, experiment.RunOracle(), 1e-12);
  return {forward, backend.multiplied - forward, backend.added_up};
}

TEST(FindZerosTest, TasksWithoutChildrenMultiplyNoZerosAndGiveTheSame) {
  // Tasks of 3, 2 and 1 rows: the first has no children, and is the last to run
  // in the derivative.
  const Graph graph = Join({Chain(3), Chain(2), Chain(1)});
  constexpr int64_t kChildless = 3, kRows = 6;
  // Forward, there are products for three gates of h0 + h1, and for a forget
  // gate of each child. Backward, there are as many with U', and four with W'
  // for the gradient of x.
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

TEST(FindZerosTest, GraphsOfOneVertexMultiplyNoGatheredZeros) {
  const Work work = CountWork(Join({Chain(1), Chain(1)}), true, true);
  EXPECT_EQ(work.forward, 0);
  EXPECT_EQ(work.added_up, 0);
}

}  // namespace
}  // namespace cavs
