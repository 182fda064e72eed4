#include "cc/device/host_memory.h"

#include <gtest/gtest.h>
#if defined(__linux__)
#include <unistd.h>
#endif

#include <cstdint>
#include <cstring>
#include <fstream>

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

#if defined(__linux__)
TEST(HostMemoryTest, ProvidesNoMoreThanTheMachineHas) {
  const HostMemory memory;
  EXPECT_TRUE(memory.MayProvide(0));
  EXPECT_TRUE(memory.MayProvide(size_t{1} << 20));
  EXPECT_FALSE(memory.MayProvide(SIZE_MAX / 2));
}
#endif

// AddressSanitizer takes memory of its own for every buffer.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
// The bytes of the process that are in memory.
size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The pool allocates an eighth more than a step needs.
TEST(HostMemoryTest, TheEndOfABufferTakesNoMemoryUntilItIsUsed) {
  HostMemory memory;
  constexpr size_t kAsked = (size_t{16} << 20) + 64;
  constexpr size_t kBytes = kAsked + kAsked / 8 / 64 * 64;
  const size_t before = ResidentBytes();
  void* const data = memory.Allocate(kBytes);
  ASSERT_NE(data, nullptr);
  std::memset(data, 1, kAsked);
  EXPECT_LT(ResidentBytes() - before, kAsked + (size_t{1} << 20));
  memory.Free(data, kBytes);
}
#endif

}  // namespace
}  // namespace cavs
