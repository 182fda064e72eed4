// How much memory each direction of a step takes, and whether it was predicted.
#include "cc/exec/memory_need.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cc/base/machine.h"
#include "cc/engine/engine.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm_cell.h"

namespace cavs {
namespace {

// Every dynamic tensor begins at a multiple of 64 bytes, and tasks of a few
// narrow rows take 32 KiB together.
constexpr size_t kSmall = (32 << 10) + 64 * 64;

std::vector<Graph> Minibatches() {
  std::mt19937 random(1);
  std::vector<Graph> trees, chains;
  for (int i = 0; i < 32; ++i) {
    trees.push_back(RandomTree(5 + i % 40, 2, &random));
    chains.push_back(Chain(3 + i));
  }
  return {Join(trees), Join(chains), Chain(500), RandomDag(300, 2, &random),
          Graph()};
}

class MemoryNeedTest : public testing::Test {
 protected:
  // A device to which the system can still give `available` bytes.
  CpuDevice::Options LimitedTo(const size_t* available) const {
    CpuDevice::Options device;
    device.memory = std::make_shared<HostMemory>(
        [available](size_t bytes) { return bytes <= *available; });
    return device;
  }

  const Setting setting_;
};

// The bytes of results of cells in float32.
size_t BytesOf(const Results& results) {
  size_t bytes = 0;
  for (const Numbers& numbers : results) {
    bytes += numbers.size() * sizeof(float);
  }
  return bytes;
}

// The most bytes that one task of a vertex function writes.
size_t TaskBytes(const Cell& cell, const Schedule& schedule) {
  CompiledProgram program(cell.forward[0]);
  EXPECT_TRUE(
      RunPasses(PassOptions(), CpuDevice().capabilities(), &program).ok());
  size_t row = 0;
  for (size_t id = 0; id < program.symbols.size(); ++id) {
    const Symbol& symbol = program.symbols[id];
    const Candidate& own = program.placement.candidates[id];
    if (symbol.kind != SymbolKind::kRows || symbol.parent >= 0) continue;
    if (symbol.source != SymbolSource::kNode || !own.used || own.by_index) {
      continue;
    }
    row += symbol.columns() * SizeOf(symbol.dtype);
  }
  int64_t largest = 0;
  for (size_t t = 0; t + 1 < schedule.task_splits.size(); ++t) {
    largest = std::max<int64_t>(
        largest, schedule.task_splits[t + 1] - schedule.task_splits[t]);
  }
  return row * largest;
}

// Expects that exactly the predicted bytes came from the pool, and went to the
// caller.
void ExpectTook(const CellExecutor& executor, const MemoryNeed& need,
                const Results& results) {
  EXPECT_EQ(executor.pool().peak_asked_bytes(), need.workspace());
  EXPECT_EQ(BytesOf(results), need.results);
}

// The same of a training step; `results` are those of both directions.
void ExpectTook(const CellExecutor& executor, MemoryNeed forward,
                MemoryNeed backward, const Results& results) {
  EXPECT_EQ(BytesOf(results), forward.results + backward.results);
  forward.results = backward.results = 0;
  EXPECT_EQ(executor.pool().peak_asked_bytes(),
            TrainingPeak(forward, backward));
}

TEST_F(MemoryNeedTest, APredictionIsWhatTheTrainingStepTakes) {
  for (int64_t units : {3, 32}) {
    const Cell cell = TreeLstmCell(DType::kFloat32, 8, units);
    for (const Graph& graph : Minibatches()) {
      for (int32_t micro_batch : {4, kWholeMinibatch}) {
        const Experiment experiment(cell, graph, 1);
        const CellExecutor executor(cell, PassOptions(), /*measured=*/true);
        const Schedule schedule =
            MakeSchedule(graph, cell, {"depth", micro_batch});
        const MemoryNeed forward =
            executor.Predict(schedule, Direction::kForward);
        const MemoryNeed backward =
            executor.Predict(schedule, Direction::kBackward);
        Tape tape;
        Results results;
        ASSERT_TRUE(
            executor.Forward(experiment, schedule, setting_, &tape, &results)
                .ok());
        ExpectTook(executor, forward, results);
        ASSERT_TRUE(
            executor.Backward(experiment, tape, setting_, &results).ok());
        ExpectTook(executor, forward, backward, results);
        tape = Tape();
        for (int step = 0; step < 3; ++step) {
          results = executor.Run(experiment, setting_, {"depth", micro_batch});
        }
        ExpectTook(executor, forward, backward, results);
      }
    }
  }
}

// The prediction is exact for any program, schedule, switches and wanted
// outputs. Operators of the framework take memory for their terms if sums are
// formed task by task.
TEST_F(MemoryNeedTest, RandomProgramsTakeWhatWasPredicted) {
  engine::Engine engine(engine::Streams(2));
  for (uint32_t seed = 0; seed < NumSeeds(100); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int num_types = 1 + seed % 3;
    Cell cell = RandomCell(DType::kFloat32, num_types, &random, 16);
    if (seed % 4 < 2 && !cell.pulls.empty()) cell.partial_pulls = {0};
    const Graph graph = WithRandomTypes(
        RandomDag(60, cell.most_children(), &random), num_types, &random);
    PassOptions options;
    options.merge = seed % 2;
    options.fuse = seed % 3;
    options.views = seed % 5;
    options.skip_zeros = seed % 7;
    options.eager = seed % 11;
    options.split = seed % 13;
    options.share = seed / 3 % 2;
    options.lazy = seed / 2 % 3;
    const bool two_streams = seed % 4 == 0;
    CellExecutor executor(cell, options, /*measured=*/true);
    if (seed % 3 == 0) executor.PushOnly({59, 7, 30});
    const Schedule schedule =
        MakeSchedule(graph, cell, {"depth", seed % 2 ? 1 : kWholeMinibatch});
    Setting setting;
    if (two_streams) setting.engine = &engine;
    const Experiment experiment(cell, graph, seed);
    const MemoryNeed forward = executor.Predict(schedule, Direction::kForward,
                                                two_streams, &experiment);
    Tape tape;
    Results results;
    ASSERT_TRUE(
        executor.Forward(experiment, schedule, setting, &tape, &results).ok());
    ExpectTook(executor, forward, results);
    ASSERT_TRUE(executor.Backward(experiment, tape, setting, &results).ok());
    ExpectTook(executor, forward,
               executor.Predict(schedule, Direction::kBackward, two_streams,
                                &experiment),
               results);
    if (HasFailure()) return;
  }
}

TEST_F(MemoryNeedTest, InferenceTakesTheStateAndTheTemporariesOfTwoTasks) {
  engine::Engine engine(engine::Streams(2));
  for (int64_t units : {3, 32}) {
    Cell cell = TreeLstmCell(DType::kFloat32, 8, units);
    cell.forward[0].results.clear();  // The tape is empty.
    for (const Graph& graph : Minibatches()) {
      for (engine::Engine* streams :
           {static_cast<engine::Engine*>(nullptr), &engine}) {
        Setting setting;
        setting.engine = streams;
        const Experiment experiment(cell, graph, 1);
        const CellExecutor executor(cell, PassOptions(), /*measured=*/true);
        const Schedule schedule = MakeSchedule(graph, cell);
        Results results;
        ASSERT_TRUE(
            executor.Forward(experiment, schedule, setting, nullptr, &results)
                .ok());
        const MemoryNeed need = executor.Predict(
            schedule, Direction::kInference, streams != nullptr);
        EXPECT_EQ(need.tape, 0u);
        EXPECT_LE(need.temporaries, 2 * TaskBytes(cell, schedule) + kSmall);
        ExpectTook(executor, need, results);
      }
    }
  }
}

TEST_F(MemoryNeedTest, ManyTypesTakeNoMoreThanOneForInference) {
  Cell cell = TreeLstmCell(DType::kFloat32, 8, 32);
  cell.forward[0].results.clear();
  constexpr int kTypes = 5;
  cell.forward.resize(kTypes, cell.forward[0]);
  cell.backward.resize(kTypes, cell.backward[0]);
  cell.captures.resize(kTypes, cell.captures[0]);
  const CellExecutor executor(cell, PassOptions(), /*measured=*/true);
  std::mt19937 random(1);
  for (const Graph& graph : Minibatches()) {
    const Graph typed = WithRandomTypes(graph, kTypes, &random);
    const Experiment experiment(cell, typed, 1);
    const Schedule schedule = MakeSchedule(typed, cell);
    const MemoryNeed need = executor.Predict(schedule, Direction::kInference);
    EXPECT_LE(need.temporaries, 2 * TaskBytes(cell, schedule) + kSmall);
    Results results;
    ASSERT_TRUE(
        executor.Forward(experiment, schedule, setting_, nullptr, &results)
            .ok());
  }
}

TEST_F(MemoryNeedTest, LazyOperatorsNeedNoMoreForMoreRowsThanFitIntoTheCache) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 32);
  CpuDevice::Options device;
  device.cache_bytes = 0;
  const CellExecutor executor(cell, PassOptions(), /*measured=*/true, device);
  const auto need = [&](int64_t length) {
    return executor.Predict(MakeSchedule(Chain(length), cell),
                            Direction::kBackward);
  };
  EXPECT_LT(need(100).temporaries, need(250).temporaries);
  EXPECT_EQ(need(1000).temporaries, need(10000).temporaries);
}

