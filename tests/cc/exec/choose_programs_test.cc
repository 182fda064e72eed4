#include "cc/exec/choose_programs.h"

#include <gtest/gtest.h>

#include <vector>

#include "cc/device/cpu/cpu_device.h"
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

}  // namespace
}  // namespace cavs
