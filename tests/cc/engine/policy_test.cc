#include "cc/engine/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/engine/engine_test_util.h"

namespace cavs::engine {
namespace {

using testing::HasSubstr;

TEST(ThreadedTest, FourLinesOverlapWhereTheyMay) {
  // A = 2; B = A + 1; C = A + 2; D = B * C: those that compute B and C overlap.
  Engine engine(Threaded(2));
  Watchdog watchdog(&engine);
  const Variable a = engine.NewVariable("A"), b = engine.NewVariable("B"),
                 c = engine.NewVariable("C"), d = engine.NewVariable("D");
  int A = 0, B = 0, C = 0, D = 0;
  Meeting both(2);
  engine.Push([&] { A = 2; }, {}, {a});
  engine.Push(
      [&] {
        both.Arrive();
        B = A + 1;
      },
      {a}, {b});
  engine.Push(
      [&] {
        both.Arrive();
        C = A + 2;
      },
      {a}, {c});
  engine.Push([&] { D = B * C; }, {b, c}, {d});
  engine.WaitFor(d);
  EXPECT_EQ(D, 12);
}

TEST(ThreadedTest, AllWorkersAreWokenForIndependentOperations) {
  Engine engine(Threaded(7));
  Watchdog watchdog(&engine);
  for (int round = 0; round < 50; ++round) {
    Meeting all(7);
    const Variable x = engine.NewVariable();
    engine.Push([] {}, {}, {x});
    for (int i = 0; i < 7; ++i) engine.Push([&] { all.Arrive(); }, {x}, {});
    engine.WaitAll();
  }
}

TEST(ThreadedTest, HigherPriorityRunsFirst) {
  Engine engine(Threaded(1));
  Watchdog watchdog(&engine);
  Gate gate;
  std::vector<int> order;
  engine.Push([&] { gate.Pass(); }, {}, {});
  for (int priority : {0, -1, 3, 1}) {
    engine.Push([&, priority] { order.push_back(priority); }, {}, {},
                {priority});
  }
  gate.Open();
  engine.WaitAll();
  EXPECT_THAT(order, testing::ElementsAre(3, 1, 0, -1));
}

TEST(ThreadedTest, EndlessUrgentWorkDoesNotStarveTheRest) {
  Engine engine(Threaded(1));
  Watchdog watchdog(&engine);
  bool low_ran = false;
  struct Urgent {
    Engine* engine;
    bool* low_ran;
    void operator()() const {
      if (!*low_ran) engine->Push(*this, {}, {}, {/*priority=*/1});
    }
  };
  engine.Push(
      [&] {
        engine.Push([&] { low_ran = true; }, {}, {}, {/*priority=*/0});
        Urgent{&engine, &low_ran}();
        Urgent{&engine, &low_ran}();
      },
      {}, {});
  engine.WaitAll();
  EXPECT_TRUE(low_ran);
}

TEST(ThreadedTest, WaitAllReturnsWhileOthersGoOnPushing) {
  Engine engine(Threaded(2));
  Watchdog watchdog(&engine);
  std::atomic<bool> stop{false};
  Gate first;
  std::thread pusher([&] {
    while (!stop) {
      // The next operation is always pushed before the last one has ended.
      Gate next_pushed;
      engine.Push([&] { next_pushed.Pass(); }, {}, {});
      first.Open();
      engine.Push([] {}, {}, {});
      next_pushed.Open();
      const Variable x = engine.NewVariable();
      engine.Push([] {}, {}, {x});
      engine.WaitFor(x);
      engine.DeleteVariable(x);
    }
    engine.WaitAll();
  });
  first.Pass();
  for (int i = 0; i < 100; ++i) engine.WaitAll();
  stop = true;
  pusher.join();
}

TEST(StreamsTest, StreamRunsInPushOrderWhateverThePriority) {
  Engine engine(Streams(2));
  Watchdog watchdog(&engine);
  const Variable x = engine.NewVariable();
  Gate gate;
  std::vector<int> order;
  engine.Push([&] { gate.Pass(); }, {}, {x}, {0, 1});
  // The first operation on stream 0 is not ready; those behind it are.
  engine.Push([&] { order.push_back(0); }, {x}, {}, {0, 0});
  engine.Push([&] { order.push_back(1); }, {}, {}, {5, 0});
  engine.Push([&] { order.push_back(2); }, {}, {}, {9, 0});
  gate.Open();
  engine.WaitAll();
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2));
}

TEST(StreamsTest, StreamsOverlap) {
  Engine engine(Streams(2));
  Watchdog watchdog(&engine);
  Meeting both(2);
  engine.Push([&] { both.Arrive(); }, {}, {}, {0, 0});
  engine.Push([&] { both.Arrive(); }, {}, {}, {0, 1});
  engine.WaitAll();
}

TEST(StreamsTest, StreamOutOfRangeIsRejected) {
  Engine engine(Streams(2));
  EXPECT_EQ(
      Rejection([&] { engine.Push([] {}, {}, {}, {0, 2}); }),
      "stream: got 2 but expected one in [0, 2). Make the engine with more "
      "streams.");
  EXPECT_THAT(Rejection([&] { engine.Push([] {}, {}, {}, {0, -1}); }),
              HasSubstr("stream: got -1"));
}

TEST(NaiveTest, PushReturnsWhenTheOperationHasRun) {
  Engine engine(Naive());
  bool ran = false;
  std::thread::id where;
  engine.Push(
      [&] {
        ran = true;
        where = std::this_thread::get_id();
      },
      {}, {});
  EXPECT_TRUE(ran);
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(PolicyTest, NoWorkersAreRejected) {
  EXPECT_EQ(
      Rejection([] { Threaded(0); }),
      "workers: got 0 but expected 1 or more. Use Naive() to run operations "
      "in the pushing thread.");
  EXPECT_EQ(
      Rejection([] { Streams(-1); }),
      "streams: got -1 but expected 1 or more. Use Naive() to run operations "
      "in the pushing thread.");
}

}  // namespace
}  // namespace cavs::engine
