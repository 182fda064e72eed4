#include "cc/ir/operators.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "cc/ir/elementwise.h"

namespace cavs {
namespace {

TEST(OperatorsTest, EveryOperatorIsFoundByANameOfItsOwn) {
  std::set<std::string> names;
  for (const Operator& row : kOperators) {
    EXPECT_EQ(FindOperator(row.name), &row);
    names.insert(row.name);
  }
  for (const ElementwiseOperator& row : kElementwiseOperators) {
    EXPECT_EQ(FindElementwise(row.name), &row);
    names.insert(row.name);
  }
  EXPECT_EQ(names.size(),
            std::size(kOperators) + std::size(kElementwiseOperators));
  EXPECT_EQ(FindOperator("add"), nullptr);
  EXPECT_EQ(FindElementwise("gather"), nullptr);
}

TEST(OperatorsTest, EveryFrameworkNameIsThatOfOneOperator) {
  std::set<std::string_view> names;
  for (const ElementwiseOperator& row : kElementwiseOperators) {
    for (std::string_view name : row.framework_names) {
      if (name.empty()) continue;
      EXPECT_EQ(FindFrameworkElementwise(name), &row);
      EXPECT_TRUE(names.insert(name).second) << name;
    }
  }
  EXPECT_EQ(FindFrameworkElementwise(""), nullptr);
  EXPECT_EQ(FindFrameworkElementwise("Softmax"), nullptr);
}

TEST(OperatorsTest, OnlyOperatorsOfTwoOperandsCommuteOrBeginAPair) {
  for (const ElementwiseOperator& row : kElementwiseOperators) {
    if (row.operands == 2) continue;
    EXPECT_EQ(row.flags & (kCommutes | kBeginsPair), 0) << row.name;
  }
}

TEST(OperatorsTest, ADerivativeMovesRowsTheOtherWay) {
  const NodeKind pairs[][2] = {{NodeKind::kGather, NodeKind::kGatherGrad},
                               {NodeKind::kScatter, NodeKind::kScatterGrad},
                               {NodeKind::kPull, NodeKind::kPullGrad},
                               {NodeKind::kPush, NodeKind::kPushGrad}};
  for (const auto& [forward, backward] : pairs) {
    EXPECT_EQ(RowOf(forward).outside, RowOf(backward).outside);
    EXPECT_NE(RowOf(forward).brings_in, RowOf(backward).brings_in);
    EXPECT_EQ(RowOf(backward).name, std::string(RowOf(forward).name) + "_grad");
  }
}

}  // namespace
}  // namespace cavs
