// Tasks that one kernel of a GPU walks through.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/test_device.h"
#include "tests/cc/exec/tree_lstm_cell.h"

namespace cavs {
namespace {

class CudaWalkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (TheGpu() == nullptr) GTEST_SKIP() << "no GPU";
  }

  void ExpectMatchesOracle(const Cell& cell, const Graph& graph,
                           uint32_t seed) {
    const CudaTestDevice walking(TheGpu()->gpu(), /*walks=*/true);
    const Experiment experiment(cell, graph, seed);
    const Results want = experiment.RunOracle();
    const CellExecutor executor(cell, PassOptions(), &walking);
    const Results got = executor.Run(experiment);
    ExpectNear(got, want, cell.dtype == DType::kFloat64 ? 1e-11 : 2e-4);
    // The same bits every time, and as without the walk.
    const CellExecutor launching(cell, PassOptions(), TheGpu());
    EXPECT_EQ(executor.Run(experiment), got);
    EXPECT_EQ(launching.Run(experiment), got);
  }

  static Graph Trees(int count, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Graph> trees;
    for (int i = 0; i < count; ++i) {
      trees.push_back(RandomTree(1 + random() % 30, 2, &random));
    }
    return Join(trees);
  }
};

TEST_F(CudaWalkTest, TreeLstmMatchesTheOracle) {
  std::mt19937 random(1);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const int64_t units : {3, 8}) {
      const Cell cell = TreeLstmCell(dtype, units, units);
      const Graph graphs[] = {Trees(9, 1),
                              Join({Chain(20), Chain(7), Graph(), Chain(1)}),
                              RandomDag(40, 2, &random), Graph()};
      // Each graph with either type and either size.
      for (int i = (dtype == DType::kFloat32) == (units == 3); i < 4; i += 2) {
        SCOPED_TRACE(testing::Message() << units << " units, graph " << i);
        ExpectMatchesOracle(cell, graphs[i], 1);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CudaWalkTest, RandomProgramsMatchTheOracle) {
  for (uint32_t seed = 0; seed < 3 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const int num_types = 1 + seed % 3;
    const Cell cell = RandomCell(
        seed % 2 == 0 ? DType::kFloat32 : DType::kFloat64, num_types, &random);
    const Graph graph = WithRandomTypes(
        RandomDag(30, cell.most_children(), &random), num_types, &random);
    ExpectMatchesOracle(cell, graph, seed);
  }
}

// Memory of a GPU that counts what is taken.
class CountingMemory : public CudaMemory {
 public:
  using CudaMemory::CudaMemory;
  void* Allocate(size_t bytes) override {
    ++calls;
    return CudaMemory::Allocate(bytes);
  }
  int64_t calls = 0;
};

// A step takes no other memory than that of its device, which is a framework's,
// and what it takes is predicted, except for lists of rows and for constants.
TEST_F(CudaWalkTest, MemoryIsThatOfTheDeviceAndPredicted) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const FakeCuda cuda;
  const TestGpu& gpu = *TheGpu()->gpu();
  const CudaTestDevice walking(TheGpu()->gpu(), /*walks=*/true);
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 8);
  for (const Graph& graph : {Trees(9, 1), Chain(500), Chain(1)}) {
    const auto kernels =
        std::make_shared<CudaKernels>(gpu.kernels()->shared_context());
    const auto memory =
        std::make_shared<CountingMemory>(kernels->shared_context());
    CudaDevice::Options options;
    options.memory = memory;
    const auto device = std::make_shared<CudaDevice>(kernels, options);
    const CellExecutor executor(cell, PassOptions(), /*measured=*/true,
                                &walking, device, device);
    const Experiment experiment(cell, graph, 1);
    const Schedule schedule = MakeSchedule(graph, cell);
    MemoryNeed forward = executor.Predict(schedule, Direction::kForward),
               backward = executor.Predict(schedule, Direction::kBackward);
    forward.results = backward.results = 0;
    cuda.Reset();
    executor.Run(experiment);
    EXPECT_EQ(cuda.Calls("cuMemAlloc_v2"), memory->calls);
    EXPECT_EQ(executor.pool().peak_asked_bytes(),
              TrainingPeak(forward, backward));
  }
}

