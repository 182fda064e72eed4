#include "cc/device/host_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace cavs {
namespace {

uintptr_t Address(const void* data) {
  return reinterpret_cast<uintptr_t>(data);
}

TEST(HostMemoryTest, LargeBuffersBeginAtLargePages) {
  HostMemory memory;
  constexpr size_t kMiB = size_t{1} << 20;
  for (const size_t bytes : {4 * kMiB, 5 * kMiB + 64, 64 * kMiB}) {
    void* const data = memory.Allocate(bytes);
    ASSERT_NE(data, nullptr) << bytes;
    EXPECT_EQ(Address(data) % (2 * kMiB), 0) << bytes;
    std::memset(data, 1, bytes);
    memory.Free(data, bytes);
  }
}

TEST(HostMemoryTest, SmallBuffersAreAligned) {
  HostMemory memory;
  for (const size_t bytes : {size_t{64}, size_t{4} << 10}) {
    void* const data = memory.Allocate(bytes);
    ASSERT_NE(data, nullptr) << bytes;
    EXPECT_EQ(Address(data) % Memory::kAlignment, 0) << bytes;
    memory.Free(data, bytes);
  }
}

TEST(HostMemoryTest, TooManyBytesGiveNoMemory) {
  HostMemory memory;
  EXPECT_EQ(memory.Allocate(SIZE_MAX / Memory::kAlignment * Memory::kAlignment),
            nullptr);
}

}  // namespace
}  // namespace cavs
