// What the executor refuses.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/cc/core/cell.h"
#include "tests/cc/core/random_cell.h"
#include "tests/cc/core/sketch.h"

namespace cavs {
namespace {

// Pulls one column, broadcasts it to `columns`, and scatters `state` of them.
Cell WideCell(int64_t columns, int64_t state) {
  Sketch f;
  const int x = f.Pull(0, 1);
  const int wide = f.Call(Elementwise::kAdd, x, f.Rows(columns));
  f.Scatter(f.View(wide, 0, state));
  Cell cell;
  cell.arity = 1;
  cell.pulls = {1};
  cell.captures = {{}};
  cell.forward = {f.program};
  cell.backward = {Program()};
  return cell;
}

std::string MessageOf(const Cell& cell) {
  SerialWorkers workers;
  const CpuBackend backend(&workers);
  Environment environment;
  environment.backend = &backend;
  const Experiment experiment(cell, Chain(2), 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  Results results;
  const Status status = CellExecutor(cell).Forward(
      experiment, schedule, environment, nullptr, &results);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  return status.message();
}

TEST(ExecutorTest, AStateThatDoesNotFitIsAnError) {
  EXPECT_EQ(MessageOf(WideCell(int64_t{1} << 58, int64_t{1} << 58)),
            "minibatch: its state needs 4611686018427387904 bytes but the "
            "system has no such block. Use a smaller minibatch or state.");
}

TEST(ExecutorTest, DynamicTensorsThatDoNotFitAreAnError) {
  EXPECT_EQ(MessageOf(WideCell(int64_t{1} << 57, 1)),
            "minibatch: its dynamic tensors need 4611686018427387968 bytes but "
            "the system has no such block. Use a smaller minibatch or state.");
}

TEST(ExecutorTest, SizesBeyondTheLargestIntegerAreAnErrorToo) {
  // 2 rows of 2^61 doubles: 2^65 bytes.
  for (int64_t state : {int64_t{1}, int64_t{1} << 61}) {
    const std::string message = MessageOf(WideCell(int64_t{1} << 61, state));
    EXPECT_NE(message.find("bytes but the system has no such block"),
              std::string::npos)
        << message;
  }
}

// ---------------------------------------------------------------------------

TEST(FinishModelTest, ReadsTheStateOffScatterAndGather) {
  Sketch f(DType::kFloat32);
  f.Scatter(f.Pull(0, 6));
  Model model;
  model.programs = {f.program};
  ASSERT_TRUE(FinishModel(&model).ok());
  EXPECT_EQ(model.state_columns, 6);
  EXPECT_EQ(model.state_dtype, DType::kFloat32);
}

TEST(FinishModelTest, TypesMustAgreeOnTheState) {
  Sketch f, g;
  f.Scatter(f.Pull(0, 6));
  g.Gather(0, 5);
  g.Name("gather_0");
  Model model;
  model.programs = {f.program, g.program};
  const Status status = FinishModel(&model);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "vertex function: gather_0 passes rows of 5 elements but expected "
            "6 of the same type, as in every gather and scatter of the model. "
            "All vertex functions of a model share one state.");
  Sketch h(DType::kFloat32);
  h.Scatter(h.Pull(0, 6));
  model.programs = {f.program, h.program};
  EXPECT_EQ(FinishModel(&model).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cavs