// In a cache that holds the whole minibatch: a smaller one bounds the need of
// the minibatch too, on some machines to less than three times as much.
TEST_F(MemoryNeedTest, MicroBatchesTakeFewerTemporaries) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 32);
  CpuDevice::Options device;
  device.cache_bytes = size_t{1} << 30;
  const CellExecutor executor(cell, PassOptions(), /*measured=*/true, device);
  const Graph graph = Minibatches()[0];
  const auto need = [&](int32_t micro_batch) {
    return executor.Predict(MakeSchedule(graph, cell, {"depth", micro_batch}),
                            Direction::kBackward);
  };
  EXPECT_LT(need(4).temporaries, need(kWholeMinibatch).temporaries / 3);
}

TEST_F(MemoryNeedTest, ADirectionThatDoesNotFitFailsWithThatNumber) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 32);
  const Experiment experiment(cell, Chain(100), 1);
  size_t available = SIZE_MAX;
  const CellExecutor executor(cell, PassOptions(), /*measured=*/true,
                              LimitedTo(&available));
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  const MemoryNeed need = executor.Predict(schedule, Direction::kInference);
  available = need.workspace() - 1;
  Results results;
  const auto run = [&] {
    return executor.Forward(experiment, schedule, setting_, nullptr, &results);
  };
  const Status status = run();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find(StrCat("needs ", need.total(), " bytes")),
            std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("smaller minibatch"), std::string::npos);
  available = need.workspace();
  EXPECT_TRUE(run().ok());
  // The pool has the memory now, so none is needed from the system.
  available = 0;
  EXPECT_TRUE(run().ok());
}

