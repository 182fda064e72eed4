#include "cc/device/cpu/team.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace cavs {
namespace {

// Runs every function on a thread of its own.
class Threads {
 public:
  ~Threads() {
    for (std::thread& thread : threads_) thread.join();
  }
  Team::Schedule schedule() {
    return [this](std::function<void()> fn) { threads_.emplace_back(fn); };
  }

 private:
  std::vector<std::thread> threads_;
};

TEST(TeamTest, RunsEveryJobOnce) {
  Threads threads;
  for (int count : {1, 2, 3, 7}) {
    Team team(count, threads.schedule());
    EXPECT_EQ(team.count(), count);
    for (int jobs : {0, 1, 2, 3, 31, 32, 33, 100, 1000}) {
      std::vector<std::atomic<int>> ran(jobs);
      team.Run(jobs, [&](int i) { ++ran[i]; });
      for (const std::atomic<int>& n : ran) EXPECT_EQ(n, 1) << jobs;
    }
  }
}

TEST(TeamTest, WhatJobsWroteIsThereAfterwardsThousandsOfTimes) {
  Threads threads;
  Team team(2, threads.schedule());
  int64_t written[2] = {};
  for (int64_t run = 1; run <= 100000; ++run) {
    team.Run(2, [&](int i) { written[i] += run; });
    ASSERT_EQ(written[0], written[1]) << "run " << run;
  }
  EXPECT_EQ(written[0], int64_t{100000} * 100001 / 2);
}

TEST(TeamTest, NoOneWaitsForAHelperThatNeverComes) {
  std::vector<std::function<void()>> late;
  {
    Team team(4, [&](std::function<void()> fn) { late.push_back(fn); });
    int sum = 0;
    team.Run(10, [&](int i) { sum += i; });
    EXPECT_EQ(sum, 45);
    EXPECT_EQ(late.size(), 3u);
  }
  for (const auto& help : late) help();  // They find that the run is over.
}

TEST(TeamTest, ARunInsideOfAJobIsComputedByItself) {
  Threads threads;
  Team team(2, threads.schedule());
  std::atomic<int> ran{0};
  team.Run(4, [&](int) { team.Run(5, [&](int) { ++ran; }); });
  EXPECT_EQ(ran, 20);
}

TEST(TeamTest, ComputationsAtOnceShareTheHelpers) {
  std::vector<std::function<void()>> called;
  {
    Team team(2, [&](std::function<void()> fn) { called.push_back(fn); });
    int sum = 0, other = 0;
    team.Run(2, [&](int i) {
      sum += i;
      if (i > 0) return;
      std::thread([&] {
        team.Prepare();
        team.Run(3, [&](int k) { other += k; });
      }).join();
    });
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(other, 3);
    EXPECT_EQ(called.size(), 1u);
  }
  for (const auto& help : called) help();
}

TEST(TeamTest, HelpersBeginWithTheirOwnRangeOfJobs) {
  Threads threads;
  Team team(2, threads.schedule());
  std::mutex mutex;
  std::set<std::thread::id> of_job[2];
  int together = 0;
  for (int run = 0; run < 2000; ++run) {
    std::atomic<int> inside{0};
    std::thread::id ran_on[2];
    team.Run(2, [&](int i) {
      ran_on[i] = std::this_thread::get_id();
      ++inside;
      // Gives the other thread time to come.
      for (int spin = 0; spin < 100000 && inside < 2; ++spin) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }
    });
    if (ran_on[0] == ran_on[1]) continue;
    ++together;
    of_job[0].insert(ran_on[0]);
  }
  EXPECT_GT(together, 0);
  EXPECT_EQ(of_job[0].size(), 1u) << "the caller has the first job";
}

TEST(TeamTest, HelpersThatWereCalledGoOnWithTheNextRuns) {
  Threads threads;
  std::atomic<int> called{0};
  Team team(2, [&](std::function<void()> fn) {
    ++called;
    threads.schedule()(std::move(fn));
  });
  team.Prepare();
  EXPECT_EQ(called, 1);
  constexpr int kRuns = 1000;
  for (int run = 0; run < kRuns; ++run) team.Run(2, [](int) {});
  // A helper is called again only if it left because this thread did not run
  // for milliseconds.
  EXPECT_LT(called, kRuns / 10);
}

TEST(TeamTest, HelpersGoBackWhenThereIsNothingToDo) {
  std::atomic<int> helping{0};
  std::vector<std::thread> threads;
  Team team(2, [&](std::function<void()> fn) {
    threads.emplace_back([&helping, fn] {
      ++helping;
      fn();
      --helping;
    });
  });
  team.Run(2, [](int) {});
  // This hangs if a helper does not return.
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(helping, 0);
  std::atomic<int> ran{0};
  const size_t before = threads.size();
  threads.clear();
  team.Run(2, [&](int) { ++ran; });
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(before, 1u);
  EXPECT_EQ(threads.size(), 1u) << "was called again";
  threads[0].join();
}

// The processor time of the calling thread. Elapsed time would depend on the
// load of the machine.
int64_t ThreadNanos() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

TEST(TeamTest, AHelperThatComesTooLateLeavesAtOnce) {
  const auto nanos = [](const std::function<void()>& help) {
    const int64_t start = ThreadNanos();
    help();
    return ThreadNanos() - start;
  };
  std::function<void()> help;
  int64_t idle;
  {
    Team team(2, [&](std::function<void()> fn) { help = std::move(fn); });
    team.Prepare();
    idle = nanos(help);
    team.Prepare();
  }
  EXPECT_LT(nanos(help), idle / 8) << "one that goes by itself";
}

TEST(TeamTest, TeamsMayEndWhileTheirHelpersComeAndWait) {
  Threads threads;
  int64_t sum = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<int64_t> squares(round % 5);
    Team team(2 + round % 3, threads.schedule());
    if (round % 2 == 0) team.Prepare();
    for (int run = 0; run < round % 3; ++run) {
      team.Run(round % 5, [&](int i) { squares[i] = int64_t{i} * i; });
    }
    for (int64_t square : squares) sum += square;
  }
  EXPECT_GT(sum, 0);
}

TEST(TeamTest, CallsTheHelpersOfOneComputationAfterAnotherOnce) {
  std::vector<std::function<void()>> called;
  {
    Team team(2, [&](std::function<void()> fn) { called.push_back(fn); });
    for (int step = 0; step < 3; ++step) {
      team.Prepare();
      int sum = 0;
      team.Run(3, [&](int i) { sum += i; });
      EXPECT_EQ(sum, 3);
    }
    EXPECT_EQ(called.size(), 1u);
  }
  for (const auto& help : called) help();  // It ends with the team.
}

}  // namespace
}  // namespace cavs
