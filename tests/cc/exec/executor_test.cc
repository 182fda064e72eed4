#include "cc/exec/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/schedule/policies.h"
#include "tests/cc/device/cpu/backend_test_util.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm_cell.h"

namespace cavs {
namespace {

constexpr uint32_t kNumSwitches = 512;

std::vector<PassOptions> AllSwitches() {
  std::vector<PassOptions> all(kNumSwitches);
  for (uint32_t i = 0; i < kNumSwitches; ++i) {
    all[i].eager = (i & 1) != 0;
    all[i].lazy = (i & 2) != 0;
    all[i].merge = (i & 4) != 0;
    all[i].fuse = (i & 8) != 0;
    all[i].skip_zeros = (i & 16) != 0;
    all[i].views = (i & 32) != 0;
    all[i].split = (i & 64) != 0;
    all[i].share = (i & 128) != 0;
    all[i].specialize = (i & 256) != 0;
  }
  return all;
}

// All switches on, and some other combinations, by the seed: four on the CPU,
// which has more ways to go wrong and is faster, one on other devices, and in
// `make test-all` four there, too.
std::vector<PassOptions> SomeSwitches(uint32_t seed, const TestDevice* device) {
  const bool few = device != The<CpuTestDevice>() &&
                   std::getenv("CAVS_LONG_TESTS") == nullptr;
  const std::vector<PassOptions> all = AllSwitches();
  std::vector<PassOptions> some = {PassOptions()};
  for (uint32_t i = 0; i < (few ? 1 : 4); ++i) {
    some.push_back(all[(86 * seed + 85 * i) % kNumSwitches]);
  }
  return some;
}

std::string Describe(const PassOptions& options) {
  return StrCat("eager ", options.eager, ", lazy ", options.lazy, ", merge ",
                options.merge, ", fuse ", options.fuse, ", skip_zeros ",
                options.skip_zeros, ", views ", options.views, ", split ",
                options.split, ", share ", options.share, ", specialize ",
                options.specialize);
}

double ToleranceOf(DType dtype) {
  return dtype == DType::kFloat64 ? 1e-11 : 2e-4;
}

// Minibatches of every kind, for cells of the given arity.
std::vector<Graph> Minibatches(int arity, std::mt19937* random) {
  std::vector<Graph> trees;
  for (int size : {1, 7, 2, 19}) {
    trees.push_back(RandomTree(size, arity, random));
  }
  return {Join(trees),
          Join({Chain(9), Chain(3), Graph(), Chain(1)}),
          RandomDag(40, arity, random),
          Join({RandomDag(9, arity, random), RandomTree(8, arity, random)}),
          Chain(1),
          Join({Graph(), Graph()}),
          Graph()};
}

// A setting with `count` workers.
struct Team {
  explicit Team(int count) : workers(count) { setting.workers = &workers; }

