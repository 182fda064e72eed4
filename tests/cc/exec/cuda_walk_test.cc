// Tasks that one kernel of a GPU walks through.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/test_device.h"
#include "tests/cc/exec/tree_lstm_cell.h"
#include "tests/cc/ir/sketch.h"

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
    // In the streams of a framework, where nothing waits for memory.
    const CudaTestDevice sharing(TheGpu()->gpu(), /*walks=*/true,
                                 /*shares=*/true);
    const CellExecutor in_framework(cell, PassOptions(), &sharing);
    EXPECT_EQ(in_framework.Run(experiment), got);
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

// Products of few rows and many terms, in narrow tiles.
TEST_F(CudaWalkTest, TreeLstmOfFewRowsMatchesTheOracle) {
  ExpectMatchesOracle(TreeLstmCell(DType::kFloat32, 64, 64), Trees(2, 1), 1);
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

// What steps take of the memory of a GPU.
class CudaMemoryTest : public CudaWalkTest {
 protected:
  void SetUp() override {
    CudaWalkTest::SetUp();
    if (IsSkipped()) return;
    CAVS_SKIP_WITHOUT_FAKE_CUDA();
    cuda_.emplace();
    walking_.emplace(TheGpu()->gpu(), /*walks=*/true);
  }
  void TearDown() override {
    if (cuda_.has_value()) cuda_->Reset();
  }

  // Several steps of a model that has not run yet: inference, forward with a
  // tape, or both directions of a training step.
  class Steps {
   public:
    Steps(const Cell& cell, const Graph& graph, Direction direction,
          const CudaTestDevice& device)
        : experiment_(cell, graph, 1),
          schedule_(MakeSchedule(graph, cell)),
          direction_(direction),
          executor_(cell, PassOptions(), /*measured=*/true, &device,
                    device.New(0), nullptr) {}

    const StoragePool& pool() const { return executor_.pool(); }

    // The bytes of all but results.
    size_t Predict() const {
      const auto need = [&](Direction direction) {
        MemoryNeed own =
            executor_.Predict(schedule_, direction, false, &experiment_);
        own.results = 0;
        return own;
      };
      return direction_ == Direction::kBackward
                 ? TrainingPeak(need(Direction::kForward), need(direction_))
                 : need(direction_).total();
    }

    Status Run() const {
      Tape tape;
      Results results;
      const bool keeps = direction_ != Direction::kInference;
      Status status = executor_.Forward(experiment_, schedule_, Setting(),
                                        keeps ? &tape : nullptr, &results);
      if (!status.ok() || direction_ != Direction::kBackward) return status;
      return executor_.Backward(experiment_, tape, Setting(), &results);
    }

   private:
    const Experiment experiment_;
    const Schedule schedule_;
    const Direction direction_;
    const CellExecutor executor_;
  };

  // Expects that a step takes exactly what was predicted, `constants` bytes of
  // which are constants. The pool takes an eighth more, and keeps as much
  // again.
  void ExpectPredicted(const Cell& cell, const Graph& graph,
                       Direction direction, size_t constants = 0) const {
    const Steps steps(cell, graph, direction, *walking_);
    const size_t predicted = steps.Predict();
    cuda_->Reset();
    const int64_t before = cuda_->Counts().bytes_in_use;
    EXPECT_TRUE(steps.Run().ok());
    EXPECT_EQ(cuda_->Fault(), "");
    EXPECT_EQ(cuda_->Calls("cuMemAlloc_v2"),
              steps.pool().num_allocations() + (constants > 0 ? 1 : 0));
    EXPECT_EQ(steps.pool().peak_asked_bytes() + constants, predicted);
    const int64_t taken = cuda_->Counts().most_bytes_in_use - before;
    EXPECT_GE(taken, static_cast<int64_t>(predicted));
    EXPECT_LE(static_cast<size_t>(taken),
              predicted * 81 / 64 + 4 * Memory::kAlignment);
    EXPECT_EQ(steps.Predict(), predicted) << "after the first step";
  }

  // A program of constants that take more than all else in a small step.
  static Cell CellOfConstants() {
    Sketch f;
    int x = f.Pull(0, 3);
    for (int i = 0; i < kConstants; ++i) {
      x = f.Call(Elementwise::kAdd, x, f.ScalarZero());
    }
    f.Push(0, x);
    Cell cell;
    cell.pulls = cell.pushes = {3};
    cell.captures = {{}};
    cell.forward = {f.program};
    cell.backward = {Program()};
    return cell;
  }

  static constexpr int kConstants = 30;
  static constexpr size_t kConstantBytes = kConstants * Memory::kAlignment;
  std::optional<FakeCuda> cuda_;
  std::optional<CudaTestDevice> walking_;
};

// A step takes no other memory than that of its device, which is a framework's.
TEST_F(CudaMemoryTest, StepsTakeWhatWasPredicted) {
  std::mt19937 random(1);
  Cell infers = TreeLstmCell(DType::kFloat32, 8, 8);
  const Cell trains = infers;
  infers.forward[0].results.clear();  // The tape is empty.
  for (const Graph& graph : {Trees(9, 1), Chain(500), Chain(1), Graph(),
                             RandomDag(300, 2, &random)}) {
    ExpectPredicted(infers, graph, Direction::kInference);
    ExpectPredicted(trains, graph, Direction::kForward);
    ExpectPredicted(trains, graph, Direction::kBackward);
  }
  for (const Direction direction :
       {Direction::kInference, Direction::kForward, Direction::kBackward}) {
    ExpectPredicted(CellOfConstants(), Chain(2), direction, kConstantBytes);
  }
}

TEST_F(CudaMemoryTest, StepsOfRandomProgramsTakeWhatWasPredicted) {
  for (uint32_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const int num_types = 1 + seed % 3;
    Cell cell = RandomCell(DType::kFloat32, num_types, &random);
    if (seed % 4 < 2 && !cell.pulls.empty()) cell.partial_pulls = {0};
    const Graph graph = WithRandomTypes(
        RandomDag(60, cell.most_children(), &random), num_types, &random);
    ExpectPredicted(cell, graph, Direction::kForward);
    ExpectPredicted(cell, graph, Direction::kBackward);
  }
}

// Nothing has been copied to a GPU that refuses a step.
TEST_F(CudaMemoryTest, AStepThatDoesNotFitIsRefusedBeforeItBegins) {
  std::mt19937 random(1);
  const Graph dag = RandomDag(300, 2, &random);
  for (const auto& [cell, graph] :
       {std::pair(TreeLstmCell(DType::kFloat32, 8, 8), dag),
        std::pair(CellOfConstants(), Chain(2))}) {
    const Steps steps(cell, graph, Direction::kBackward, *walking_);
    const auto predicted = static_cast<int64_t>(steps.Predict());
    cuda_->Reset();
    const int64_t before = cuda_->Counts().bytes_in_use;
    cuda_->Set("memory", before + predicted - 1);
    const Status status = steps.Run();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_NE(status.message().find("minibatch: got one whose training step "),
              std::string::npos)
        << status.message();
    EXPECT_EQ(cuda_->Counts().allocations + cuda_->Counts().uploads, 0);
    cuda_->Set("memory", before + predicted * 81 / 64 + 256);
    EXPECT_TRUE(steps.Run().ok());
  }
}

TEST_F(CudaMemoryTest, ConstantsAreTakenOnce) {
  const Steps steps(CellOfConstants(), Chain(2), Direction::kInference,
                    *walking_);
  EXPECT_TRUE(steps.Run().ok());
  cuda_->Set("memory", cuda_->Counts().bytes_in_use);
  const Status status = steps.Run();
  EXPECT_TRUE(status.ok()) << status.message();
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
