#include "cc/exec/shared_sums.h"

#include <gtest/gtest.h>

#include <vector>

#include "cc/device/cpu/cpu_device.h"
#include "cc/exec/model.h"
#include "cc/ir/print.h"
#include "tests/cc/exec/drawn_op.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// What is done with the gradient of a weight by which [x, h] is multiplied.
enum class Use { kResult, kResultAndInput };

// The derivative of h' = tanh([x, h] W), with variants.
void CompileDerivative(Use use, const Device* device, Model* derivative) {
  Sketch f, b;
  const int x = f.Pull(0, 4), h = f.Gather(0, 4);
  const int out = f.Call(Elementwise::kTanh,
                         f.MatMul(f.Concat({x, h}), f.Capture(0, {8, 4})));
  f.Scatter(out);
  f.program.results = {x, out, h};
  const int dz =
      b.Call(Elementwise::kTanhGrad, b.Saved(1, 4), b.ScatterGrad(4));
  const int dboth = b.MatMul(dz, b.Capture(0, {8, 4}), true);
  b.PullGrad(0, b.View(dboth, 0, 4));
  b.GatherGrad(0, b.View(dboth, 4, 4));
  const int dw = b.WeightGrad(b.Concat({b.Saved(0, 4), b.Saved(2, 4)}), dz);
  b.program.results = {dw};
  if (use == Use::kResultAndInput) {
    b.Foreign(AddOp(), {dw, dw}, b.Sum({8, 4}));
    b.program.nodes.back().op = "AddV2";
    b.program.results.push_back(b.program.nodes.back().outputs[0]);
  }
  b.program.is_derivative = true;
  Model model;
  const Status status = CompileModel({f.program}, {b.program}, PartialPulls(),
                                     PassOptions(), device, &model, derivative);
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(SharedSumsTest, LeavesAddToTheRowsOfTheGradientThatTheyHave) {
  const CpuDevice device;
  Model derivative;
  CompileDerivative(Use::kResult, &device, &derivative);
  const int leaves = derivative.variants[0][kChildless];
  ASSERT_EQ(leaves, 1);
  const CompiledProgram &own = derivative.programs[1],
                        &general = derivative.programs[0];
  SCOPED_TRACE(Print(own) + Print(general));
  ASSERT_EQ(own.results.size(), 1u);
  const int part = own.results[0], same = derivative.shared_sums[1][part];
  ASSERT_GE(same, 0);
  EXPECT_EQ(general.symbols[same].columns(), 16);
  int64_t offset;
  EXPECT_EQ(general.Root(same, &offset), general.results[0]);
  EXPECT_EQ(offset, 0);
  EXPECT_EQ(own.placement.candidates[own.Root(part, &offset)].result, 0);
}

// The node would read the sum over all rows twice.
TEST(SharedSumsTest, ASumThatANodeReadsIsNotShared) {
  const CpuDevice device;
  Model derivative;
  CompileDerivative(Use::kResultAndInput, &device, &derivative);
  ASSERT_GT(derivative.programs.size(), 1u);
  for (const int same : derivative.shared_sums[1]) EXPECT_EQ(same, -1);
}

}  // namespace
}  // namespace cavs
