// What the executor refuses.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm_cell.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// A cell that pulls one column, broadcasts it to `columns`, and scatters
// `state` of them.
Cell WideCell(int64_t columns, int64_t state) {
  Sketch f;
  const int x = f.Pull(0, 1);
  const int wide = f.Call(Elementwise::kAdd, x, f.Zero(columns));
  f.Scatter(f.View(wide, 0, state));
  Cell cell;
  cell.arity = 1;
  cell.pulls = {1};
  cell.captures = {{}};
  cell.forward = {f.program};
  cell.backward = {Program()};
  return cell;
}

// Programs that are verified have no wider rows.
constexpr int64_t kWidest = int64_t{1} << 47;

std::string MessageOf(const Cell& cell, int num_vertices = 2) {
  Setting setting;
  const Experiment experiment(cell, Chain(num_vertices), 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  Results results;
  const CellExecutor executor(cell, PassOptions());
  const Status status =
      executor.Forward(experiment, schedule, setting, nullptr, &results);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  return status.message();
}

TEST(ExecutorTest, AStateThatDoesNotFitIsAnError) {
  EXPECT_EQ(
      MessageOf(WideCell(kWidest, kWidest)),
      "minibatch: got one that needs 4503599627370496 bytes "
      "(3377699720527872 state, 0 tape, 1125899906842624 "
      "temporaries, 0 packed weights, 0 results) but expected one that "
      "fits into the memory that is available. Use a smaller minibatch, or, "
      "for fewer temporaries, a smaller micro_batch: of data.batch, or of "
      "Options if the graphs have no schedule.");
}

TEST(ExecutorTest, DynamicTensorsThatDoNotFitAreAnError) {
  EXPECT_EQ(MessageOf(WideCell(kWidest, 1)),
            "minibatch: got one that needs 2251799813685376 bytes (128 "
            "state, 0 tape, 2251799813685248 temporaries, 0 packed weights, "
            "0 results) but expected one that fits into the memory that is "
            "available. Use a smaller minibatch, or, for fewer temporaries, "
            "a smaller micro_batch: of data.batch, or of Options if the graphs "
            "have no schedule.");
}

TEST(ExecutorTest, SizesBeyondTheLargestIntegerAreAnErrorToo) {
  // 2^15 rows of 2^47 doubles take 2^65 bytes.
  for (int64_t state : {int64_t{1}, kWidest}) {
    const std::string message = MessageOf(WideCell(kWidest, state), 1 << 15);
    EXPECT_NE(message.find("but expected one that fits into the memory"),
              std::string::npos)
        << message;
  }
}

// A cell that pulls 3 columns twice, and scatters and pushes one; with its
// derivative.
Cell SmallCell() {
  Sketch f, df;
  const int x = f.Pull(0, 3);
  const int sum = f.SumColumns(f.Call(Elementwise::kMul, x, f.Pull(1, 3)));
  f.Scatter(f.Call(Elementwise::kMul, sum, f.Capture(0, {1})));
  f.Push(0, sum);
  f.program.results = {x, sum};
  const int dsum = df.PushGrad(0, 1);
  df.PullGrad(0, df.Call(Elementwise::kMul, df.Saved(0, 3), dsum));
  df.PullGrad(1, df.Call(Elementwise::kMul, df.Saved(0, 3), df.Saved(1, 1)));
  df.program.results = {df.SumRows(dsum)};
  Cell cell;
  cell.arity = 1;
  cell.pulls = {3, 3};
  cell.pushes = {1};
  cell.captures = {{{1}}};
  cell.forward = {f.program};
  cell.backward = {df.program};
  return cell;
}

// The error when the programs of `cell` run with arguments that fit
// `arguments`.
std::string MismatchOf(Cell cell, const Cell& arguments) {
  cell.pulls = arguments.pulls;
  cell.pushes = arguments.pushes;
  cell.captures = arguments.captures;
  Setting setting;
  const Experiment experiment(cell, Chain(3), 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  Results results;
  Tape tape;
  const CellExecutor executor(cell);
  Status status =
      executor.Forward(experiment, schedule, setting, &tape, &results);
  if (status.ok()) {
    status = executor.Backward(experiment, tape, setting, &results);
  }
  EXPECT_EQ(status.ok(), status.code() != StatusCode::kInvalidArgument);
  return status.message();
}

TEST(ExecutorTest, TooFewOrTooNarrowArgumentsAreAnError) {
  const Cell cell = SmallCell();
  EXPECT_EQ(MismatchOf(cell, cell), "");
  Cell other = cell;
  other.pulls = {3};
  EXPECT_EQ(MismatchOf(cell, other),
            "pulls: got 1 of them but expected at least 2, as when the vertex "
            "function was traced.");
  other.pulls = {3, 2};
  EXPECT_EQ(MismatchOf(cell, other),
            "pulls[1]: got rows of 2 elements but expected 3, as when the "
            "vertex function was traced.");
  other = cell;
  other.pushes = {4};
  EXPECT_EQ(MismatchOf(cell, other),
            "pushes[0]: got rows of 4 elements but expected 1, as when the "
            "vertex function was traced.");
  other = cell;
  other.captures = {{}};
  EXPECT_EQ(MismatchOf(cell, other),
            "captures: got 0 of them but expected at least 1, as when the "
            "vertex function was traced.");
}

TEST(ExecutorTest, TooFewOrTooNarrowGradientsAreAnError) {
  Cell cell = SmallCell();
  Sketch df;
  df.PushGrad(0, 2);
  cell.backward = {df.program};
  EXPECT_EQ(MismatchOf(cell, cell),
            "push_grads[0]: got rows of 1 elements but expected 2, as when the "
            "vertex function was traced.");
  Sketch dg;
  dg.PullGrad(2, dg.Zero(1));
  cell.backward = {dg.program};
  EXPECT_EQ(MismatchOf(cell, cell),
            "pull_grads: got 2 of them but expected at least 3, as when the "
            "vertex function was traced.");
}

TEST(ExecutorTest, TheTapeOfAnotherModelIsAnError) {
  const std::string message =
      "tape: got that of another model but expected that of the CavsForward "
      "of which this is the gradient.";
  Cell cell = SmallCell();
  cell.forward[0].results.pop_back();
  EXPECT_EQ(MismatchOf(cell, cell), message);
  cell = SmallCell();
  std::swap(cell.forward[0].results[0], cell.forward[0].results[1]);
  EXPECT_EQ(MismatchOf(cell, cell), message);
  cell = SmallCell();
  cell.backward.push_back(cell.backward[0]);
  EXPECT_EQ(MismatchOf(cell, cell),
            "tape: got that of a model of 1 vertex types but expected 2.");
}

TEST(ExecutorTest, TheTapeOfLeafProgramsNeedsTheModelThatWroteIt) {
  const Cell cell = TreeLstmCell(DType::kFloat64, 3, 2);
  const Experiment experiment(cell, Chain(3), 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  const CpuDevice device;
  Model derivative;
  Compile(cell.backward, PassOptions(), device, /*are_derivatives=*/true,
          &derivative);
  Tape tape;
  Results results;
  ASSERT_TRUE(CellExecutor(cell)
                  .Forward(experiment, schedule, Setting(), &tape, &results)
                  .ok());
  const auto pool = std::make_shared<StoragePool>(device.memory());
  const CallOf call(Setting(), pool.get());
  const Status status =
      RunBackward(derivative, tape, BackwardArguments(), call.context);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "tape: got that of programs for leaves but expected one without them. "
      "Pass specialize=False to both directions, or vertex_functions to "
      "CavsBackward.");
}

TEST(ExecutorTest, CaptureGradientsOfAnotherShapeAreAnError) {
  Sketch f;
  f.program.results = {f.SumRows(f.PushGrad(0, 3))};
  const CpuDevice device;
  Model model;
  Compile({f.program}, PassOptions(), device, /*are_derivatives=*/true, &model);
  const auto pool = std::make_shared<StoragePool>(device.memory());
  const CallOf call(Setting(), pool.get());
  Tape tape;
  ScheduleView schedule;
  const std::vector<int32_t> task_splits = {0};
  schedule.task_splits = task_splits;
  tape.num_types = 1;
  tape.rows = RowPlan(schedule, 1);
  tape.push_rows = ExternalRows(AllVertices(schedule), tape.rows.types());
  tape.lists.resize(1);
  tape.push_lists.resize(1);
  tape.saved.resize(1);
  Buffer grad(DType::kFloat64, Numbers(3, 7));
  const ResultSizes sizes;
  for (int columns : {2, 3}) {
    BackwardArguments arguments;
    arguments.sizes = &sizes;
    arguments.push_grads = {{nullptr, 0, 3, 3}};
    arguments.capture_grads = {{grad.dense({columns})}};
    const Status status = RunBackward(model, tape, arguments, call.context);
    EXPECT_EQ(status.message(),
              columns == 3 ? ""
                           : "capture_grads[0]: got another number, type or "
                             "shape than that of what is computed but expected "
                             "the same. Give each the type and the shape of "
                             "its capture.");
  }
  EXPECT_EQ(grad.numbers(), Numbers(3));
}

Status StatusOf(std::vector<Program> programs) {
  const CpuDevice device;
  Model model;
  return CompileModel(std::move(programs), PassOptions(), &device, &model);
}

TEST(CompileModelTest, StatesWhoseGradientsCannotBeAddedUpAreRejected) {
  Sketch f(DType::kInt32);
  f.GatherGrad(0, f.ScatterGrad(4));
  f.Name("gather_0");
  const Status status = StatusOf({f.program});
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "state: got i32 but expected one of f32, f64, bf16, f16. Pass "
            "dtype=\"float32\" to the GraphSupport and cast inside of the "
            "vertex function.");
}

TEST(CompileModelTest, ReadsTheStateOffScatterAndGather) {
  Sketch f(DType::kFloat32);
  f.Scatter(f.Pull(0, 6));
  const CpuDevice device;
  Model model;
  Compile({f.program}, PassOptions(), device, false, &model);
  EXPECT_EQ(model.state_columns, 6);
  EXPECT_EQ(model.state_dtype, DType::kFloat32);
}

TEST(CompileModelTest, TypesMustAgreeOnTheState) {
  Sketch f, g;
  f.Scatter(f.Pull(0, 6));
  g.Gather(0, 5);
  g.Name("gather_0");
  const Status status = StatusOf({f.program, g.program});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "vertex function: gather_0 passes rows of 5 elements but expected "
            "6 of the same type, as in every gather and scatter of the model. "
            "All vertex functions of a model share one state.");
  Sketch h(DType::kFloat32);
  h.Scatter(h.Pull(0, 6));
  EXPECT_EQ(StatusOf({f.program, h.program}).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cavs
