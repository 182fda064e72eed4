#include "cc/exec/step_plan.h"

#include <gtest/gtest.h>

#include <utility>

#include "cc/device/cpu/cpu_device.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// Whether the plan of a derivative has two streams.
bool RunsInTwoStreams(Sketch f, bool gathered_once, PassOptions options = {}) {
  f.program.is_derivative = true;
  const CpuDevice device;
  Model model;
  const Status status = CompileModel({f.program}, options, &device, &model);
  EXPECT_TRUE(status.ok()) << status.message();
  Schedule schedule;
  schedule.order = {0, 1};
  schedule.task_splits = {0, 1, 2};
  schedule.task_type = {0, 0};
  schedule.child_row = {kZeroRow, 0};
  schedule.arity = 1;
  const RowPlan rows(schedule.view(), 1);
  StepLimits limits;
  limits.two_streams = true;
  limits.gathered_once = gathered_once;
  limits.saved_by_index.resize(1);
  return PlanStep(Direction::kBackward, model, rows, limits).two_streams;
}

// A gradient that reaches the child without going through the state is eager.
TEST(StepPlanTest, TwoStreamsDoNotAddToTheGradientOfOneRow) {
  Sketch f;
  f.GatherGrad(0, f.Call(Elementwise::kNeg, f.PushGrad(0, 4)));
  f.GatherGrad(0, f.Call(Elementwise::kNeg, f.ScatterGrad(4)));
  EXPECT_FALSE(RunsInTwoStreams(f, /*gathered_once=*/false));
  EXPECT_TRUE(RunsInTwoStreams(f, /*gathered_once=*/true));
  PassOptions by_task;
  by_task.eager = false;
  EXPECT_TRUE(RunsInTwoStreams(f, /*gathered_once=*/false, by_task));
}

TEST(StepPlanTest, TwoStreamsDoNotAddToOneSum) {
  Sketch f;
  const int sum = f.SumRows(f.PushGrad(0, 4));
  f.Node(NodeKind::kSumRows, {f.ScatterGrad(4)}, sum);
  f.program.results = {sum};
  EXPECT_TRUE(RunsInTwoStreams(f, /*gathered_once=*/true))
      << "an eager sum and a lazy one are in one stream";
  PassOptions by_task;
  by_task.lazy = false;
  EXPECT_FALSE(RunsInTwoStreams(f, /*gathered_once=*/true, by_task));
}

TEST(RowsPerBlockTest, FillsTheCacheOfAWorkerOrHasTheFewestRows) {
  CpuDevice::Options options;
  options.cache_bytes = 1 << 20;
  options.fewest_rows = 256;
  const CpuDevice device(options);
  EXPECT_EQ(device.RowsPerBlock(1024), 1024);
  EXPECT_EQ(device.RowsPerBlock(8192), 256);
}

}  // namespace
}  // namespace cavs
