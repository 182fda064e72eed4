#include "cc/engine/engine.h"

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

CAVS_ON_ALL_POLICIES();

TEST_P(EveryPolicyTest, ConflictingOperationsRunInPushOrder) {
  const Variable x = engine_.NewVariable("x");
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    const int stream = i % GetParam().streams;
    engine_.Push([&order, i] { order.push_back(i); }, {}, {x},
                 {0, stream, "add"});
  }
  engine_.WaitFor(x);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(order[i], i);
}

TEST_P(EveryPolicyTest, OperationMayPushOperationsThatFollowIt) {
  const Variable x = engine_.NewVariable("x");
  std::string text;
  engine_.Push(
      [&] {
        engine_.Push([&text] { text += "c"; }, {}, {x});
        text += "a";
      },
      {}, {x});
  engine_.Push([&text] { text += "b"; }, {}, {x});
  engine_.WaitAll();
  // The inner operation may run before or after the second outer one.
  EXPECT_TRUE(text == "abc" || text == "acb") << text;
}

TEST_P(EveryPolicyTest, LongChainPushedFromInsideNeedsNoStack) {
  const Variable x = engine_.NewVariable("x");
  int left = 100000;
  struct Step {
    Engine* engine;
    Variable x;
    int* left;
    void operator()() const {
      if (--*left > 0) engine->Push(*this, {}, {x});
    }
  };
  engine_.Push(Step{&engine_, x, &left}, {}, {x});
  engine_.WaitAll();
  EXPECT_EQ(left, 0);
}

TEST_P(EveryPolicyTest, DeletionComesAfterAllUses) {
  auto value = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = value;
  const Variable x = engine_.NewVariable("x");
  int seen = -1;
  engine_.Push([value] { *value = 42; }, {}, {x});
  engine_.Push([value, &seen] { seen = *value; }, {x}, {});
  value.reset();
  engine_.DeleteVariable(x);
  engine_.WaitAll();
  EXPECT_EQ(seen, 42);
  EXPECT_TRUE(alive.expired()) << "what a function captured outlives it";
}

TEST_P(EveryPolicyTest, VersionCountsMutations) {
  const Variable x = engine_.NewVariable("x"), y = engine_.NewVariable("y");
  for (int i = 0; i < 3; ++i) engine_.Push([] {}, {x}, {y});
  engine_.WaitFor(y);
  EXPECT_EQ(engine_.Version(x), 0u);
  EXPECT_EQ(engine_.Version(y), 3u);
}

TEST_P(EveryPolicyTest, AsynchronousOperationEndsWithItsCompletion) {
  const Variable x = engine_.NewVariable("x");
  int value = 0;
  std::thread io;
  Gate reader_pushed;
  engine_.PushAsync(
      [&](Completion done) {
        io = std::thread([&, done = std::move(done)]() mutable {
          reader_pushed.Pass();
          value = 42;
          done();
        });
      },
      {}, {x});
  int seen = -1;
  engine_.Push([&] { seen = value; }, {x}, {});
  reader_pushed.Open();
  engine_.WaitAll();
  EXPECT_EQ(seen, 42);
  io.join();
}

TEST_P(EveryPolicyTest, CompletionMayComeBeforeTheFunctionReturns) {
  const Variable x = engine_.NewVariable("x");
  engine_.PushAsync([](Completion done) { done(); }, {}, {x});
  engine_.WaitFor(x);
  EXPECT_EQ(engine_.Version(x), 1u);
}

TEST_P(EveryPolicyTest, CloseRunsWhatCanRunAndReturnsUnraisedErrors) {
  const Variable x = engine_.NewVariable(), y = engine_.NewVariable();
  int ran = 0;
  for (int i = 0; i < 100; ++i) engine_.Push([&] { ++ran; }, {}, {x});
  engine_.Push([] { throw 1; }, {}, {y}, {0, 0, "late"});
  const std::vector<OperationError> errors = engine_.Close();
  EXPECT_EQ(ran, 100);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].name(), "late");
  EXPECT_EQ(Rejection([&] { engine_.Push([] {}, {}, {}); }),
            "engine: got a call after it was closed but expected it before. "
            "Close the engine when nobody uses it any more.");
}

TEST_P(EveryPolicyTest, CloseCancelsWhatAMissingCompletionHoldsUp) {
  const Variable x = engine_.NewVariable();
  std::unique_ptr<Completion> kept;
  bool ran = false;
  Gate started;
  auto captured = std::make_shared<int>();
  engine_.PushAsync(
      [&](Completion done) {
        kept = std::make_unique<Completion>(std::move(done));
        started.Open();
      },
      {}, {x});
  engine_.Push([&ran, captured] { ran = true; }, {x}, {});
  started.Pass();
  engine_.Close();
  EXPECT_FALSE(ran);
  EXPECT_EQ(captured.use_count(), 1) << "a cancelled function is destroyed";
  (*kept)();  // It is late and has no effect.
}

