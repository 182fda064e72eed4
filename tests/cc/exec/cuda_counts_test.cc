// What a training step asks of a GPU: launches, waits of the host, and bytes.
//
// The numbers are the emulated driver's, which are the same every time. A
// change that makes one larger has to say why.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cc/engine/engine.h"
#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/test_device.h"
#include "tests/cc/exec/tree_lstm_cell.h"

namespace cavs {
namespace {

struct Counts {
  int64_t launches, waits, uploads, bytes_up, memsets;

  bool operator==(const Counts& other) const {
    return launches == other.launches && waits == other.waits &&
           uploads == other.uploads && bytes_up == other.bytes_up &&
           memsets == other.memsets;
  }
};
std::ostream& operator<<(std::ostream& out, const Counts& counts) {
  return out << "{" << counts.launches << ", " << counts.waits << ", "
             << counts.uploads << ", " << counts.bytes_up << ", "
             << counts.memsets << "}";
}

// Counts the calls of both directions, when all is compiled. Uploads are those
// of the executor: inputs lie in memory that the host reaches.
class CudaCountsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (TheGpu() == nullptr) GTEST_SKIP() << "no GPU";
    CAVS_SKIP_WITHOUT_FAKE_CUDA();
  }

  // As in a framework; `costs` says what one more program is said to cost.
  Counts CountsOf(const Cell& cell, const Graph& graph,
                  PassOptions options = {}, engine::Engine* engine = nullptr,
                  CudaDevice::Options costs = {}) {
    const FakeCuda cuda;
    const Experiment experiment(cell, graph, 1);
    const CudaTestDevice streams(TheGpu()->gpu(), /*walks=*/false,
                                 /*shares=*/true);
    const auto device =
        std::make_shared<CudaDevice>(TheGpu()->gpu()->kernels(), costs);
    const CellExecutor executor(cell, options, /*measured=*/true, &streams,
                                device, device);
    Setting setting;
    setting.engine = engine;
    const Schedule schedule = MakeSchedule(graph, cell);
    num_tasks = schedule.view().num_tasks();
    Counts counts{};
    for (int step = 0; step < 2; ++step) {
      cuda.Reset();
      Tape tape;
      Results results;
      Status status =
          executor.Forward(experiment, schedule, setting, &tape, &results);
      EXPECT_TRUE(status.ok()) << status.message();
      status = executor.Backward(experiment, tape, setting, &results);
      EXPECT_TRUE(status.ok()) << status.message();
      const FakeCounts all = cuda.Counts();
      counts = {
          all.launches,
          cuda.Calls("cuStreamSynchronize") + cuda.Calls("cuEventSynchronize"),
          all.uploads, all.bytes_up, all.memsets};
    }
    RecordProperty("launches", static_cast<int>(counts.launches));
    return counts;
  }

  int64_t num_tasks = 0;
};

// As many trees as in a minibatch, of the shapes of sentences.
Graph Trees(int count) {
  std::mt19937 random(7);
  std::vector<Graph> trees;
  for (int i = 0; i < count; ++i) {
    trees.push_back(RandomTree(10 + random() % 60, 2, &random));
  }
  return Join(trees);
}

TEST_F(CudaCountsTest, TreeLstm) {
  const Counts counts =
      CountsOf(TreeLstmCell(DType::kFloat32, 16, 16), Trees(16));
  EXPECT_EQ(counts, (Counts{50, 0, 2, 14080, 3}));
  const int64_t most = 7 * num_tasks + 30;
  EXPECT_LE(counts.launches, most);
  std::printf(
      "A step of a Tree-LSTM: %d launches for %d tasks in both directions, at "
      "most %d; the host waits %d times\n",
      static_cast<int>(counts.launches), static_cast<int>(num_tasks),
      static_cast<int>(most), static_cast<int>(counts.waits));
}

// Of this thread, however busy the machine is.
double MillisecondsOfProcessor() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

