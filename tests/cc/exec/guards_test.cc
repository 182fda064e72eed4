#include "cc/exec/guards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "cc/exec/storage_pool.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPoisons = true;
#else
constexpr bool kPoisons = false;
#endif

// Three buffers of an arena.
class GuardsTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = 3 * Guards::kZone + 1000;

  std::string Check() {
    return guards_.Check([] { return "task 3"; }).message();
  }
  char* Take(size_t bytes, const char* name) {
    return static_cast<char*>(arena_.Take(bytes, name));
  }

  StoragePool pool_;
  alignas(64) char memory_[kBytes];
  Guards guards_;
  Arena arena_{memory_, kBytes, &guards_};
  char* x_ = Take(100, "x");
  char* y_ = Take(0, "y");
  char* z_ = Take(64, "z");
};

TEST_F(GuardsTest, BuffersMayBeWrittenToTheirEnd) {
  std::fill_n(x_, 100, 1);
  std::fill_n(z_, 64, 1);
  EXPECT_EQ(Check(), "");
}

TEST_F(GuardsTest, BuffersKeepTheirAlignmentAndTheirDistance) {
  EXPECT_EQ(y_ - x_, static_cast<int64_t>(128 + Guards::kZone));
  EXPECT_EQ(z_ - y_, static_cast<int64_t>(Guards::kZone));
  EXPECT_EQ(arena_.Take(kBytes - 3 * Guards::kZone), nullptr);
}

TEST_F(GuardsTest, AWriteBehindABufferIsNamed) {
  if (kPoisons) {
    EXPECT_DEATH(x_[103] = 1, "use-after-poison");
    return;
  }
  x_[103] = 1;
  EXPECT_EQ(Check(),
            "guard zones: task 3 wrote 3 bytes behind the end of x. Please "
            "report this as a bug of cavs_tf.");
}

TEST_F(GuardsTest, AWriteBehindABufferWithoutBytesIsNamed) {
  if (kPoisons) return;
  y_[0] = 1;
  EXPECT_EQ(Check(),
            "guard zones: task 3 wrote 0 bytes behind the end of y. Please "
            "report this as a bug of cavs_tf.");
}

TEST_F(GuardsTest, ZerosMustStay) {
  std::fill_n(x_, 100, 0);
  guards_.AddZeros(x_, x_ + 10, "the row before the state");
  EXPECT_EQ(Check(), "");
  x_[10] = 1;
  EXPECT_EQ(Check(), "");
  x_[9] = 1;
  EXPECT_EQ(Check(),
            "guard zones: task 3 wrote to the row before the state, which must "
            "stay zero. Please report this as a bug of cavs_tf.");
}

TEST_F(GuardsTest, ForgottenZonesAreMemoryLikeAnyOther) {
  guards_.KeepFirst(1);
  EXPECT_EQ(guards_.size(), 1u);
  std::fill_n(z_, 64 + Guards::kZone, 1);
  EXPECT_EQ(Check(), "");
}

TEST(GuardZonesWantedTest, TheEnvironmentSaysSo) {
  unsetenv("CAVS_GUARD_ZONES");
  EXPECT_FALSE(GuardZonesWanted());
  setenv("CAVS_GUARD_ZONES", "0", 1);
  EXPECT_FALSE(GuardZonesWanted());
  setenv("CAVS_GUARD_ZONES", "1", 1);
  EXPECT_TRUE(GuardZonesWanted());
  unsetenv("CAVS_GUARD_ZONES");
}

// Writes one element too many.
class FaultyBackend : public CpuBackend {
 public:
  enum class Fault {
    kNone,
    kUnary,
    kPack,
    kScatterRows,
    kSumRows,
    kGatherRows
  };

  FaultyBackend(Workers* workers, Fault fault)
      : CpuBackend(workers), fault_(fault) {}

