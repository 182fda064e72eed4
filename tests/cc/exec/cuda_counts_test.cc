// What a training step asks of a GPU: launches, waits of the host, and bytes.
//
// The numbers are the emulated driver's, which are the same every time. A
// change that makes one larger has to say why.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cc/device/cuda/plan_launches.h"
#include "cc/engine/engine.h"
#include "cc/exec/model.h"
#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/test_device.h"
#include "tests/cc/exec/tree_lstm_cell.h"
#include "tests/cc/exec/treebank_trees.h"

namespace cavs {
namespace {

struct Counts {
  int64_t launches, waits, uploads, bytes_up, memsets, cooperative = 0;

  bool operator==(const Counts& other) const {
    return launches == other.launches && waits == other.waits &&
           uploads == other.uploads && bytes_up == other.bytes_up &&
           memsets == other.memsets && cooperative == other.cooperative;
  }
};
std::ostream& operator<<(std::ostream& out, const Counts& counts) {
  return out << "{" << counts.launches << ", " << counts.waits << ", "
             << counts.uploads << ", " << counts.bytes_up << ", "
             << counts.memsets << ", " << counts.cooperative << "}";
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
    const auto set = [&] {
      cuda.Reset();
      for (const auto& [name, value] : settings) cuda.Set(name, value);
    };
    set();
    const auto gpu = settings.empty() ? TheGpu()->gpu() : TestGpu::Open();
    Experiment experiment(cell, graph, 1);
    if (!cell.partial_pulls.empty()) {
      experiment.pulled_by[0].clear();
      for (int v = 0; v < graph.size(); ++v) {
        if (graph.children[v].empty()) experiment.pulled_by[0].push_back(v);
      }
    }
    const CudaTestDevice streams(gpu, walks, /*shares=*/true);
    const auto device = std::make_shared<CudaDevice>(gpu->kernels(), costs);
    const CellExecutor executor(cell, options, /*measured=*/true, &streams,
                                device, device);
    Setting setting;
    setting.engine = engine;
    const Schedule schedule = MakeSchedule(graph, cell);
    num_tasks = schedule.view().num_tasks();
    Counts counts{};
    for (int step = 0; step < 2; ++step) {
      set();
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
          all.uploads,
          all.bytes_up,
          all.memsets,
          all.cooperative};
    }
    RecordProperty("launches", static_cast<int>(counts.launches));
    return counts;
  }

  int64_t num_tasks = 0;
  // Of the driver, for what is counted from now on.
  std::map<const char*, int64_t> settings;
  bool walks = false;
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
  walks = true;
  const Counts by_walk =
      CountsOf(TreeLstmCell(DType::kFloat32, 16, 16), Trees(16));
  EXPECT_EQ(by_walk, (Counts{9, 0, 4, 63088, 3, 2}));
  EXPECT_LE(by_walk.launches, 20);
  std::printf(
      "A step of a Tree-LSTM: %d launches for %d tasks in both directions, at "
      "most %d; by the walk %d, at most 20; the host waits %d times\n",
      static_cast<int>(counts.launches), static_cast<int>(num_tasks),
      static_cast<int>(most), static_cast<int>(by_walk.launches),
      static_cast<int>(counts.waits + by_walk.waits));
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
      if (step > 0) {
        EXPECT_EQ(allocations, 0) << "step " << step;
      }
    }
    std::nth_element(steps.begin(), steps.begin() + 50, steps.end());
    milliseconds[walks] = steps[50];
  }
  // Besides 50 and 9 launches; 16 are OpOfGpu's.
  EXPECT_EQ(calls[false], 72);
  EXPECT_EQ(calls[true], 39);
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

// The steps that docs/how/predictions.md is about, on a GPU with as many
// processors as an H100: kernels do nothing.
class CudaStepTest : public CudaCountsTest {
 protected:
  void SetUp() override {
    CudaCountsTest::SetUp();
    settings = {{"processors", 132}, {"compute", 0}, {"lag", 0}};
    trees.partial_pulls = {0};  // Words at leaves only.
  }

  Counts CountsOfTrees(PassOptions options = {},
                       engine::Engine* engine = nullptr) {
    return CountsOf(trees, TreebankTrees(), options, engine);
  }