// What the host does in a step: kernels, copies and fills do nothing here. The
// time depends on the machine, so that it is printed beside its goal; calls of
// the driver do not.
TEST_F(CudaCountsTest, TheHostsPartOfATreeLstm) {
  const FakeCuda cuda;
  const Cell cell = TreeLstmCell(DType::kFloat32, 16, 16);
  const Experiment experiment(cell, Trees(16), 1);
  const auto device = std::make_shared<CudaDevice>(TheGpu()->gpu()->kernels(),
                                                   CudaDevice::Options());
  double milliseconds[2];
  int64_t calls[2];
  for (const bool walks : {false, true}) {
    const CudaTestDevice streams(TheGpu()->gpu(), walks, /*shares=*/true);
    const CellExecutor executor(cell, PassOptions(), /*measured=*/true,
                                &streams, device, device);
    std::vector<double> steps;
    for (int step = 0; step < 101; ++step) {
      cuda.Reset();
      cuda.Set("lag", 0);
      cuda.Set("compute", 0);
      double time = 0;
      int64_t allocations = 0;
      calls[walks] = 0;
      Setting setting;
      // Called before and after each direction.
      setting.around = [&, sign = -1]() mutable {
        calls[walks] += sign * cuda.Calls(nullptr);
        allocations += sign * cuda.Counts().allocations;
        time += sign * MillisecondsOfProcessor();
        sign = -sign;
      };
      executor.Run(experiment, setting);
      steps.push_back(time);
      // For lists of row numbers. A framework keeps such memory.
      if (step > 0) {
        EXPECT_EQ(allocations, 1) << "step " << step;
      }
    }
    std::nth_element(steps.begin(), steps.begin() + 50, steps.end());
    milliseconds[walks] = steps[50];
  }
  EXPECT_EQ(calls[false], 215);
  EXPECT_EQ(calls[true], 130);
  std::printf(
      "A step of a Tree-LSTM: the host takes %.3f ms in both directions by "
      "phases, %.3f ms by the walk, where 0.1 ms is the goal; %d and %d calls "
      "of the driver\n",
      milliseconds[false], milliseconds[true], static_cast<int>(calls[false]),
      static_cast<int>(calls[true]));
}

// Programs for leaves would be right for finite weights only, so that the host
// would have to wait for an answer. However large weights are, there are none.
TEST_F(CudaCountsTest, TreeLstmThatOneMoreProgramCostsNothing) {
  CudaDevice::Options free;
  free.nanos_per_program = 0;
  const Counts counts = CountsOf(TreeLstmCell(DType::kFloat32, 16, 16),
                                 Trees(16), {}, nullptr, free);
  EXPECT_EQ(counts, (Counts{50, 0, 2, 14080, 3}));
}

TEST_F(CudaCountsTest, TreeLstmOverChains) {
  std::vector<Graph> chains(4, Chain(32));
  const Counts counts =
      CountsOf(TreeLstmCell(DType::kFloat32, 16, 16), Join(chains));
  EXPECT_EQ(counts, (Counts{102, 0, 2, 4096, 3}));
}

TEST_F(CudaCountsTest, TreeLstmInBFloat16) {
  const Counts counts =
      CountsOf(TreeLstmCell(DType::kBFloat16, 16, 16), Trees(16));
  EXPECT_EQ(counts, (Counts{63, 0, 2, 13568, 3}));
}

TEST_F(CudaCountsTest, TreeLstmWithoutPasses) {
  PassOptions none;
  none.eager = none.lazy = none.merge = none.fuse = false;
  const Counts counts =
      CountsOf(TreeLstmCell(DType::kFloat32, 16, 16), Trees(16), none);
  EXPECT_EQ(counts, (Counts{180, 0, 2, 14080, 3}));
}

TEST_F(CudaCountsTest, TreeLstmInTwoStreams) {
  engine::Engine engine(engine::Streams(2));
  const Counts counts =
      CountsOf(TreeLstmCell(DType::kFloat32, 16, 16), Trees(16), {}, &engine);
  EXPECT_EQ(counts, (Counts{74, 0, 2, 14080, 3}));
}

TEST_F(CudaCountsTest, ACellOfTwoTypesOverAGraph) {
  std::mt19937 random(9);
  const Cell cell = RandomCell(DType::kFloat32, 2, &random);
  const Counts counts = CountsOf(
      cell, WithRandomTypes(RandomDag(50, cell.most_children(), &random), 2,
                            &random));
  EXPECT_EQ(counts, (Counts{125, 0, 9, 4544, 4}));
}

}  // namespace
}  // namespace cavs