  ThreadedWorkers workers;
  Setting setting;
};

// Checks with costs at which all work is divided among the workers, however
// little it is.
void ExpectTeamMatchesOracle(const Cell& cell, const Graph& graph,
                             uint32_t seed) {
  const Experiment experiment(cell, graph, seed);
  const Results want = experiment.RunOracle();
  for (const PassOptions& options : SomeSwitches(seed, The<CpuTestDevice>())) {
    const CellExecutor executor(cell, options);
    for (int count : {1, 2, 3}) {
      Team team(count);
      team.setting.costs.nanos_to_call = 0;
      team.setting.costs.nanos_to_divide = 0;
      SCOPED_TRACE(testing::Message() << count << " workers, seed " << seed
                                      << ", " << Describe(options));
      ExpectNear(executor.Run(experiment, team.setting), want,
                 ToleranceOf(cell.dtype));
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Checks one setting of the switches with inputs that some vertices lack.
void ExpectPartialInputsMatchOracle(const TestDevice* device, Cell cell,
                                    const Graph& graph, uint32_t seed) {
  for (size_t pull = 0; pull < cell.pulls.size(); ++pull) {
    const bool of_edges = cell.edge_pulls.count(static_cast<int>(pull)) > 0;
    if (!of_edges && (pull == 0 || seed % 2 == 0)) {
      cell.partial_pulls.insert(static_cast<int>(pull));
    }
  }
  const Experiment experiment(cell, graph, seed);
  const std::vector<PassOptions> switches = SomeSwitches(seed, device);
  const PassOptions options = seed % 3 == 0 ? switches.back() : PassOptions();
  SCOPED_TRACE(testing::Message()
               << "partial inputs, seed " << seed << ", " << Describe(options));
  const CellExecutor executor(cell, options, device);
  ExpectNear(executor.Run(experiment), experiment.RunOracle(),
             ToleranceOf(cell.dtype));
}

void ExpectMatchesOracle(const TestDevice* device, const Cell& cell,
                         const Graph& graph, uint32_t seed) {
  ExpectPartialInputsMatchOracle(device, cell, graph, seed);
  const Experiment experiment(cell, graph, seed);
  const Results want = experiment.RunOracle();
  for (const PassOptions& options : SomeSwitches(seed, device)) {
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ", " << Describe(options));
    const CellExecutor executor(cell, options, device);
    ExpectNear(executor.Run(experiment), want, ToleranceOf(cell.dtype));
    if (testing::Test::HasFailure()) return;
  }
}

// Tests of what every device must do.
class ExecutorTest : public testing::TestWithParam<const TestDevice*> {
 protected:
  static bool IsCpu() { return GetParam() == The<CpuTestDevice>(); }
  // The seed behind the last one. There are fewer for other devices, and other
  // ones in each turn; `make test-all` tries twice as many.
  static uint32_t Seeds(uint32_t count) {
    return IsCpu() ? NumSeeds(count)
                   : Skipped(count) + ShareOf(NumSeeds(count));
  }
  // Behind those that another run tries under a sanitizer, if it is so.
  static uint32_t FirstSeed(uint32_t count) {
    if (IsCpu()) return 0;
    const bool is_rest = std::getenv("CAVS_SANITIZED_ELSEWHERE");
    return Skipped(count) + (is_rest ? ShareOf(SanitizedSeeds(count)) : 0);
  }

 private:
  static uint32_t ShareOf(uint32_t seeds) {
    const uint32_t share = std::getenv("CAVS_LONG_TESTS") ? 4 : 8;
    return (seeds + share - 1) / share;
  }
  // The seeds of earlier turns.
  static uint32_t Skipped(uint32_t count) {
    const char* const turn = std::getenv("CAVS_TURN_OF_SEEDS");
    return turn == nullptr ? 0 : std::atoi(turn) * ShareOf(count);
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, ExecutorTest,
                         testing::ValuesIn(AllTestDevices()),
                         [](const auto& info) { return info.param->name(); });

// Each combination with one of several cells.
TEST_P(ExecutorTest, EveryCombinationOfSwitchesMatchesTheOracle) {
  engine::Engine engine(engine::Streams(2));
  // With 19, the seven that a sanitizer tries have every four switches in all
  // 16 combinations.
  constexpr uint32_t kCells = 19;
  const uint32_t num_cells =
      IsCpu() ? std::min(kCells, NumSeeds(2 * kCells)) : Seeds(60);
  for (uint32_t seed = FirstSeed(60); seed < num_cells; ++seed) {
    std::mt19937 random(seed);
    const int num_types = 1 + seed % 3;
    const Cell cell = RandomCell(DType::kFloat64, num_types, &random);
    const Graph graph = WithRandomTypes(
        Join({RandomDag(12, cell.most_children(), &random), Chain(5), Chain(1),
              Graph(), RandomTree(9, cell.most_children(), &random)}),
        num_types, &random);
    const Experiment experiment(cell, graph, seed);
    const Results want = experiment.RunOracle();
    const char* const policy = Policies()[seed % Policies().size()].name;
    std::vector<PassOptions> switches = SomeSwitches(seed, GetParam());
    if (IsCpu()) {
      const std::vector<PassOptions> all = AllSwitches();
      switches.clear();
      for (uint32_t i = seed; i < kNumSwitches; i += kCells) {
        switches.push_back(all[i]);
      }
    }
    for (const PassOptions& options : switches) {
      const CellExecutor executor(cell, options, GetParam());
      for (const bool streams : {false, true}) {
        for (const int32_t micro_batch : {kWholeMinibatch, 2}) {
          SCOPED_TRACE(testing::Message()
                       << "seed " << seed << ", " << Describe(options)
                       << ", two streams " << streams << ", micro-batches of "
                       << micro_batch);
          Team team(2);
          if (streams) team.setting.engine = &engine;
          ExpectNear(
              executor.Run(experiment, team.setting, {policy, micro_batch}),
              want, ToleranceOf(cell.dtype));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(ExecutorTest, TwoStreamsMatchTheOracle) {
  engine::Engine engine(engine::Streams(2));
  for (uint32_t seed = FirstSeed(24); seed < Seeds(24); ++seed) {
    std::mt19937 random(seed);
    const Cell cell = RandomCell(DType::kFloat64, 1 + seed % 2, &random);
    const Graph graph =
        WithRandomTypes(seed % 3 ? RandomDag(40, cell.most_children(), &random)
                                 : Join({Chain(30), Chain(9), Chain(1)}),
                        cell.num_types(), &random);
    const Experiment experiment(cell, graph, seed);
    const Results want = experiment.RunOracle();
    Team team(2);
    team.setting.engine = &engine;
    for (const PassOptions& options : SomeSwitches(seed, GetParam())) {
      const CellExecutor executor(cell, options, GetParam());
      ExpectNear(executor.Run(experiment, team.setting), want,
                 ToleranceOf(cell.dtype));
      if (HasFailure()) return;
    }
  }
}

// Eager and lazy stages are divided into blocks of a few rows.
TEST_P(ExecutorTest, BlocksOfAFewRowsMatchTheOracle) {
  engine::Engine engine(engine::Streams(2));
  for (uint32_t seed = FirstSeed(24); seed < Seeds(24); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Cell cell =
        RandomCell(DType::kFloat64, 1 + seed % 2, &random, seed % 3 ? 32 : 1);
    const Graph graph = WithRandomTypes(
        seed % 3 ? Join({RandomDag(40, cell.most_children(), &random), Graph()})
                 : Join({Chain(30), Chain(9), Chain(1)}),
        cell.num_types(), &random);
    const Experiment experiment(cell, graph, seed);
    const Results want = experiment.RunOracle();
    Team team(1 + seed % 2);
    const int64_t rows = 1 + seed % 7;
    team.setting.costs.nanos_to_call = 0;
    team.setting.costs.nanos_to_divide = 0;
    if (seed % 5 == 0) team.setting.engine = &engine;
    for (const PassOptions& options : SomeSwitches(seed, GetParam())) {
      const CellExecutor executor(cell, options, GetParam(), rows);
      ExpectNear(executor.Run(experiment, team.setting), want,
                 ToleranceOf(cell.dtype));
      if (HasFailure()) return;
    }
  }
}

// The two directions write different amounts, so they have different chunks.
TEST_P(ExecutorTest, TapesAreReadOverOtherChunksThanTheyWereWrittenIn) {
  for (uint32_t seed = FirstSeed(24); seed < Seeds(24); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Cell cell = RandomCell(DType::kFloat64, 2 + seed % 2, &random);
    const Graph graph =
        WithRandomTypes(RandomDag(40, cell.most_children(), &random),
                        cell.num_types(), &random);
    const Experiment experiment(cell, graph, seed);
    const Schedule schedule = MakeSchedule(graph, cell);
    const int64_t larger = 1 + seed;
    const CellExecutor executor(cell, PassOptions(), GetParam(),
                                seed % 3 ? 1 : larger, seed % 3 ? larger : 1);
    Tape tape;
    Results results;
    ASSERT_TRUE(
        executor.Forward(experiment, schedule, Setting(), &tape, &results)
            .ok());
    ASSERT_TRUE(executor.Backward(experiment, tape, Setting(), &results).ok());
    ExpectNear(results, experiment.RunOracle(), ToleranceOf(cell.dtype));
    if (HasFailure()) return;
  }
}

TEST(CpuExecutorTest, WorkersThatDivideRowsOrColumnsMatchTheOracle) {
  for (uint32_t seed = 0; seed < NumSeeds(24); ++seed) {
    std::mt19937 random(seed);
    const Cell cell =
        RandomCell(DType::kFloat64, 1 + seed % 2, &random, seed % 3 ? 32 : 1);
    const Graph graph =
        WithRandomTypes(RandomDag(40, cell.most_children(), &random),
                        cell.num_types(), &random);
    ExpectTeamMatchesOracle(cell, graph, seed);
    if (HasFailure()) return;
  }
  ExpectTeamMatchesOracle(TreeLstmCell(DType::kFloat64, 32, 32),
                          Join({Chain(30), Chain(7)}), 1);
  std::mt19937 random(7);
  ExpectTeamMatchesOracle(TreeLstmCell(DType::kFloat32, 32, 48),
                          RandomTree(300, 2, &random), 2);
}

TEST_P(ExecutorTest, TreeLstmMatchesTheOracleOnEveryKindOfMinibatch) {
  std::mt19937 random(1);
  bool narrow = false;
  for (const Graph& graph : Minibatches(2, &random)) {
    // Other devices take turns.
    narrow = !narrow;
    for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
      if (!IsCpu() && narrow != (dtype == DType::kFloat32)) continue;
      ExpectMatchesOracle(GetParam(), TreeLstmCell(dtype, 5, 3), graph, 2);
    }
  }
}

// Expects the same numbers to be infinite or NaN, and the others to be near.
void ExpectNearWhereFinite(Results got, Results want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    for (size_t j = 0; j < got[i].size(); ++j) {
      ASSERT_EQ(std::isfinite(got[i][j]), std::isfinite(want[i][j]))
          << "result " << i << ", element " << j << ": got " << got[i][j]
          << " but expected " << want[i][j];
      if (!std::isfinite(got[i][j])) got[i][j] = want[i][j] = 0;
    }
  }
  ExpectNear(got, want, tolerance);
}

// Zero times infinity is NaN. Leaves that skip products with zeros must not
// give finite numbers.
TEST_P(ExecutorTest, WeightsThatAreNotFiniteSpoilLeavesToo) {
  std::mt19937 random(2);
  // On the CPU, these are enough rows for weights to be packed.
  const Graph graph =
      Join({RandomTree(IsCpu() ? 300 : 15, 2, &random), Chain(5)});
  int spoilt = 0;
  for (const auto& [dtype, value] :
       {std::pair(DType::kFloat64, HUGE_VAL),
        std::pair(DType::kFloat32, std::nan(""))}) {
    const Cell cell = TreeLstmCell(dtype, 5, 16);
    for (size_t weight = 0; weight < cell.captures[0].size(); ++weight) {
      // Other devices take turns.
      if (!IsCpu() && weight % 2 != (dtype == DType::kFloat32)) continue;
      SCOPED_TRACE(testing::Message()
                   << "capture " << weight << " holds " << value);
      Experiment in(cell, graph, 3);
      Numbers& numbers = in.captures[0][weight];
      numbers[numbers.size() / 2] = value;
      const Results want = in.RunOracle();
      spoilt += std::isnan(want[0][0]);  // Vertex 0 is a leaf.
      for (const PassOptions& options : SomeSwitches(weight, GetParam())) {
        const CellExecutor executor(cell, options, GetParam());
        for (int count = 1; count <= (IsCpu() ? 2 : 1); ++count) {
          Team team(count);
          team.setting.costs.nanos_to_call = 0;
          team.setting.costs.nanos_to_divide = 0;
          ExpectNearWhereFinite(executor.Run(in, team.setting), want,
                                ToleranceOf(dtype));
        }
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(spoilt, 0);
}

// Weight gradients add the gradient of what a leaf pushes, times the zeros that
// it gathered.
TEST_P(ExecutorTest, GradientsThatAreNotFiniteSpoilSumsOfZerosToo) {
  const Cell cell = TreeLstmCell(DType::kFloat64, 5, 16);
  std::mt19937 random(2);
  Experiment in(cell, RandomTree(IsCpu() ? 40 : 15, 2, &random), 3);
  in.push_grads[0][3] = HUGE_VAL;
  const Results want = in.RunOracle();
  for (const PassOptions& options :
       IsCpu() ? AllSwitches() : SomeSwitches(1, GetParam())) {
    SCOPED_TRACE(Describe(options));
    ExpectNearWhereFinite(CellExecutor(cell, options, GetParam()).Run(in), want,
                          1e-11);
    if (HasFailure()) return;
  }
}

TEST_P(ExecutorTest, TreeLstmGradientsAreThoseOfFiniteDifferences) {
  std::mt19937 random(3);
  const Cell cell = TreeLstmCell(DType::kFloat64, 3, 2);
  Experiment in(cell, RandomDag(6, 2, &random), 4);
  const CellExecutor executor(cell, PassOptions(), GetParam());
  const Results results = executor.Run(in);
  // The loss whose gradients by the pushes are push_grads.
  const auto loss = [&] {
    const Results pushes = executor.Run(in);
    double sum = 0;
    for (size_t j = 0; j < pushes[0].size(); ++j) {
      sum += pushes[0][j] * in.push_grads[0][j];
    }
    return sum;
  };
  const auto check = [&](double* number, double gradient, size_t i) {
    constexpr double kStep = 1e-5;
    const double kept = *number;
    *number = kept + kStep;
    const double above = loss();
    *number = kept - kStep;
    const double below = loss();
    *number = kept;
    EXPECT_NEAR(gradient, (above - below) / (2 * kStep), 1e-8) << "input " << i;
  };
  for (size_t j = 0; j < in.pulls[0].size(); ++j) {
    check(&in.pulls[0][j], results[1][j], 0);
  }
  for (size_t i = 0; i < in.captures[0].size(); ++i) {
    for (size_t j = 0; j < in.captures[0][i].size(); ++j) {
      check(&in.captures[0][i][j], results[2 + i][j], 1 + i);
    }
  }
}

TEST_P(ExecutorTest, RandomProgramsMatchTheOracle) {
  for (uint32_t seed = FirstSeed(150); seed < Seeds(150) && !HasFailure();
       ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const DType dtype = seed % 4 == 0 ? DType::kFloat32 : DType::kFloat64;
    const int num_types = 1 + seed % 3;
    const Cell cell = RandomCell(dtype, num_types, &random);
    const std::vector<Graph> minibatches =
        Minibatches(cell.most_children(), &random);
    const Graph graph = WithRandomTypes(
        minibatches[random() % minibatches.size()], num_types, &random);
    ExpectMatchesOracle(GetParam(), cell, graph, seed);
  }
}

TEST_P(ExecutorTest, MicroBatchesMatchTheOracleInTrainingAndInference) {
  for (uint32_t seed = FirstSeed(60); seed < Seeds(60) && !HasFailure();
       ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const int num_types = 1 + seed % 3;
    const Cell cell = RandomCell(DType::kFloat64, num_types, &random);
    std::vector<Graph> graphs;
    for (int i = 0; i < 7; ++i) {
      graphs.push_back(
          i % 2 ? RandomDag(1 + random() % 9, cell.most_children(), &random)
                : Chain(random() % 6));
    }
    const Experiment experiment(
        cell, WithRandomTypes(Join(graphs), num_types, &random), seed);
    const Results want = experiment.RunOracle();
    const Results pushes(want.begin(), want.begin() + cell.pushes.size());
    ThreadedWorkers workers(2);
    Setting setting;
    if (seed % 2) setting.workers = &workers;
    setting.costs.nanos_to_call = 0;
    setting.costs.nanos_to_divide = 0;
    for (bool fused : {false, true}) {
      PassOptions passes;
      passes.merge = passes.fuse = fused;
      const CellExecutor executor(cell, passes, GetParam());
      for (int micro_batch : {1, 2, 3}) {
        const ScheduleOptions options(seed % 5 ? "depth" : "ratio",
                                      micro_batch);
        ExpectNear(executor.Run(experiment, setting, options), want,
                   ToleranceOf(cell.dtype));
        Results inference;
        const Schedule schedule =
            MakeSchedule(experiment.graph(), cell, options);
        ASSERT_TRUE(
            executor.Forward(experiment, schedule, setting, nullptr, &inference)
                .ok());
        ExpectNear(inference, pushes, ToleranceOf(cell.dtype));
      }
    }
  }
}

// Two workers that count their calls.
class CountingWorkers : public SerialWorkers {
 public:
  int count() const override { return 2; }
  void Prepare() override { ++calls; }
  void Run(int jobs, const std::function<void(int)>& job) override {
    ++calls;
    SerialWorkers::Run(jobs, job);
  }
  int calls = 0;
};

TEST(CpuExecutorTest, WhatOneWorkerSoonHasDoneCallsNoOther) {
  const Cell cell = TreeLstmCell(DType::kFloat64, 40, 64);
  std::mt19937 random(7);
  const Experiment experiment(cell, RandomTree(20, 2, &random), 8);
  const CellExecutor executor(cell);
  CountingWorkers workers;
  Setting setting;
  setting.workers = &workers;
  setting.costs.nanos_to_call = 1e9;
  ExpectNear(executor.Run(experiment, setting), executor.Run(experiment),
             1e-12);
  EXPECT_EQ(workers.calls, 0);
  setting.costs.nanos_to_call = 0;
  executor.Run(experiment, setting);
  EXPECT_GT(workers.calls, 2);
}

TEST(CpuExecutorTest, EveryWorkerCountGivesTheSameNumbers) {
  const Cell cell = TreeLstmCell(DType::kFloat64, 40, 64);
  std::mt19937 random(5);
  const Experiment experiment(cell, RandomTree(60, 2, &random), 6);
  const CellExecutor executor(cell);
  const Results want = executor.Run(experiment);
  for (int count : {2, 3, 7}) {
    ThreadedWorkers workers(count);
    Setting setting;
    setting.workers = &workers;
    ExpectNear(executor.Run(experiment, setting), want, 1e-12);
    EXPECT_EQ(executor.Run(experiment, setting),
              executor.Run(experiment, setting))
        << "not the same bits with " << count << " workers";
  }
}

TEST_P(ExecutorTest, TheSameBitsEveryTime) {
  for (uint32_t seed = FirstSeed(60); seed < (IsCpu() ? 10 : Seeds(60));
       ++seed) {
    std::mt19937 random(seed);
    const Cell cell = RandomCell(DType::kFloat32, 2, &random);
    const Experiment experiment(
        cell,
        WithRandomTypes(RandomDag(30, cell.most_children(), &random), 2,
                        &random),
        seed);
    const CellExecutor executor(cell, PassOptions(), GetParam());
    EXPECT_EQ(executor.Run(experiment), executor.Run(experiment));
  }
}

TEST_P(ExecutorTest, AsksTheSystemForNoMemoryInSteadyState) {
  for (uint32_t seed = FirstSeed(48);
       seed < (IsCpu() ? NumSeeds(12) : Seeds(48)); ++seed) {
    const int num_types = 1 + seed % 6;
    std::mt19937 random(seed);
    const Cell cell = RandomCell(DType::kFloat64, num_types, &random);
    const Experiment experiment(
        cell,
        WithRandomTypes(RandomDag(50, cell.most_children(), &random), num_types,
                        &random),
        seed);
    PassOptions options;
    options.lazy = false;  // Sums formed task by task take memory for terms.
    const CellExecutor executor(cell, options, GetParam());
    for (int step = 0; step < 3; ++step) executor.Run(experiment);
    const int64_t warm = executor.pool().num_allocations();
    for (int step = 0; step < 3; ++step) executor.Run(experiment);
    EXPECT_EQ(executor.pool().num_allocations(), warm) << "seed " << seed;
  }
}

class OneExperiment : public testing::TestWithParam<const TestDevice*> {
 protected:
  OneExperiment()
      : random_(9),
        cell_(RandomCell(DType::kFloat64, 2, &random_)),
        experiment_(
            cell_,
            WithRandomTypes(RandomDag(30, cell_.most_children(), &random_), 2,
                            &random_),
            10),
        executor_(cell_, PassOptions(), GetParam()),
        schedule_(MakeSchedule(experiment_.graph(), cell_)) {}

  std::mt19937 random_;
  const Cell cell_;
  const Experiment experiment_;
  const CellExecutor executor_;
  const Schedule schedule_;
  Setting setting_;
};

INSTANTIATE_TEST_SUITE_P(Devices, OneExperiment,
                         testing::ValuesIn(AllTestDevices()),
                         [](const auto& info) { return info.param->name(); });

TEST_P(OneExperiment, InferenceWithoutATapePushesTheSame) {
  Results training, inference;
  Tape tape;
  ASSERT_TRUE(
      executor_.Forward(experiment_, schedule_, setting_, &tape, &training)
          .ok());
  ASSERT_TRUE(
      executor_.Forward(experiment_, schedule_, setting_, nullptr, &inference)
          .ok());
  EXPECT_EQ(inference, training);
}

TEST_P(OneExperiment, InferenceReusesWhatTheTapeWouldKeep) {
  Cell inference = cell_;
  for (Program& program : inference.forward) program.results.clear();
  Results want, got;
  ASSERT_TRUE(
      executor_.Forward(experiment_, schedule_, setting_, nullptr, &want).ok());
  for (Program& program : inference.backward) program = Program();
  ASSERT_TRUE(CellExecutor(inference, PassOptions(), GetParam())
                  .Forward(experiment_, schedule_, setting_, nullptr, &got)
                  .ok());
  EXPECT_EQ(got, want);
}

TEST_P(OneExperiment, OnlyChosenVerticesPush) {
  const int size = experiment_.graph().size();
  std::vector<int32_t> at(size);
  std::iota(at.begin(), at.end(), 0);
  std::shuffle(at.begin(), at.end(), random_);
  at.resize(size / 3);
  const auto is_chosen = [&](int v) {
    return std::find(at.begin(), at.end(), v) != at.end();
  };
  // The result must be as if the gradients of other vertices were zero.
  Experiment others_are_zero = experiment_;
  for (size_t i = 0; i < cell_.pushes.size(); ++i) {
    const int64_t columns = cell_.pushes[i];
    for (int v = 0; v < size; ++v) {
      if (is_chosen(v)) continue;
      std::fill_n(others_are_zero.push_grads[i].begin() + v * columns, columns,
                  0);
    }
  }
  Results want = executor_.Run(others_are_zero);
  for (size_t i = 0; i < cell_.pushes.size(); ++i) {
    const int64_t columns = cell_.pushes[i];
    Numbers chosen;
    for (int32_t v : at) {
      chosen.insert(chosen.end(), want[i].begin() + v * columns,
                    want[i].begin() + (v + 1) * columns);
    }
    want[i] = chosen;
  }
  for (const bool views : {false, true}) {
    PassOptions options;
    options.views = views;
    CellExecutor executor(cell_, options, GetParam());
    executor.PushOnly(at);
    ExpectNear(executor.Run(experiment_), want, 1e-12);
  }
}

TEST_P(OneExperiment, ATapeMayBeReadTwice) {
  Results pushes, first, second;
  Tape tape;
  ASSERT_TRUE(
      executor_.Forward(experiment_, schedule_, setting_, &tape, &pushes).ok());
  ASSERT_TRUE(executor_.Backward(experiment_, tape, setting_, &first).ok());
  // A step that runs in between must not reuse the memory of the tape.
  executor_.Run(experiment_);
  ASSERT_TRUE(executor_.Backward(experiment_, tape, setting_, &second).ok());
  EXPECT_EQ(first, second);
}

TEST_P(OneExperiment, ATapeMayBeReadByThreadsAtOnce) {
  Results pushes, want;
  Tape tape;
  ASSERT_TRUE(
      executor_.Forward(experiment_, schedule_, setting_, &tape, &pushes).ok());
  ASSERT_TRUE(executor_.Backward(experiment_, tape, setting_, &want).ok());
  std::vector<Results> got(7);
  std::vector<std::thread> threads;
  for (Results& results : got) {
    threads.emplace_back([&] {
      EXPECT_TRUE(
          executor_.Backward(experiment_, tape, setting_, &results).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Results& results : got) EXPECT_EQ(results, want);
}

TEST_P(OneExperiment, ThreadsMayRunOneModelAtOnce) {
  const Results want = executor_.Run(experiment_);
  for (int count : {1, 2, 3, 7, 16}) {
    std::vector<Results> got(count);
    std::vector<std::thread> threads;
    for (Results& results : got) {
      threads.emplace_back([&] { results = executor_.Run(experiment_); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Results& results : got) EXPECT_EQ(results, want);
  }
}

TEST_P(OneExperiment, IsCancelledBetweenTasks) {
  int asked = 0;
  setting_.cancelled = [&] { return ++asked == 3; };
  Results results;
  const Status status =
      executor_.Forward(experiment_, schedule_, setting_, nullptr, &results);
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(status.message(), "cancelled before task 2 of " +
                                  std::to_string(schedule_.task_type.size()));
  EXPECT_EQ(asked, 3);
}

TEST_P(OneExperiment, IsCancelledBetweenTasksGoingBack) {
  Tape tape;
  Results results;
  ASSERT_TRUE(
      executor_.Forward(experiment_, schedule_, setting_, &tape, &results)
          .ok());
  int asked = 0;
  setting_.cancelled = [&] { return ++asked == 2; };
  const Status status =
      executor_.Backward(experiment_, tape, setting_, &results);
  const int num_tasks = static_cast<int>(schedule_.task_type.size());
  EXPECT_EQ(status.message(), "cancelled before task " +
                                  std::to_string(num_tasks - 2) + " of " +
                                  std::to_string(num_tasks));
  setting_.cancelled = nullptr;
  EXPECT_TRUE(executor_.Backward(experiment_, tape, setting_, &results).ok())
      << "the tape is as it was";
}

}  // namespace
}  // namespace cavs
