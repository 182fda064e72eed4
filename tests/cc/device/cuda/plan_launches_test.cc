// Tests which launches are the epilogue of products, which sums products form,
// and which rows are written where they are sent to.
#include "cc/device/cuda/plan_launches.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/ir/parse.h"
#include "cc/ir/passes/run_passes.h"

namespace cavs {
namespace {

CompiledProgram Compiled(const std::string& text) {
  Program parsed;
  Status status = Parse(text, {}, &parsed);
  EXPECT_TRUE(status.ok()) << status.message();
  CompiledProgram program(std::move(parsed));
  status = RunPasses(PassOptions(), Capabilities(), &program);
  EXPECT_TRUE(status.ok()) << status.message();
  return program;
}

// Whether the group in a function's critical launches is an epilogue.
bool HasEpilogue(const std::string& body) {
  const CompiledProgram program = Compiled(R"(
  %0 = gather(0) : rows<8xf32>
  @1 = capture(0) : invariant<8x8xf32>
  @2 = capture(1) : invariant<8x16xf32>
)" + body);
  const std::vector<CudaLaunch> launches =
      PlanLaunches(program, Stage::kCritical);
  int products = 0;
  bool found = false;
  for (size_t i = 0; i < launches.size(); ++i) {
    products += launches[i].kind == LaunchKind::kProducts;
    if (!launches[i].is_epilogue) continue;
    found = true;
    EXPECT_EQ(launches[i].kind, LaunchKind::kElementwise);
    EXPECT_EQ(launches[i - 1].kind, LaunchKind::kProducts);
  }
  EXPECT_GT(products, 0) << body;
  return found;
}

TEST(PlanLaunchesTest, AGroupOfTheColumnsOfProductsIsTheirEpilogue) {
  EXPECT_TRUE(HasEpilogue(R"(
  %3 = matmul %0, @1 : rows<8xf32>
  %4 = tanh %3 : rows<8xf32>
  scatter %4
)"));
  EXPECT_TRUE(HasEpilogue(R"(
  %3 = matmul %0, @2 : rows<16xf32>
  %4 = view %3[0:8] : rows<8xf32>
  %5 = view %3[8:16] : rows<8xf32>
  %6 = mul %4, %5 : rows<8xf32>
  scatter %6
)"));
}

// Two gates of which the second is read half a gate too early.
TEST(PlanLaunchesTest, AGroupOfColumnsOfOtherBlocksIsNone) {
  EXPECT_FALSE(HasEpilogue(R"(
  %3 = matmul %0, @2 : rows<16xf32>
  %4 = view %3[0:8] : rows<8xf32>
  %5 = view %3[4:12] : rows<8xf32>
  %6 = mul %4, %5 : rows<8xf32>
  scatter %6
)"));
}

// One column that all others read is computed by one block.
TEST(PlanLaunchesTest, AGroupThatReadsOneColumnOfAProductIsNone) {
  EXPECT_FALSE(HasEpilogue(R"(
  @3 = capture(2) : invariant<8x1xf32>
  %4 = matmul %0, @1 : rows<8xf32>
  %5 = matmul %0, @3 : rows<1xf32>
  %6 = mul %4, %5 : rows<8xf32>
  scatter %6
)"));
}

TEST(PlanLaunchesTest, AGroupOverOtherRowsIsNone) {
  EXPECT_FALSE(HasEpilogue(R"(
  %3 = gather : edges<8xf32>
  %4 = matmul %3, @1 : edges<8xf32>
  %5 = matmul %0, @1 : rows<8xf32>
  %6 = tanh %5 : rows<8xf32>
  %7 = tanh %4 : edges<8xf32>
  %8 = sum_edges %7 : rows<8xf32>
  %9 = add %6, %8 : rows<8xf32>
  scatter %9
)"));
}

// Whether a sum of children is formed by the products that read it.
bool FormsSum(const std::string& body) {
  const CompiledProgram program = Compiled(R"(
  %0 = gather(0) : rows<8xf32>
  %1 = gather(1) : rows<8xf32>
  @2 = capture(0) : invariant<8x8xf32>
  @3 = capture(1) : invariant<4x8xf32>
)" + body);
  for (const CudaLaunch& launch : PlanLaunches(program, Stage::kCritical)) {
    if (!launch.summed.empty()) return true;
  }
  return false;
}

TEST(PlanLaunchesTest, ASumOfChildrenIsFormedByTheProductsThatReadIt) {
  EXPECT_TRUE(FormsSum(R"(
  %4 = add %0, %1 : rows<8xf32>
  %5 = matmul %4, @2 : rows<8xf32>
  %6 = tanh %5 : rows<8xf32>
  scatter %6
)"));
  EXPECT_TRUE(FormsSum(R"(
  %4 = gather(2) : rows<8xf32>
  %5 = add %0, %1 : rows<8xf32>
  %6 = add %5, %4 : rows<8xf32>
  %7 = matmul %6, @2 : rows<8xf32>
  %8 = tanh %7 : rows<8xf32>
  scatter %8
)"));
}

// What is no sum, what is read by others or in part, and products without an
// epilogue.
TEST(PlanLaunchesTest, OtherSumsAreLaunchesOfTheirOwn) {
  EXPECT_FALSE(FormsSum(R"(
  %4 = add %0, %1 : rows<8xf32>
  %5 = add %4, %4 : rows<8xf32>
  %6 = matmul %5, @2 : rows<8xf32>
  %7 = tanh %6 : rows<8xf32>
  scatter %7
)"));
  EXPECT_FALSE(FormsSum(R"(
  %4 = sub %0, %1 : rows<8xf32>
  %5 = matmul %4, @2 : rows<8xf32>
  %6 = tanh %5 : rows<8xf32>
  scatter %6
)"));
  EXPECT_FALSE(FormsSum(R"(
  %4 = add %0, %1 : rows<8xf32>
  %5 = matmul %4, @2 : rows<8xf32>
  %6 = mul %4, %5 : rows<8xf32>
  scatter %6
)"));
  EXPECT_FALSE(FormsSum(R"(
  %4 = add %0, %1 : rows<8xf32>
  %5 = view %4[4:8] : rows<4xf32>
  %6 = matmul %5, @3 : rows<8xf32>
  %7 = matmul %4, @2 : rows<8xf32>
  %8 = mul %6, %7 : rows<8xf32>
  scatter %8
)"));
  EXPECT_FALSE(FormsSum(R"(
  %4 = add %0, %1 : rows<8xf32>
  %5 = matmul %4, @2 : rows<8xf32>
  scatter %5
)"));
}

// How many gradients of the children's state are written in their place.
int NumSentBack(const std::string& body) {
  const CompiledProgram program = Compiled(R"(derivative "f"
  %0 = scatter_grad : rows<8xf32>
  @1 = capture(0) : invariant<8x8xf32>
)" + body);
  std::set<int> found;
  for (const int node : FindSentBack(program)) found.insert(node);
  return static_cast<int>(found.size()) - 1;
}

TEST(PlanLaunchesTest, GroupsWriteGradientsWhereTheyAreSent) {
  EXPECT_EQ(NumSentBack(R"(
  %2 = tanh %0 : rows<8xf32>
  %3 = neg %0 : rows<8xf32>
  gather_grad(0) %2
  gather_grad(1) %3
)"),
            2);
}

TEST(PlanLaunchesTest, GradientsThatAreSentTwiceOrReadStay) {
  EXPECT_EQ(NumSentBack(R"(
  %2 = tanh %0 : rows<8xf32>
  gather_grad(0) %2
  gather_grad(1) %2
)"),
            0);
  EXPECT_EQ(NumSentBack(R"(
  %2 = tanh %0 : rows<8xf32>
  %3 = matmul %2, @1 : rows<8xf32>
  gather_grad(0) %2
  pull_grad(0) %3
)"),
            0);
}

TEST(PlanLaunchesTest, GradientsThatAreProductsStay) {
  EXPECT_EQ(NumSentBack(R"(
  %2 = matmul %0, @1 : rows<8xf32>
  gather_grad(0) %2
)"),
            0);
}

}  // namespace
}  // namespace cavs