class Names : public Tracer {
 public:
  int64_t Begin(Stage, const std::string& name) override {
    names.push_back(name);
    return 0;
  }
  void End(int64_t) override {}
  std::vector<std::string> names;
};

// Under a tracer, tasks are launched one by one.
TEST_F(CudaWalkTest, ATracerIsToldOfProductsAndTheGroupBehindThemAsOne) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 8);
  const CudaTestDevice walking(TheGpu()->gpu(), /*walks=*/true);
  Names tracer;
  Setting setting;
  setting.tracer = &tracer;
  CellExecutor(cell, PassOptions(), &walking)
      .Run(Experiment(cell, Trees(4, 7), 1), setting);
  const auto count = [&](const std::string& first, const std::string& second) {
    return std::count_if(tracer.names.begin(), tracer.names.end(),
                         [&](const std::string& name) {
                           return name.find(first) != std::string::npos &&
                                  name.find(second) != std::string::npos;
                         });
  };
  EXPECT_GT(count("h U", "group of "), 0);
  EXPECT_EQ(count("h U", ""), count("h U", "group of "));
}

// Products of many rows have a kernel of their own.
TEST_F(CudaWalkTest, ASmallerMinibatchIsWalkedThroughByTheSameKernel) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const FakeCuda cuda;
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 8);
  const CudaTestDevice walking(TheGpu()->gpu(), /*walks=*/true);
  const CellExecutor executor(cell, PassOptions(), &walking);
  executor.Run(Experiment(cell, Join({Trees(40, 7), Chain(9)}), 1));
  cuda.Reset();
  const Experiment smaller(cell, Trees(4, 7), 1);
  ExpectNear(executor.Run(smaller), smaller.RunOracle(), 2e-4);
  EXPECT_EQ(cuda.Counts().cooperative, 2);
  EXPECT_EQ(cuda.Counts().modules, 0) << "kernels were compiled";
}

TEST_F(CudaWalkTest, GroupsThatAWalkTakesAreNotCompiledAlone) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const FakeCuda cuda;
  cuda.Reset();
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 8);
  // A context that has compiled nothing.
  const CudaTestDevice walking(TestGpu::Open(), /*walks=*/true);
  const CellExecutor executor(cell, PassOptions(), &walking);
  executor.Run(Experiment(cell, Trees(4, 7), 1));
  EXPECT_EQ(cuda.Counts().cooperative, 2);
  // The kernels of all programs in two texts, two walks, and what runs before
  // and behind them: a group, and one behind products.
  EXPECT_EQ(cuda.Counts().compiles, 6);
}

// A GPU on which the blocks do not fit at the same time, by itself or beside
// what other processes run, launches every task.
TEST_F(CudaWalkTest, BlocksThatDoNotFitAreLaunchedTaskByTask) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const FakeCuda cuda;
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 8);
  const CudaTestDevice walking(TheGpu()->gpu(), /*walks=*/true);
  const CellExecutor executor(cell, PassOptions(), &walking);
  const Experiment experiment(cell, Trees(5, 3), 1);
  const Results want = executor.Run(experiment);
  ExpectNear(want, experiment.RunOracle(), 2e-4);
  for (const auto& [function, error] :
       {std::pair("cuOccupancyMaxActiveBlocksPerMultiprocessor", 1),
        std::pair("cuLaunchCooperativeKernel", 720)}) {
    cuda.Reset();
    cuda.Fail(function, 0, error);
    EXPECT_EQ(executor.Run(experiment), want) << function;
    EXPECT_EQ(cuda.Counts().cooperative, 1) << "that of the other direction";
  }
}

}  // namespace
}  // namespace cavs