  void Unary(Elementwise op, DType dtype, ConstBlock x,
             Block out) const override {
    CpuBackend::Unary(op, dtype, x, out);
    if (fault_ == Fault::kUnary) Spoil(out);
  }
  void Pack(DType dtype, ConstBlock w, bool transpose, int64_t n,
            int64_t first_column, void* packed) const override {
    CpuBackend::Pack(dtype, w, transpose, n, first_column, packed);
    if (fault_ != Fault::kPack) return;
    static_cast<char*>(packed)[PackedBytes(dtype, w.rows, n)] = 1;
  }
  void ScatterRows(DType dtype, ConstBlock src, const int32_t* rows,
                   Block dst) const override {
    CpuBackend::ScatterRows(dtype, src, rows, dst);
    if (fault_ == Fault::kScatterRows) Spoil(dst);
  }
  void GatherRows(DType dtype, ConstBlock src, const int32_t* rows,
                  Block dst) const override {
    CpuBackend::GatherRows(dtype, src, rows, dst);
    if (fault_ != Fault::kGatherRows || rows[0] >= 0) return;
    static_cast<double*>(const_cast<void*>(src.data))[-1] = 1;
  }
  void SumRows(DType dtype, ConstBlock x, Block out,
               bool accumulate) const override {
    CpuBackend::SumRows(dtype, x, out, accumulate);
    if (fault_ == Fault::kSumRows) Spoil(out);
  }

 private:
  static void Spoil(Block rows) {
    static_cast<double*>(rows.data)[rows.rows * rows.pitch] = 1;
  }

  const Fault fault_;
};

// h = tanh(gather(0) W + pull()), and the like of a derivative.
Cell FaultyCell() {
  Cell cell;
  cell.arity = 1;
  cell.state_columns = 4;
  cell.pulls = cell.pushes = {4};
  cell.captures = {{{4, 4}, {4}}};
  Sketch f;
  const int h = f.MatMul(f.Gather(0, 4), f.Capture(0, {4, 4}));
  f.Capture(1, {4});
  const int y =
      f.Call(Elementwise::kTanh, f.Call(Elementwise::kAdd, h, f.Pull(0, 4)));
  f.program.nodes.back().name = "tanh";
  f.program.symbols[y].name = "tanh";
  f.Scatter(y);
  f.Push(0, y);
  f.program.results = {y};
  f.program.name = "vertex";
  Sketch g;
  const int dy =
      g.Call(Elementwise::kTanhGrad, g.Saved(0, 4),
             g.Call(Elementwise::kAdd, g.ScatterGrad(4), g.PushGrad(0, 4)));
  g.PullGrad(0, dy);
  g.GatherGrad(0, dy);
  g.program.results = {g.SumRows(dy)};
  g.program.name = "gradient";
  cell.forward = {std::move(f.program)};
  cell.backward = {std::move(g.program)};
  return cell;
}

std::string ErrorOf(FaultyBackend::Fault fault) {
  SerialWorkers workers;
  const FaultyBackend backend(&workers, fault);
  Setting setting;
  const Cell cell = FaultyCell();
  PassOptions unfused;
  unfused.fuse = unfused.views = unfused.merge = false;
  const CellExecutor executor(cell, unfused);
  Graph graph;
  graph.children.resize(20);  // Enough for packed weights.
  for (int v = 10; v < 20; ++v) graph.children[v] = {v - 10};
  const Experiment experiment(cell, graph, 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  Tape tape;
  Results results;
  Status status =
      executor.Forward(experiment, schedule, setting, &tape, &results);
  if (status.ok()) {
    status = executor.Backward(experiment, tape, setting, &results);
  }
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInternal);
  return status.message();
}

TEST(GuardedStepTest, EveryKindOfBufferHasAZoneBehindIt) {
  using Fault = FaultyBackend::Fault;
  EXPECT_EQ(ErrorOf(Fault::kNone), "");
  if (kPoisons) {
    for (Fault fault :
         {Fault::kUnary, Fault::kPack, Fault::kScatterRows, Fault::kSumRows}) {
      EXPECT_DEATH(ErrorOf(fault), "use-after-poison");
    }
    return;
  }
  const auto message = [](const char* text) {
    return StrCat("guard zones: ", text,
                  ". Please report this as a bug of cavs_tf.");
  };
  EXPECT_EQ(ErrorOf(Fault::kUnary),
            message("task 1 (10 rows of vertex) wrote 0 bytes behind the end "
                    "of the state"));
  EXPECT_EQ(ErrorOf(Fault::kPack),
            message("prologue wrote 0 bytes behind the end of packed weights"));
  EXPECT_EQ(ErrorOf(Fault::kScatterRows),
            message("lazy operators of vertex wrote 0 bytes behind the end of "
                    "push 0"));
  EXPECT_EQ(ErrorOf(Fault::kSumRows),
            message("lazy operators of gradient wrote 0 bytes behind the end "
                    "of the gradient of capture 0"));
  EXPECT_EQ(ErrorOf(Fault::kGatherRows),
            message("task 0 (10 rows of vertex) wrote to the row before the "
                    "state, which must stay zero"));
}

}  // namespace
}  // namespace cavs