  // What is no launch any more, but for the walks themselves, is a step of
  // them, with a barrier behind it.
  static int64_t Barriers(const Counts& by_phases, const Counts& by_walk) {
    return by_phases.launches - by_walk.launches + by_walk.cooperative;
  }

  // Numbers that elementwise operators of both directions read and write for a
  // vertex and a unit.
  double Numbers(PassOptions options) const {
    Cell cell = TreeLstmCell(DType::kFloat32, 256, 256);
    cell.backward[0].is_derivative = true;
    const CudaDevice device(TheGpu()->gpu()->kernels(), CudaDevice::Options());
    Model models[2];
    EXPECT_TRUE(CompileModel(cell.forward, cell.backward, {}, options, &device,
                             &models[0], &models[1])
                    .ok());
    int64_t columns = 0;
    for (const Model& model : models) {
      const CompiledProgram& program = model.programs[0];
      for (const Stage stage :
           {Stage::kEager, Stage::kCritical, Stage::kLazy}) {
        for (const CudaLaunch& launch : PlanLaunches(program, stage)) {
          for (const int id : launch.operands) {
            const SymbolLayout& own = program.layout[id];
            if (own.has_rows()) columns += own.columns;
          }
        }
      }
    }
    return static_cast<double>(columns) / 256;
  }

  Cell trees = TreeLstmCell(DType::kFloat32, 256, 256);
};

TEST_F(CudaStepTest, TreesOfTheTreebank) {
  const Counts by_phases = CountsOfTrees();
  EXPECT_EQ(by_phases, (Counts{96, 0, 3, 577664, 3}));
  EXPECT_EQ(num_tasks, 25);
  walks = true;
  const Counts by_walk = CountsOfTrees();
  EXPECT_EQ(by_walk, (Counts{16, 0, 5, 666080, 3, 2}));
  const int64_t barriers = Barriers(by_phases, by_walk);
  EXPECT_EQ(barriers, 82);
  std::printf(
      "A step of a Tree-LSTM, 64 trees of the treebank, 256 units: %d launches "
      "by phases, %d launches and %d barriers by the walk\n",
      static_cast<int>(by_phases.launches), static_cast<int>(by_walk.launches),
      static_cast<int>(barriers));
}

TEST_F(CudaStepTest, TreesWithoutAPass) {
  PassOptions eager, lazy, fuse, merge;
  eager.eager = lazy.lazy = fuse.fuse = merge.merge = false;
  EXPECT_EQ(CountsOfTrees(eager).launches, 140);
  EXPECT_EQ(CountsOfTrees(lazy).launches, 143);
  EXPECT_EQ(CountsOfTrees(fuse).launches, 147);
  EXPECT_EQ(CountsOfTrees(merge).launches, 97);
  engine::Engine engine(engine::Streams(2));
  EXPECT_EQ(CountsOfTrees({}, &engine).launches, 120);
  EXPECT_EQ(Numbers({}), 55);
  EXPECT_EQ(Numbers(fuse), 71);
}

TEST_F(CudaStepTest, AnLstm) {
  const Cell lstm = TreeLstmCell(DType::kFloat32, 512, 512, /*children=*/1);
  const Graph sequences = Join(std::vector<Graph>(64, Chain(64)));
  const Counts by_phases = CountsOf(lstm, sequences);
  EXPECT_EQ(by_phases, (Counts{260, 0, 1, 81920, 3}));
  walks = true;
  const Counts by_walk = CountsOf(lstm, sequences);
  EXPECT_EQ(by_walk, (Counts{8, 0, 3, 233072, 3, 2}));
  EXPECT_EQ(Barriers(by_phases, by_walk), 254);
}

TEST_F(CudaCountsTest, ACellOfTwoTypesOverAGraph) {
  std::mt19937 random(9);
  const Cell cell = RandomCell(DType::kFloat32, 2, &random);
  const Counts counts = CountsOf(
      cell, WithRandomTypes(RandomDag(50, cell.most_children(), &random), 2,
                            &random));
  EXPECT_EQ(counts, (Counts{125, 0, 10, 6304, 4}));
}

}  // namespace
}  // namespace cavs
