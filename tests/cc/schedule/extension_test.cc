#include "cc/schedule/extension.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cc/schedule/schedule.h"

namespace cavs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct New {
  std::vector<int32_t> child_splits, child_ids, vertex_type;
  int32_t num_states = 0;
};

Status Extend(const New& own, int arity, int num_types, Extension* extension) {
  return MakeExtension(
      {own.child_splits, own.child_ids, own.vertex_type, own.num_states}, arity,
      num_types, extension);
}

std::string MessageOf(const New& own, int arity = 2, int num_types = 1) {
  Extension extension;
  return Extend(own, arity, num_types, &extension).message();
}

TEST(ExtensionTest, StatesThatAreGatheredAreVerticesBehindTheNewOnes) {
  Extension extension;
  // New vertices 8 -> (7, 2), 9 -> (missing, 8), 10 -> (2).
  const New own = {{0, 2, 4, 5}, {7, 2, -1, 8, 2}, {}, 8};
  ASSERT_TRUE(Extend(own, 2, 1, &extension).ok());
  EXPECT_THAT(extension.read, ElementsAre(2, 7));
  EXPECT_THAT(extension.child_splits, ElementsAre(0, 2, 4, 5, 5, 5));
  EXPECT_THAT(extension.child_ids, ElementsAre(4, 3, -1, 0, 3));
  EXPECT_THAT(extension.vertex_type, ElementsAre(0, 0, 0, 1, 1));
}

TEST(ExtensionTest, GivenStatesHaveATypeMore) {
  Extension extension;
  ASSERT_TRUE(Extend({{0, 1, 2}, {0, 1}, {2, 0}, 2}, 1, 3, &extension).ok());
  EXPECT_THAT(extension.vertex_type, ElementsAre(2, 0, 3, 3));
}

TEST(ExtensionTest, NothingNewOrNothingOld) {
  Extension extension;
  for (const std::vector<int32_t>& splits :
       {std::vector<int32_t>{}, std::vector<int32_t>{0}}) {
    ASSERT_TRUE(Extend({splits, {}, {}, 3}, 2, 1, &extension).ok());
    EXPECT_THAT(extension.read, IsEmpty());
    EXPECT_THAT(extension.child_splits, ElementsAre(0));
    EXPECT_THAT(extension.vertex_type, IsEmpty());
  }
  ASSERT_TRUE(Extend({{0, 0, 1}, {0}, {}, 0}, 2, 1, &extension).ok());
  EXPECT_THAT(extension.read, IsEmpty());
  EXPECT_THAT(extension.child_ids, ElementsAre(0));
}

TEST(ExtensionTest, TheGraphCanBeScheduled) {
  Extension extension;
  ASSERT_TRUE(Extend({{0, 2, 4}, {3, 1, 0, 1}, {}, 2}, -1, 1, &extension).ok());
  const std::vector<int32_t> splits = {
      0, static_cast<int32_t>(extension.vertex_type.size())};
  Schedule schedule;
  const GraphBatchView batch = {extension.child_splits, extension.child_ids,
                                splits, extension.vertex_type};
  ASSERT_TRUE(MakeSchedule(batch, 2, 2, ScheduleOptions(), &schedule).ok());
  EXPECT_THAT(schedule.task_type, ElementsAre(1, 0, 0));
}

TEST(ExtensionTest, NamesVertexAndSlot) {
  const int32_t kMax = std::numeric_limits<int32_t>::max();
  EXPECT_THAT(MessageOf({{0, 1, 2}, {0, 9}, {}, 5}),
              HasSubstr("children[1][0]: got 9 but expected -1 (no child), a "
                        "row of the 5 states, or 5 + i for new vertex i of 2"));
  EXPECT_THAT(MessageOf({{0, 2}, {0, -2}, {}, 5}),
              HasSubstr("children[0][1]: got -2"));
  EXPECT_THAT(MessageOf({{0, 1}, {kMax}, {}, 5}), HasSubstr("got 2147483647"));
  EXPECT_THAT(MessageOf({{0, 3}, {0, 1, 2}, {}, 5}),
              HasSubstr("children[0]: got 3 children but expected at most 2"));
  EXPECT_EQ(MessageOf({{0, 3}, {0, 1, 2}, {}, 5}, /*arity=*/-1), "");
  EXPECT_THAT(MessageOf({{0, 0}, {}, {0, 0}, 5}),
              HasSubstr("vertex_type: got 2 values but expected 1"));
  EXPECT_THAT(MessageOf({{0, 0}, {}, {1}, 5}),
              HasSubstr("vertex_type[0]: got 1 but expected a type"));
  EXPECT_THAT(MessageOf({{0, 0}, {}, {}, -1}), HasSubstr("states: got -1"));
  EXPECT_THAT(MessageOf({{0, 0}, {}, {}, kMax}), HasSubstr("states: got 2147"));
}

TEST(ExtensionTest, RejectsSplitsThatDoNotAscendToTheIds) {
  EXPECT_THAT(MessageOf({{1, 2}, {0, 0}, {}, 5}), HasSubstr("child_splits[0]"));
  EXPECT_THAT(MessageOf({{0, 2, 1}, {0, 0}, {}, 5}),
              HasSubstr("child_splits[2]: got 1"));
  EXPECT_THAT(MessageOf({{0, 3}, {0, 0}, {}, 5}), HasSubstr("child_splits[1]"));
  EXPECT_THAT(MessageOf({{}, {0, 0}, {}, 5}),
              HasSubstr("child_splits: got no"));
}

}  // namespace
}  // namespace cavs