// A gradient that is not finite makes the step run again, which takes memory
// for another tape.
TEST_F(MemoryNeedTest, AStepThatDoesNotFitTwiceFailsInsteadOfRunningAgain) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 32);
  Experiment experiment(cell, Chain(100), 1);
  for (Numbers& grad : experiment.push_grads) {
    grad[0] = std::numeric_limits<double>::infinity();
  }
  size_t available = SIZE_MAX;
  const CellExecutor executor(cell, PassOptions(), /*measured=*/true,
                              LimitedTo(&available));
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  Tape tape;
  Results results;
  ASSERT_TRUE(
      executor.Forward(experiment, schedule, setting_, &tape, &results).ok());
  available = 0;
  const Status status = executor.Backward(experiment, tape, setting_, &results);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "a gradient is infinite or NaN, and there is no memory to compute "
            "the step again with one program for all vertices. Pass "
            "options=cavs_tf.Options(disable=['specialize']).");
  available = SIZE_MAX;
  EXPECT_TRUE(executor.Backward(experiment, tape, setting_, &results).ok());
}

TEST_F(MemoryNeedTest, AStepWhoseBackwardDoesNotFitFailsBeforeForward) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 8, 32);
  const Experiment experiment(cell, Chain(100), 1);
  size_t available = SIZE_MAX;
  const CellExecutor executor(cell, PassOptions(), /*measured=*/true,
                              LimitedTo(&available));
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  const MemoryNeed forward = executor.Predict(schedule, Direction::kForward);
  const size_t peak =
      TrainingPeak(forward, executor.Predict(schedule, Direction::kBackward));
  ASSERT_GT(peak, forward.total());
  const size_t asked = peak - forward.results;  // Results belong to the caller.
  available = asked - 1;
  Tape tape;
  Results results;
  const auto run = [&] {
    return executor.Forward(experiment, schedule, setting_, &tape, &results);
  };
  const Status status = run();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find(
                StrCat("whose training step needs ", peak, " bytes")),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(results.empty());
  EXPECT_EQ(executor.pool().peak_bytes(), 0u);
  available = asked;
  EXPECT_TRUE(run().ok());
  available -= forward.workspace();
  EXPECT_TRUE(executor.Backward(experiment, tape, setting_, &results).ok());
}

// This also holds where rows are views of the state in the forward direction
// and an operator of the backward direction needs a copy of them.
TEST_F(MemoryNeedTest, BackwardFitsWhereForwardSaidSo) {
  for (uint32_t seed = 0; seed < NumSeeds(100); ++seed) {
    std::mt19937 random(seed);
    const int num_types = 1 + seed % 2;
    const Cell cell = RandomCell(DType::kFloat32, num_types, &random, 16);
    const Graph graph = WithRandomTypes(
        RandomDag(100, cell.most_children(), &random), num_types, &random);
    const Experiment experiment(cell, graph, seed);
    size_t available = SIZE_MAX;
    const CellExecutor executor(cell, PassOptions(), /*measured=*/true,
                                LimitedTo(&available));
    const Schedule schedule = MakeSchedule(graph, cell);
    const MemoryNeed backward =
        executor.Predict(schedule, Direction::kBackward);
    Tape tape;
    Results results;
    ASSERT_TRUE(
        executor.Forward(experiment, schedule, setting_, &tape, &results).ok());
    const size_t waiting = executor.pool().waiting_bytes();
    available = backward.workspace() - std::min(backward.workspace(), waiting);
    const Status status =
        executor.Backward(experiment, tape, setting_, &results);
    EXPECT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
  }
}

TEST(AvailableMemoryTest, IsAtLeastAMebibyteAndLessThanTheMachineHas) {
  const size_t bytes = AvailableMemory();
  EXPECT_GT(bytes, size_t{1} << 20);
  const size_t all = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_LT(bytes, all);
}

}  // namespace
}  // namespace cavs
