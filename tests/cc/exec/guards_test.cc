#include "cc/exec/guards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/wrapping_device.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPoisons = true;
#else
constexpr bool kPoisons = false;
#endif

// Three buffers, each with a guard zone behind it.
class GuardsTest : public testing::Test {
 protected:
  std::string Check() {
    return guards_.Check([] { return "task 3"; }).message();
  }
  char* Take(size_t bytes, const char* name) {
    char* data = next_;
    next_ += Memory::Padded(bytes) + Guards::kZone;
    guards_.Add(data + bytes, next_, name);
    return data;
  }

  alignas(64) char memory_[3 * Guards::kZone + 1000];
  char* next_ = memory_;
  Guards guards_;
  char* x_ = Take(100, "x");
  char* y_ = Take(0, "y");
  char* z_ = Take(64, "z");
};

TEST_F(GuardsTest, BuffersMayBeWrittenToTheirEnd) {
  std::fill_n(x_, 100, 1);
  std::fill_n(z_, 64, 1);
  EXPECT_EQ(Check(), "");
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

// A program, and where it runs.
struct Bound {
  const Program& program;
  const Executable& executable;
  const Bindings& bindings;
};

// A write that a device must not do: after it has run the nodes of `stage` in
// the program of that name, it writes an element at the address that `at`
// returns.
struct Fault {
  std::string program;
  Stage stage;
  std::function<void*(const Bound&)> at;
};

// A CPU device with one fault.
class FaultyDevice : public WrappingDevice {
 public:
  explicit FaultyDevice(Fault fault)
      : WrappingDevice(std::make_shared<CpuDevice>()),
        fault_(std::move(fault)) {}

 protected:
  std::unique_ptr<BoundProgram> Bind(const Program& program,
                                     const Executable& inner,
                                     Bindings* bindings) const override {
    if (program.name != fault_.program) return inner.Bind(bindings);
    return std::make_unique<Faulty>(inner.Bind(bindings), fault_,
                                    Bound{program, inner, *bindings});
  }

 private:
  class Faulty : public BoundProgram {
   public:
    Faulty(std::unique_ptr<BoundProgram> inner, const Fault& fault,
           const Bound& bound)
        : inner_(std::move(inner)), fault_(fault), bound_(bound) {}

    Status Prepare(Stream* stream) override {
      CAVS_RETURN_IF_ERROR(inner_->Prepare(stream));
      return SpoilIn(Stage::kPrologue);
    }
    Status Run(Stage stage, const RowRange& rows, Stream* stream) override {
      CAVS_RETURN_IF_ERROR(inner_->Run(stage, rows, stream));
      return SpoilIn(stage);
    }
    Status FinishSums(Stream* stream) override {
      CAVS_RETURN_IF_ERROR(inner_->FinishSums(stream));
      return SpoilIn(Stage::kEpilogue);
    }

   private:
    Status SpoilIn(Stage stage) {
      if (stage == fault_.stage) {
        *static_cast<double*>(fault_.at(bound_)) = 1;
      }
      return Status();
    }

    const std::unique_ptr<BoundProgram> inner_;
    const Fault& fault_;
    const Bound bound_;
  };

  const Fault fault_;
};

// h = tanh(gather(0) W + pull()), and a program of the form of its derivative.
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
  f.program.symbols[h].name = "product";
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
  g.program.symbols[g.program.results[0]].name = "sum";
  g.program.name = "gradient";
  cell.forward = {std::move(f.program)};
  cell.backward = {std::move(g.program)};
  return cell;
}

