// Looks for deadlocks, lost wake-ups and lost operations.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/engine/engine_test_util.h"

namespace cavs::engine {
namespace {

constexpr int kPushers = 8;
constexpr int kShared = 16;

// The number of operations. For a long search, set
// CAVS_STRESS_OPERATIONS=1000000.
int64_t Operations() {
  const char* text = std::getenv("CAVS_STRESS_OPERATIONS");
  return text != nullptr ? std::atoll(text) : 100000;
}

// A counter without a lock. Only operations that mutate its variable change it,
// so it is right only if the engine runs them one at a time.
struct Counter {
  Variable variable;
  int64_t value = 0;
  std::atomic<int64_t> pushed{0};
};

class StressTest : public EveryPolicyTest {
 protected:
  // Pushes `count` tiny operations, in an order that depends on the seed, on
  // shared variables and on some that are soon destroyed.
  void PushMany(uint32_t seed, int64_t count) {
    std::mt19937 random(seed);
    std::vector<Variable> own;
    for (int64_t i = 0; i < count; ++i) {
      Counter &a = counters_[random() % kShared],
              &b = counters_[random() % kShared],
              &c = counters_[random() % kShared];
      const int stream = static_cast<int>(random() % 64);
      const PushOptions options{static_cast<int>(random() % 3),
                                stream % GetParam().streams};
      if (random() % 4 == 0) {
        const Variable mine = engine_.NewVariable();
        a.pushed += 1;
        engine_.Push([&a] { ++a.value; }, {b.variable}, {a.variable, mine},
                     options);
        engine_.Push([] {}, {mine, c.variable}, {}, options);
        engine_.DeleteVariable(mine);
        i += 1;
      } else {
        a.pushed += 1;
        if (&b != &a) b.pushed += 1;
        engine_.Push(
            [&a, &b] {
              ++a.value;
              if (&b != &a) ++b.value;
            },
            {c.variable}, {b.variable, a.variable}, options);
      }
      if (random() % 5000 == 0) engine_.WaitFor(a.variable);
      if (random() % 20000 == 0) engine_.WaitAll();
    }
  }

  void ExpectAllCounted() {
    int64_t sum = 0;
    for (const Counter& counter : counters_) {
      EXPECT_EQ(counter.value, counter.pushed);
      sum += counter.value;
    }
    EXPECT_GT(sum, 0);
  }

 private:
  void SetUp() override {
    for (Counter& counter : counters_) counter.variable = engine_.NewVariable();
  }

  std::vector<Counter> counters_{kShared};
};

INSTANTIATE_TEST_SUITE_P(Policies, StressTest, testing::ValuesIn(AllPolicies()),
                         [](const auto& info) { return info.param.name; });

// One thread pushes all operations. With policy `Naive` no other test of this
// file runs.
TEST_P(StressTest, OnePusherLosesNoOperation) {
  PushMany(/*seed=*/1, 10000);
  engine_.WaitAll();
  ExpectAllCounted();
}

TEST_P(StressTest, EightPushersLoseNoOperationAndNoWakeUp) {
  std::vector<std::thread> pushers;
  for (int p = 0; p < kPushers; ++p) {
    pushers.emplace_back(
        [this, p] { PushMany(p + 1, Operations() / kPushers); });
  }
  for (std::thread& pusher : pushers) pusher.join();
  engine_.WaitAll();
  ExpectAllCounted();
}

TEST_P(StressTest, EnginesThatComeAndGoWithWorkPendingEnd) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0};
    {
      Engine engine(GetParam().factory);
      const Variable x = engine.NewVariable();
      for (int i = 0; i < 20; ++i) engine.Push([&] { ++ran; }, {}, {x});
      for (int i = 0; i < 20; ++i) engine.Push([&] { ++ran; }, {x}, {});
    }
    ASSERT_EQ(ran, 40);
  }
}

}  // namespace
}  // namespace cavs::engine
