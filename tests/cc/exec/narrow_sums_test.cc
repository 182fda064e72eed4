// Sums of numbers of 16 bits: they are formed in float32, and rounded once.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "cc/ir/print.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// state = x + the state of the child; it is pushed too.
Cell Path(DType dtype) {
  Sketch forward(dtype), backward(dtype);
  const int sum =
      forward.Call(Elementwise::kAdd, forward.Gather(0, 1), forward.Pull(0, 1));
  forward.Scatter(sum);
  forward.Push(0, sum);
  const int grad = backward.Call(Elementwise::kAdd, backward.ScatterGrad(1),
                                 backward.PushGrad(0, 1));
  backward.GatherGrad(0, grad);
  backward.PullGrad(0, grad);
  Cell cell;
  cell.dtype = dtype;
  cell.arity = 1;
  cell.state_columns = 1;
  cell.forward = {forward.program};
  cell.backward = {backward.program};
  cell.pulls = cell.pushes = {1};
  cell.captures = {{}};
  return cell;
}

class NarrowSumsTest
    : public testing::TestWithParam<std::tuple<const TestDevice*, DType>> {};

std::string NameOf(
    const testing::TestParamInfo<NarrowSumsTest::ParamType>& info) {
  return std::get<0>(info.param)->name() + ToString(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Devices, NarrowSumsTest,
                         testing::Combine(testing::ValuesIn(AllTestDevices()),
                                          testing::Values(DType::kBFloat16,
                                                          DType::kFloat16)),
                         NameOf);

// Many vertices gather the state of one.
TEST_P(NarrowSumsTest, TheGradientOfAStateWithManyParentsIsRoundedOnce) {
  const auto [kind, dtype] = GetParam();
  // On an emulated GPU, each row that is added takes a look at all others.
  const int parents = kind->name() == "Cuda" ? 1000 : 10000;
  Graph graph;
  graph.children.resize(parents + 1);
  for (int v = 1; v <= parents; ++v) graph.children[v] = {0};
  const Cell cell = Path(dtype);
  Experiment experiment(cell, graph, 1);
  for (double& grad : experiment.push_grads[0]) grad = std::abs(grad);
  const Numbers& grads = experiment.push_grads[0];
  const double right = std::accumulate(grads.begin(), grads.end(), 0.0);
  for (const bool fuse : {true, false}) {
    PassOptions options;
    options.fuse = fuse;
    const CellExecutor executor(cell, options, kind);
    const double got = executor.Run(experiment)[1][0];
    EXPECT_NEAR(got, right, right / (dtype == DType::kBFloat16 ? 256 : 2048));
  }
}

TEST_P(NarrowSumsTest, OnlyGradientsThatAreAddedUpTakeTheMemoryOfFloat32) {
  const auto [kind, dtype] = GetParam();
  const Cell cell = Path(dtype);
  const CellExecutor executor(cell, {}, kind);
  const auto bytes = [&, &cell_ = cell](const Graph& graph) {
    const Schedule schedule = MakeSchedule(graph, cell_);
    return executor.Predict(schedule, Direction::kBackward).state;
  };
  const Graph chain = Chain(4096);
  Graph fan = chain;
  for (int v = 1; v < fan.size(); ++v) fan.children[v] = {0};
  const size_t zeros = 64;  // Bytes of the row before the first.
  EXPECT_EQ(bytes(chain), zeros + 2 * 4096);
  EXPECT_EQ(bytes(fan), zeros + 4 * 4096);
}

}  // namespace
}  // namespace cavs
