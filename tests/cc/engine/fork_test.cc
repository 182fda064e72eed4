#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "cc/engine/fork_sentinel.h"
#include "tests/cc/engine/engine_test_util.h"

namespace cavs::engine {
namespace {

// Runs `f` in a child; its result, or -1 if the child died.
template <typename F>
int InChild(F f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // A child that hangs dies.
    _exit(f());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkSentinelTest, TellsChildrenFromTheirParent) {
  ForkSentinel sentinel;
  EXPECT_FALSE(sentinel.InChild());
  EXPECT_EQ(InChild([&] { return sentinel.InChild() ? 1 : 0; }), 1);
  EXPECT_FALSE(sentinel.InChild());
}

class ForkTest : public EveryPolicyTest {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
#endif
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, ForkTest, testing::ValuesIn(AllPolicies()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ForkTest, ChildHasAFreshEngineAndTheParentGoesOn) {
  const Variable x = engine_.NewVariable("x");
  Gate gate, started;
  int value = 0;
  std::unique_ptr<Completion> kept;
  engine_.PushAsync(
      [&](Completion done) {
        kept = std::make_unique<Completion>(std::move(done));
        started.Open();
      },
      {}, {x});
  engine_.Push([&] { ++value; }, {}, {x});
  started.Pass();
  const int result = InChild([&] {
    engine_.WaitAll();  // Nothing is pending here.
    if (Rejection([&] { engine_.Push([] {}, {x}, {}); }).find("after fork()") ==
        std::string::npos) {
      return 1;
    }
    const Variable y = engine_.NewVariable("y");
    engine_.Push([&] { value += 10; }, {}, {y});
    engine_.WaitFor(y);
    return value == 10 ? 42 : 2;
  });
  EXPECT_EQ(result, 42);
  (*kept)();
  engine_.WaitAll();
  EXPECT_EQ(value, 1);
}

TEST_P(ForkTest, ChildMayDestroyAnEngineThatItNeverUsed) {
  auto engine = std::make_unique<Engine>(GetParam().factory);
  EXPECT_EQ(InChild([&] {
              engine.reset();
              return 42;
            }),
            42);
}

TEST_P(ForkTest, GrandchildHasAFreshEngineToo) {
  const int result = InChild([&] {
    engine_.NewVariable();
    return InChild([&] {
      const Variable x = engine_.NewVariable();
      int value = 0;
      engine_.Push([&] { value = 42; }, {}, {x});
      engine_.WaitAll();
      return value;
    });
  });
  EXPECT_EQ(result, 42);
}

TEST_P(ForkTest, ForkWhileOthersPushFindsNoLockHeld) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's allocator may be locked by another thread "
                  "when the child is forked (no handler before GCC 14)";
#endif
  std::atomic<bool> stop{false};
  std::thread pusher([&] {
    const Variable x = engine_.NewVariable();
    while (!stop) {
      for (int i = 0; i < 100; ++i) engine_.Push([] {}, {}, {x});
      engine_.WaitFor(x);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const int result = InChild([&] {
      int value = 0;
      engine_.Push([&] { value = 42; }, {}, {});
      engine_.WaitAll();
      return value;
    });
    EXPECT_EQ(result, 42);
  }
  stop = true;
  pusher.join();
}

}  // namespace
}  // namespace cavs::engine