TEST_P(EveryPolicyTest, CloseThatItsPollInterruptsCancelsWhatHasNotBegun) {
  if (GetParam().name == "Naive") GTEST_SKIP() << "nothing is pending there";
  Engine engine(GetParam().factory);
  const Variable x = engine.NewVariable(), y = engine.NewVariable();
  // The operation owns them, since it may outlive this function.
  const auto started = std::make_shared<Gate>(),
             gate = std::make_shared<Gate>(), left = std::make_shared<Gate>();
  bool ran = false;
  engine.Push([] { throw 1; }, {}, {y}, {0, 0, "bad"});
  engine.Push(
      [=] {
        started->Open();
        gate->Pass();
        left->Open();
      },
      {}, {x});
  engine.Push([&ran] { ran = true; }, {x}, {});
  started->Pass();
  const Poll interrupt = [] { throw std::runtime_error("interrupted"); };
  EXPECT_THROW(engine.Close(interrupt), std::runtime_error);
  EXPECT_THAT(Rejection([&] { engine.Push([] {}, {}, {}); }),
              HasSubstr("after it was closed"));
  const std::vector<OperationError> errors = engine.Close();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].name(), "bad");
  gate->Open();
  left->Pass();
  EXPECT_FALSE(ran);
}

TEST_P(EveryPolicyTest, EngineMayBeDestroyedByItsLastOperation) {
  auto engine = std::make_shared<Engine>(GetParam().factory);
  Gate released, gone;
  const std::weak_ptr<Engine> alive = engine;
  Engine* raw = engine.get();
  auto operation = [&released, &gone,
                    keep = std::make_unique<std::shared_ptr<Engine>>(
                        std::move(engine))]() mutable {
    if (GetParam().name != "Naive") released.Pass();
    keep.reset();
    gone.Open();
  };
  raw->Push(std::move(operation), {}, {});
  released.Open();
  gone.Pass();
  EXPECT_TRUE(alive.expired());
}

TEST_P(EveryPolicyTest, WaitMayBeInterruptedByItsPoll) {
  const Variable x = engine_.NewVariable();
  std::unique_ptr<Completion> kept;
  Gate started;
  engine_.PushAsync(
      [&](Completion done) {
        kept = std::make_unique<Completion>(std::move(done));
        started.Open();
      },
      {}, {x});
  started.Pass();
  const Poll interrupt = [] { throw std::runtime_error("interrupted"); };
  EXPECT_THROW(engine_.WaitFor(x, interrupt), std::runtime_error);
  EXPECT_THROW(engine_.WaitAll(interrupt), std::runtime_error);
  (*kept)();
  engine_.WaitAll(interrupt);
}

TEST_P(EveryPolicyTest, WaitForTakesNoOtherOperation) {
  const Variable x = engine_.NewVariable(), y = engine_.NewVariable();
  std::unique_ptr<Completion> kept;
  Gate started;
  engine_.Push([] {}, {}, {x});
  engine_.PushAsync(
      [&](Completion done) {
        kept = std::make_unique<Completion>(std::move(done));
        started.Open();
      },
      {}, {y});
  engine_.WaitFor(x);  // Returns although y is in use.
  started.Pass();
  (*kept)();
  engine_.WaitAll();
}

TEST(WatchdogDeathTest, EndsWhatHangsWithADump) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Engine engine(Threaded(1));
        const Variable x = engine.NewVariable("x");
        std::unique_ptr<Completion> kept;
        engine.PushAsync(
            [&](Completion done) {
              kept = std::make_unique<Completion>(std::move(done));
            },
            {}, {x}, {0, 0, "forgotten"});
        std::thread waiter([&] { engine.WaitFor(x); });
        while (engine.Dump().find("a thread that waits") == std::string::npos) {
          std::this_thread::yield();
        }
        Watchdog watchdog(&engine, std::chrono::system_clock::now());
        waiter.join();
      },
      testing::ExitedWithCode(1),
      "This should have ended long ago.\nengine threaded\\(1\\): .*"
      "'forgotten' pushed at .*a thread that waits: waits for 'x'");
}

TEST(DumpTest, SaysWhoWaitsForWhat) {
  Engine engine(Threaded(1));
  Watchdog watchdog(&engine);
  const Variable x = engine.NewVariable("x"), y = engine.NewVariable();
  Gate started, gate;
  engine.Push(
      [&] {
        started.Open();
        gate.Pass();
      },
      {}, {x}, {0, 0, "load"});
  engine.Push([] {}, {x}, {y}, {0, 0, "use"});
  started.Pass();
  const std::string dump = engine.Dump();
  gate.Open();
  EXPECT_THAT(dump, HasSubstr("engine threaded(1): 2 unfinished, 1 running"));
  EXPECT_THAT(dump, HasSubstr("'load' pushed at "));
  EXPECT_THAT(dump, HasSubstr(": running on worker 0\n"));
  EXPECT_THAT(dump, HasSubstr(": waits for 'x' (v0) to read, after #1\n"));
  EXPECT_THAT(dump, HasSubstr("'x' (v0), version 0: being mutated\n"));
  engine.WaitAll();
}

}  // namespace
}  // namespace cavs::engine
