#include "cc/schedule/child_lists.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace cavs {
namespace {

constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

std::vector<int32_t> Absolute(const std::vector<int32_t>& child_splits,
                              const std::vector<int32_t>& child_ids,
                              const std::vector<int32_t>& graph_splits) {
  std::vector<int32_t> absolute(child_ids.size(), 77);
  MakeAbsolute({child_splits, child_ids, graph_splits, {}}, absolute.data());
  return absolute;
}

std::vector<bool> Children(const std::vector<int32_t>& child_splits,
                           const std::vector<int32_t>& child_ids, int arity) {
  const GraphBatchView batch = {child_splits, child_ids, {}, {}};
  const int64_t size = batch.num_vertices() * arity;
  const std::unique_ptr<bool[]> mask(new bool[size]);
  FindChildren(batch, arity, mask.get());
  return std::vector<bool>(mask.get(), mask.get() + size);
}

TEST(ChildListsTest, AddsTheFirstVertexOfTheGraph) {
  // Two trees, 2 -> (0, 1) and 5 -> (3, missing), and an empty graph between.
  EXPECT_EQ(Absolute({0, 0, 0, 2, 2, 2, 4}, {0, 1, 0, -1}, {0, 3, 3, 6}),
            (std::vector<int32_t>{0, 1, 3, -1}));
}

TEST(ChildListsTest, KeepsIdsThatNoVertexHas) {
  EXPECT_EQ(Absolute({0, 0, 3}, {-7, kMax, kMax - 1}, {0, 1, 2}),
            (std::vector<int32_t>{-7, kMax, kMax}));
}

TEST(ChildListsTest, KeepsIdsOfSplitsThatAreNotValid) {
  const std::vector<int32_t> ids = {0, 0};
  EXPECT_EQ(Absolute({0, 1, 2}, ids, {0, 1, 3}), ids);     // Beyond the end.
  EXPECT_EQ(Absolute({0, 1, 3}, ids, {0, 1, 2}), ids);     // Beyond the end.
  EXPECT_EQ(Absolute({0, 2, 1}, ids, {0, 1, 2}), ids);     // They descend.
  EXPECT_EQ(Absolute({0, 1, 2}, ids, {0, 2, 1, 2}), ids);  // They descend.
  EXPECT_EQ(Absolute({-1, 1, 2}, ids, {0, 1, 2}), ids);    // Before the start.
  EXPECT_EQ(Absolute({0, 1, 2}, ids, {-1, 1, 2}), ids);    // Before the start.
  EXPECT_EQ(Absolute({}, ids, {}), ids);
}

TEST(ChildListsTest, FindsTheSlotsThatHaveAChild) {
  EXPECT_EQ(
      Children({0, 0, 2, 3, 6}, {0, 0, -1, -1, 1, 1}, 2),
      (std::vector<bool>{false, false, true, true, false, false, false, true}));
  EXPECT_EQ(Children({0, 0, 1}, {0}, 0), std::vector<bool>{});
  EXPECT_EQ(Children({}, {}, 3), std::vector<bool>{});
}

TEST(ChildListsTest, FindsNoChildrenOutsideOfTheIds) {
  EXPECT_EQ(Children({0, kMax, 1}, {0}, 2),
            (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(Children({-2, 1}, {0}, 2), (std::vector<bool>{false, false}));
  EXPECT_EQ(Children({5, 9}, {0}, 1), std::vector<bool>{false});
}

}  // namespace
}  // namespace cavs
