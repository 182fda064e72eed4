#include "cc/schedule/external_rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace cavs {
namespace {

// Vertices 0 and 3 are of type 0, then 1, 2 and 4 of type 1.
const std::vector<int32_t> kOrder = {3, 0, 1, 4, 2};
const std::vector<int32_t> kSplits = {0, 2, 4, 5};
const std::vector<int32_t> kTypes = {0, 1, 1};

ScheduleView View() { return {kOrder, kSplits, kTypes, {}, 0, {}, {}, {}}; }

std::vector<TypeRows> Types() {
  std::vector<TypeRows> types;
  const std::vector<int> traits(kTypes.size());
  for (int type : {0, 1}) types.emplace_back(View(), kTypes, traits, type);
  return types;
}

std::vector<int32_t> OfType(const ExternalRows& rows, int type, int count) {
  const int32_t* row = rows.of_type(type).data();
  return {row, row + count};
}

TEST(ExternalRowsTest, EveryVertexHasTheRowOfItsNumber) {
  const std::vector<TypeRows> types = Types();
  const ExternalRows rows(AllVertices(View()), types);
  EXPECT_TRUE(rows.all());
  EXPECT_EQ(rows.count(), 5);
  EXPECT_EQ(OfType(rows, 0, 2), std::vector<int32_t>({3, 0}));
  EXPECT_EQ(OfType(rows, 1, 3), std::vector<int32_t>({1, 4, 2}));
}

TEST(ExternalRowsTest, VerticesOfTypesHaveRowsInVertexOrder) {
  const std::vector<TypeRows> types = Types();
  const ExternalRows rows(VerticesOfTypes(View(), {false, true}), types);
  EXPECT_FALSE(rows.all());
  EXPECT_EQ(rows.count(), 3);
  EXPECT_EQ(OfType(rows, 0, 2), std::vector<int32_t>({-1, -1}));
  EXPECT_EQ(OfType(rows, 1, 3), std::vector<int32_t>({0, 2, 1}));
}

TEST(ExternalRowsTest, ChosenVerticesHaveRowsInTheirOrder) {
  RowMap map;
  ASSERT_TRUE(ChosenVertices("at", std::vector<int32_t>{4, 0}, 5, &map).ok());
  const std::vector<TypeRows> types = Types();
  const ExternalRows rows(map, types);
  EXPECT_EQ(rows.count(), 2);
  EXPECT_EQ(OfType(rows, 0, 2), std::vector<int32_t>({-1, 1}));
  EXPECT_EQ(OfType(rows, 1, 3), std::vector<int32_t>({-1, 0, -1}));
}

TEST(ExternalRowsTest, NoVertexMayBeChosen) {
  RowMap map;
  ASSERT_TRUE(ChosenVertices("at", {}, 5, &map).ok());
  const std::vector<TypeRows> types = Types();
  EXPECT_EQ(OfType(ExternalRows(map, types), 0, 2),
            std::vector<int32_t>(2, -1));
}

TEST(ExternalRowsTest, BadChoicesAreNamed) {
  RowMap map;
  EXPECT_EQ(ChosenVertices("at", std::vector<int32_t>{0, 5}, 5, &map).message(),
            "at[1]: got 5 but expected a vertex of the minibatch, in [0, 5).");
  EXPECT_EQ(ChosenVertices("at", std::vector<int32_t>{-1}, 5, &map).message(),
            "at[0]: got -1 but expected a vertex of the minibatch, in [0, 5).");
  EXPECT_EQ(
      ChosenVertices("at", std::vector<int32_t>{2, 1, 2}, 5, &map).message(),
      "at[2]: got vertex 2, as in at[0], but expected every vertex once. "
      "Repeat rows with tf.gather.");
}

}  // namespace
}  // namespace cavs
