#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "cc/engine/fork_sentinel.h"
#include "tests/cc/engine/engine_test_util.h"

namespace cavs::engine {
namespace {

// Under AddressSanitizer of GCC 12 a child now and then hangs in its first
// malloc() or free() if other threads were in one of them when it was forked:
// it waits for the mutex of a size class
// (SizeClassAllocator64::GetFromAllocator) that one of them held, which is not
// there to release it. That is the sanitizer's: a program of four threads which
// only call malloc() and free() beside a fork() that is followed by malloc()
// hangs in the same place, about once in 1000 children. From GCC 14 on the
// sanitizer locks its allocator around fork().
#if defined(__SANITIZE_ADDRESS__) && __GNUC__ < 14
constexpr bool kForkMayLoseMalloc = true;
#else
constexpr bool kForkMayLoseMalloc = false;
#endif

// Whether every other thread of this process sleeps.
bool OthersSleep() {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    std::ifstream file(task.path() / "stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    // The format is "number (name) state ...", and the name may contain
    // parentheses.
    const size_t state = stat.rfind(')') + 2;
    if (state < stat.size() && stat[state] != 'S') return false;
  }
  return true;
}

// Waits, if kForkMayLoseMalloc, until no other thread can be in malloc() or
// free(), which threads call when they start and when they drop an operation
// that has run. Looking once is not enough: a thread that was seen asleep may
// since have been woken by one that was seen asleep later.
void LetOthersSleep() {
  if (!kForkMayLoseMalloc) return;
  for (int looks = 0; looks < 10; looks = OthersSleep() ? looks + 1 : 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Runs `f` in a child process and returns its result, or -1 if the child died.
template <typename F>
int InChild(F f) {
  LetOthersSleep();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // Ends a child that hangs.
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
    engine_.WaitAll();  // The child has no pending operations.
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
    engine_.Push([] {}, {}, {});
    engine_.WaitAll();
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
  if (kForkMayLoseMalloc) {
    GTEST_SKIP() << "AddressSanitizer before GCC 14 does not survive it";
  }
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
