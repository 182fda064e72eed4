#include "cc/exec/storage_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "cc/device/cpu/cpu_device.h"

namespace cavs {
namespace {

constexpr size_t kHuge = std::numeric_limits<size_t>::max();

std::shared_ptr<StoragePool> MakePool() {
  return std::make_shared<StoragePool>(std::make_shared<HostMemory>());
}

bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % Memory::kAlignment == 0;
}

TEST(StoragePoolTest, LendsWritableAlignedMemory) {
  auto pool = MakePool();
  for (size_t bytes : {0, 1, 63, 64, 65, 100000}) {
    const std::shared_ptr<void> buffer = pool->Acquire(bytes);
    ASSERT_NE(buffer, nullptr);
    EXPECT_TRUE(IsAligned(buffer.get()));
    std::memset(buffer.get(), 1, bytes);
  }
}

TEST(StoragePoolTest, ReturnedMemoryIsLentAgain) {
  auto pool = MakePool();
  void* first = pool->Acquire(1000).get();
  EXPECT_EQ(pool->Acquire(1000).get(), first);
  EXPECT_EQ(pool->Acquire(500).get(), first);
  EXPECT_EQ(pool->num_allocations(), 1);
}

TEST(StoragePoolTest, ABufferReturnsWithItsLastOwner) {
  auto pool = MakePool();
  std::shared_ptr<void> buffer = pool->Acquire(1000);
  std::shared_ptr<void> copy = buffer;
  buffer.reset();
  const std::shared_ptr<void> other = pool->Acquire(1000);
  EXPECT_NE(other, copy);
  EXPECT_EQ(pool->num_allocations(), 2);
}

TEST(StoragePoolTest, AMinibatchALittleLargerFitsIntoTheSameMemory) {
  auto pool = MakePool();
  pool->Acquire(10000);
  pool->Acquire(11000);
  EXPECT_EQ(pool->num_allocations(), 1);
}

TEST(StoragePoolTest, TheSmallestBufferThatFitsIsTaken) {
  auto pool = MakePool();
  std::vector<std::shared_ptr<void>> buffers;
  for (size_t bytes : {5000, 1000, 3000, 2000}) {
    buffers.push_back(pool->Acquire(bytes));
  }
  void* const of_2000 = buffers[3].get();
  void* const of_3000 = buffers[2].get();
  buffers.clear();
  const std::shared_ptr<void> best = pool->Acquire(1900);
  EXPECT_EQ(best.get(), of_2000);
  EXPECT_EQ(pool->Acquire(1900).get(), of_3000);
}

TEST(StoragePoolTest, ALargeBufferIsLeftForALargeStep) {
  auto pool = MakePool();
  void* const large = pool->Acquire(1 << 20).get();
  const std::shared_ptr<void> small = pool->Acquire(64);
  EXPECT_NE(small.get(), large);
  EXPECT_EQ(pool->Acquire(1 << 20).get(), large);
}

TEST(StoragePoolTest, AsksTheSystemForNothingInSteadyState) {
  auto pool = MakePool();
  std::mt19937 random(1);
  // A step of a model with many types takes this many buffers at once.
  for (int count : {1, 3, 9, 40}) {
    int64_t after_first = 0;
    for (int step = 0; step < 5; ++step) {
      std::vector<std::shared_ptr<void>> lent;
      for (int i = 0; i < count; ++i) {
        lent.push_back(pool->Acquire(100 + (i * 7919) % 5000));
      }
      if (step == 0) after_first = pool->num_allocations();
      while (!lent.empty()) {
        lent.erase(lent.begin() + random() % lent.size());
      }
    }
    EXPECT_EQ(pool->num_allocations(), after_first) << count << " at once";
  }
}

TEST(StoragePoolTest, DoesNotHoardBuffersThatGrow) {
  // Minibatches grow. The memory that the pool keeps must stay bounded;
  // requests of many small buffers at once would show if it did not.
  auto pool = MakePool();
  for (size_t bytes = 1000; bytes < 60000; bytes += bytes / 4) {
    pool->Acquire(bytes);
  }
  const int64_t before = pool->num_allocations();
  std::vector<std::shared_ptr<void>> lent;
  for (int i = 0; i < 20; ++i) lent.push_back(pool->Acquire(8000));
  EXPECT_GE(pool->num_allocations() - before, 12);
}

TEST(StoragePoolTest, HoldsLittleMoreThanWasEverLentAtOnce) {
  auto pool = MakePool();
  std::mt19937 random(2);
  size_t largest = 1000;
  for (int step = 0; step < 200; ++step) {
    // Takes buffers for minibatches of many sizes, which grow.
    largest += largest / 20;
    std::vector<std::shared_ptr<void>> lent;
    for (int i = 0; i < 3; ++i)
      lent.push_back(pool->Acquire(1 + random() % largest));
    lent.clear();
    EXPECT_LE(pool->waiting_bytes(), pool->peak_bytes() / 8 * 9 + 64);
  }
}

TEST(StoragePoolTest, ASmallStepBetweenLargeOnesTakesNothingFromThem) {
  auto pool = MakePool();
  const auto step = [&](size_t bytes) {
    std::vector<std::shared_ptr<void>> lent;
    for (int i = 1; i <= 3; ++i) lent.push_back(pool->Acquire(i * bytes));
  };
  step(100000);
  step(1000);
  const int64_t before = pool->num_allocations();
  step(100000);
  EXPECT_EQ(pool->num_allocations(), before);
}

TEST(StoragePoolTest, CountsWhatIsLentAndWhatWaits) {
  auto pool = MakePool();
  EXPECT_EQ(pool->waiting_bytes(), 0u);
  std::shared_ptr<void> buffer = pool->Acquire(800);
  const size_t size = pool->peak_bytes();
  EXPECT_GE(size, 800u);
  EXPECT_EQ(pool->waiting_bytes(), 0u);
  buffer.reset();
  EXPECT_EQ(pool->waiting_bytes(), size);
  EXPECT_EQ(pool->peak_bytes(), size);
}

TEST(StoragePoolTest, BuffersMayOutliveThePool) {
  auto pool = MakePool();
  const std::shared_ptr<void> buffer = pool->Acquire(100);
  pool.reset();
  std::memset(buffer.get(), 1, 100);  // A sanitizer finds a second free.
}

TEST(StoragePoolTest, WithoutAnOwnerThePoolFreesWhatReturns) {
  StoragePool pool(std::make_shared<HostMemory>());
  std::memset(pool.Acquire(100).get(), 1, 100);
  std::memset(pool.Acquire(100).get(), 1, 100);
  EXPECT_EQ(pool.num_allocations(), 2);
}

TEST(StoragePoolTest, AbsurdSizesGiveNullNotASmallBuffer) {
  auto pool = MakePool();
  for (size_t bytes : {kHuge, kHuge - 1, kHuge - 63, kHuge - 64, kHuge - 1000,
                       kHuge / 9 * 8 + 100, kHuge / 2}) {
    EXPECT_EQ(pool->Acquire(bytes), nullptr) << bytes;
  }
  EXPECT_NE(pool->Acquire(100), nullptr);
}

TEST(StoragePoolTest, ThreadsNeverShareABuffer) {
  auto pool = MakePool();
  for (int count : {1, 2, 3, 7, 16}) {
    std::vector<std::thread> threads;
    for (int id = 0; id < count; ++id) {
      threads.emplace_back([&pool, id] {
        for (int i = 0; i < 200; ++i) {
          const size_t n = 16 + (i * 37 + id) % 500;
          const std::shared_ptr<void> buffer = pool->Acquire(n * sizeof(int));
          int* const numbers = static_cast<int*>(buffer.get());
          for (size_t j = 0; j < n; ++j) numbers[j] = id;
          for (size_t j = 0; j < n; ++j) ASSERT_EQ(numbers[j], id);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(StoragePoolTest, ABufferMayReturnOnAnotherThread) {
  auto pool = MakePool();
  std::shared_ptr<void> buffer = pool->Acquire(1000);
  void* const data = buffer.get();
  std::thread([moved = std::move(buffer)]() mutable { moved.reset(); }).join();
  EXPECT_EQ(pool->Acquire(1000).get(), data);
}

}  // namespace
}  // namespace cavs