std::string ErrorOf(Fault fault) {
  const Cell cell = FaultyCell();
  PassOptions unfused;
  unfused.fuse = unfused.views = unfused.merge = false;
  const CellExecutor executor(
      cell, unfused, /*measured=*/false, The<CpuTestDevice>(),
      std::make_shared<FaultyDevice>(std::move(fault)), nullptr);
  Graph graph;
  graph.children.resize(20);  // Enough rows for weights to be packed.
  for (int v = 10; v < 20; ++v) graph.children[v] = {v - 10};
  const Experiment experiment(cell, graph, 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  Tape tape;
  Results results;
  Status status =
      executor.Forward(experiment, schedule, Setting(), &tape, &results);
  if (status.ok()) {
    status = executor.Backward(experiment, tape, Setting(), &results);
  }
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInternal);
  return status.message();
}

void* BehindTheEnd(const Block& block) {
  return static_cast<double*>(block.data) + block.rows * block.pitch;
}

const Slot& SlotOf(const Bound& bound, const std::string& name) {
  const std::vector<Symbol>& symbols = bound.program.symbols;
  const auto symbol =
      std::find_if(symbols.begin(), symbols.end(),
                   [&](const Symbol& s) { return s.name == name; });
  return bound.bindings.slots.at(symbol - symbols.begin());
}

Fault BehindTheState() {
  return {"vertex", Stage::kCritical,
          [](const Bound& on) { return BehindTheEnd(on.bindings.state); }};
}

Fault BeforeTheState() {
  return {"vertex", Stage::kCritical, [](const Bound& on) {
            return static_cast<double*>(on.bindings.state.data) - 1;
          }};
}

Fault BehindASlot() {
  return {"vertex", Stage::kCritical, [](const Bound& on) {
            const DynamicTensor& rows = SlotOf(on, "product").rows;
            return BehindTheEnd(rows.View(0, rows.capacity()));
          }};
}

Fault BehindTheWorkspace() {
  return {"vertex", Stage::kPrologue, [](const Bound& on) -> void* {
            return static_cast<char*>(on.bindings.workspace) +
                   on.executable.WorkspaceBytes(*on.bindings.rows);
          }};
}

Fault BehindAPush() {
  return {"vertex", Stage::kLazy,
          [](const Bound& on) { return BehindTheEnd(on.bindings.outputs[0]); }};
}

Fault BehindAResult() {
  return {"gradient", Stage::kLazy, [](const Bound& on) -> void* {
            return static_cast<double*>(SlotOf(on, "sum").dense) + 4;
          }};
}

Fault None() { return {"none", Stage::kLazy, nullptr}; }

TEST(GuardedStepTest, EveryKindOfBufferHasAZoneBehindIt) {
  EXPECT_EQ(ErrorOf(None()), "");
  const auto message = [](const char* text) {
    return StrCat("guard zones: ", text,
                  ". Please report this as a bug of cavs_tf.");
  };
  // Threads may write zeros to that row at any time, so it is not poisoned.
  EXPECT_EQ(ErrorOf(BeforeTheState()),
            message("task 0 (10 rows of vertex) wrote to the row before the "
                    "state, which must stay zero"));
  if (kPoisons) {
    for (const auto fault : {BehindTheState, BehindASlot, BehindTheWorkspace,
                             BehindAPush, BehindAResult}) {
      EXPECT_DEATH(ErrorOf(fault()), "use-after-poison");
    }
    return;
  }
  EXPECT_EQ(ErrorOf(BehindTheState()),
            message("task 0 (10 rows of vertex) wrote 0 bytes behind the end "
                    "of the state"));
  EXPECT_EQ(ErrorOf(BehindASlot()),
            message("task 0 (10 rows of vertex) wrote 0 bytes behind the end "
                    "of product"));
  EXPECT_EQ(ErrorOf(BehindTheWorkspace()),
            message("prologue wrote 0 bytes behind the end of packed weights"));
  EXPECT_EQ(ErrorOf(BehindAPush()),
            message("lazy operators of vertex wrote 0 bytes behind the end of "
                    "push 0"));
  EXPECT_EQ(ErrorOf(BehindAResult()),
            message("lazy operators of gradient wrote 0 bytes behind the end "
                    "of the gradient of capture 0"));
}

}  // namespace
}  // namespace cavs
