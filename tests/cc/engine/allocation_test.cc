// Once the engine is warm, operations allocate no memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "tests/cc/engine/engine_test_util.h"

namespace {

// Counts the allocations of the whole program, since operator new is global.
std::atomic<int64_t> allocations{0};

void* Allocate(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) { return Allocate(bytes); }
[[gnu::noinline]] void* operator new[](size_t bytes) { return Allocate(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}

namespace cavs::engine {
namespace {

class AllocationTest : public EveryPolicyTest {
 protected:
  // Pushes operations with two reads and a mutation each, at most 64 of them
  // unfinished at a time.
  void PushThousand() {
    struct Payload {
      int64_t* sum;
      int64_t values[7];
    };
    for (int i = 0; i < 1000; ++i) {
      const Payload payload{&sum_, {i}};
      engine_.Push([payload] { *payload.sum += payload.values[0]; },
                   {variables_[1 + i % 7], variables_[8]}, {variables_[0]},
                   {i % 3, 0, "an operation with quite a long name"});
      if (i % 64 == 0) engine_.WaitFor(variables_[0]);
    }
    engine_.WaitFor(variables_[0]);
  }

  int64_t sum_ = 0;
  std::vector<Variable> variables_ = [this] {
    std::vector<Variable> made;
    for (int i = 0; i < 9; ++i) made.push_back(engine_.NewVariable());
    return made;
  }();
};

INSTANTIATE_TEST_SUITE_P(Policies, AllocationTest,
                         testing::ValuesIn(AllPolicies()),
                         [](const auto& info) { return info.param.name; });

TEST_P(AllocationTest, SteadyStateAllocatesNothing) {
  // Warms the engine up: all 65 operations that can be unfinished are made, and
  // each gets names and payloads of every size.
  Gate gate;
  engine_.Push(
      [&] {
        if (GetParam().name != "Naive") gate.Pass();
      },
      {}, {variables_[0]});
  for (int i = 0; i < 80; ++i) {
    engine_.Push([] {}, {variables_[1], variables_[8]}, {variables_[0]},
                 {i % 3, 0, "an operation with quite a long name"});
  }
  gate.Open();
  PushThousand();
  const int64_t before = allocations;
  for (int i = 0; i < 10; ++i) PushThousand();
  EXPECT_EQ(allocations - before, 0);
}

TEST(ClosureTest, LargeCallableLivesOnTheHeapAndIsDestroyedOnce) {
  auto alive = std::make_shared<int>(0);
  struct Large {
    std::shared_ptr<int> alive;
    char bytes[200];
  };
  const int64_t before = allocations;
  {
    Closure closure = Closure::Of(
        [large = Large{alive, {}}](Completion*) { ++*large.alive; });
    EXPECT_EQ(allocations - before, 1);
    Closure moved = std::move(closure);
    moved(nullptr);
    EXPECT_EQ(*alive, 1);
    EXPECT_EQ(alive.use_count(), 2);
    moved.Reset();
    EXPECT_EQ(alive.use_count(), 1);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace cavs::engine
