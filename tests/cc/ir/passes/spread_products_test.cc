#include "cc/ir/passes/spread_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cc/ir/parse.h"
#include "cc/ir/passes/run_passes.h"
#include "cc/ir/print.h"

namespace cavs {
namespace {

Program Parsed(const std::string& text) {
  Program program;
  const Status status = Parse(text, {}, &program);
  EXPECT_TRUE(status.ok()) << status.message();
  return program;
}

// The sum over edges of tanh(x W), where x is a row of the vertex.
constexpr char kFunction[] = R"(
  %1 = pull(0) : rows<4xf64>  {eager}
  %2 = spread %1 : edges<4xf64>  {eager}
  @0 = capture(0) : invariant<4x4xf64>
  %3 = matmul %2, @0 : edges<4xf64>  {eager}
  %4 = tanh %3 : edges<4xf64>  {eager}
  %5 = sum_edges %4 : rows<4xf64>  {eager}
  scatter %5  {eager}
)";
constexpr char kDerivative[] = R"(derivative ""
  %0 = scatter_grad : rows<4xf64>  {lazy}
  %1 = spread %0 : edges<4xf64>  {lazy}
  %2 = saved(0) : edges<4xf64>
  %3 = tanh_grad %2, %1 : edges<4xf64>  {lazy}
  %4 = saved(1) : edges<4xf64>
  %9 = view %4[0:2] : edges<2xf64>
)";

int RowsOfEdges(const Program& program) {
  return static_cast<int>(std::count_if(
      program.results.begin(), program.results.end(),
      [&](int id) { return program.symbols[id].space == RowSpace::kEdges; }));
}

TEST(SaveBeforeSpreadTest, WeightGradientsReadRowsOfVertices) {
  for (bool saves_rows : {false, true}) {
    Program function = Parsed(std::string(kFunction) + "  results %4, %2" +
                              (saves_rows ? ", %1\n" : "\n"));
    Program derivative =
        Parsed(std::string(kDerivative) +
               (saves_rows ? R"(  %5 = saved(2) : rows<4xf64>
  %6 = sum_edges %3 : rows<4xf64>  {lazy}
  @7 = weight_grad %4, %3 : sum<4x4xf64>  {lazy}
  @8 = weight_grad %5, %6 : sum<4x4xf64>  {lazy}
  results @7, @8
)"
                           : R"(  @7 = weight_grad %4, %3 : sum<4x4xf64>  {lazy}
  results @7
)"));
    const Status status = SimplifyTogether({}, &function, &derivative);
    ASSERT_TRUE(status.ok()) << status.message();
    SCOPED_TRACE(Print(function) + Print(derivative));
    EXPECT_EQ(RowsOfEdges(function), 1);  // The messages.
    int sums_over_edges = 0;
    for (const Node& node : derivative.nodes) {
      sums_over_edges += node.kind == NodeKind::kSumEdges;
      if (node.kind != NodeKind::kWeightGrad) continue;
      for (int id : node.inputs) {
        EXPECT_EQ(derivative.symbols[id].space, RowSpace::kVertices);
      }
    }
    EXPECT_EQ(sums_over_edges, 1);
  }
}

TEST(SaveBeforeSpreadTest, WhatIsReadOtherwiseStays) {
  Program function = Parsed(std::string(kFunction) + "  results %4, %2\n");
  Program derivative =
      Parsed(std::string(kDerivative) +
             R"(  @7 = weight_grad %3, %4 : sum<4x4xf64>  {lazy}
  results @7
)");
  const std::string before = Print(derivative);
  ASSERT_TRUE(SimplifyTogether({}, &function, &derivative).ok());
  EXPECT_EQ(RowsOfEdges(function), 2);
  EXPECT_EQ(Print(derivative), before);
}

}  // namespace
}  // namespace cavs
