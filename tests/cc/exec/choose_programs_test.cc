#include "cc/exec/choose_programs.h"

#include <gtest/gtest.h>

#include <vector>

#include "cc/device/cpu/cpu_device.h"
#include "cc/device/reference/reference_device.h"
#include "tests/cc/ir/sketch.h"
#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

// The traits of the tasks of FourVertices(), for a model of this function whose
// input 1 says which slots have a child.
std::vector<int> TraitsFor(const Sketch& f) {
  const CpuDevice device;
  Model model;
  PartialPulls partial;
  partial.of_children = {1};
  const Status status = CompileModel({f.program, f.program}, {}, partial,
                                     PassOptions(), &device, &model, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  const Schedule schedule = FourVertices();
  return TraitsOfTasks(model, schedule.view(), {});
}

TEST(ChooseProgramsTest, TasksAreToldApartByChildrenWhereAFunctionAsksForThem) {
  Sketch f;
  const int h = f.Gather(0, 4), asked = f.Pull(1, 1);
  f.program.symbols[asked].dtype = DType::kBool;
  const int mask = f.Node(NodeKind::kToMask, {asked}, f.Rows(1));
  f.Scatter(f.Call(Elementwise::kKeep, h, mask));
  EXPECT_EQ(TraitsFor(f),
            (std::vector<int>{kChildless, kAllChildren, kAllChildren}));
}

// Else tasks that one program would evaluate would be counted apart.
TEST(ChooseProgramsTest, TasksAreNotToldApartByWhatNoFunctionAsksFor) {
  Sketch f;
  f.Scatter(f.Call(Elementwise::kTanh, f.Gather(0, 4)));
  EXPECT_EQ(TraitsFor(f), (std::vector<int>{kChildless, 0, 0}));
}

// The program for leaves of a function with a product, on such a device; -1 if
// there is none.
int ProgramForLeaves(bool asks_if_finite, bool multiplies) {
  ReferenceDevice::Options options;
  options.capabilities.asks_if_finite = asks_if_finite;
  const ReferenceDevice device(options);
  Sketch f;
  const int h = f.Gather(0, 4);
  f.Scatter(f.Call(Elementwise::kTanh,
                   multiplies ? f.MatMul(h, f.Capture(0, {4, 4})) : h));
  Model model;
  const Status status = CompileModel({f.program}, {}, {}, PassOptions(),
                                     &device, &model, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  return model.variants[0][kChildless];
}

// Zero times a weight is zero only if the weight is finite.
TEST(ChooseProgramsTest, WhereNobodyCanAskNoProgramNeedsFiniteValues) {
  EXPECT_EQ(ProgramForLeaves(/*asks_if_finite=*/true, /*multiplies=*/true), 1);
  EXPECT_EQ(ProgramForLeaves(/*asks_if_finite=*/false, /*multiplies=*/true),
            -1);
  EXPECT_EQ(ProgramForLeaves(/*asks_if_finite=*/false, /*multiplies=*/false),
            1);
}

}  // namespace
}  // namespace cavs
