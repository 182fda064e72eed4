#include "cc/schedule/link_same.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace cavs {
namespace {

TEST(LinkSameTest, EqualValuesAreLinkedInOrder) {
  const std::vector<int32_t> values = {3, 0, -1, 3, 1, 0, -1, 3};
  std::vector<int32_t> links = {9};
  LinkSame(values, 4, &links);
  LinkSame({}, 4, &links);
  EXPECT_EQ(links, (std::vector<int32_t>{9, 0, 3, 0, 4, 0, 0, 3, 4, 0, 0, 4, 0,
                                         0, 0, 4, 0}));
}

}  // namespace
}  // namespace cavs
