#include "cc/engine/errors.h"

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

TEST_P(EveryPolicyTest, ForgottenCompletionIsAnErrorAndNoHang) {
  const Variable x = engine_.NewVariable("x");
  engine_.PushAsync([](Completion) {}, {}, {x}, {0, 0, "copy"});
  try {
    engine_.WaitFor(x);
    FAIL();
  } catch (const OperationError& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr("completion: got destroyed but expected to be called. "
                  "Keep it until the operation is done, then call it."));
  }
}

TEST_P(EveryPolicyTest, AsynchronousOperationMayFailEitherWay) {
  const Variable x = engine_.NewVariable("x"), y = engine_.NewVariable("y");
  engine_.PushAsync(
      [](Completion done) {
        done.Fail(std::make_exception_ptr(std::runtime_error("disk full")));
      },
      {}, {x});
  engine_.PushAsync([](Completion) { throw std::runtime_error("no disk"); }, {},
                    {y});
  const auto message = [&](Variable variable) -> std::string {
    try {
      engine_.WaitFor(variable);
    } catch (const OperationError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(x), HasSubstr("disk full"));
  EXPECT_THAT(message(y), HasSubstr("no disk"));
}

TEST_P(EveryPolicyTest,
       AsynchronousFunctionThatThrowsLeavesNoCompletionToWait) {
  const Variable x = engine_.NewVariable("x"), y = engine_.NewVariable("y");
  std::unique_ptr<Completion> kept, next;
  const auto keep = [](std::unique_ptr<Completion>* place, Completion done) {
    *place = std::make_unique<Completion>(std::move(done));
  };
  engine_.PushAsync(
      [&](Completion done) {
        keep(&kept, std::move(done));
        throw std::runtime_error("no disk");
      },
      {}, {x});
  EXPECT_THROW(engine_.WaitFor(x), OperationError);
  (*kept)();
  // Nor does it complete the operation that has reused its memory.
  engine_.PushAsync(
      [&](Completion done) {
        keep(&kept, std::move(done));
        throw std::runtime_error("no disk");
      },
      {}, {x});
  EXPECT_THROW(engine_.WaitFor(x), OperationError);
  Gate started;
  engine_.PushAsync(
      [&](Completion done) {
        keep(&next, std::move(done));
        started.Open();
      },
      {}, {y});
  started.Pass();
  kept->Fail(std::make_exception_ptr(std::runtime_error("too late")));
  EXPECT_EQ(engine_.Version(y), 0u);
  (*next)();
  engine_.WaitAll();
  EXPECT_EQ(engine_.Version(y), 1u);
}

TEST_P(EveryPolicyTest, ExceptionMayUseTheEngineWhenItIsDestroyed) {
  struct Array {
    Engine* engine;
    Variable tag;
    int* destroyed;
    ~Array() {
      engine->DeleteVariable(tag);
      ++*destroyed;
    }
  };
  struct Error : std::runtime_error {
    explicit Error(std::shared_ptr<Array> array)
        : std::runtime_error("bad"), array(std::move(array)) {}
    std::shared_ptr<Array> array;
  };
  const Variable x = engine_.NewVariable("x"), y = engine_.NewVariable("y");
  int destroyed = 0;
  for (int i = 0; i < 4; ++i) {
    engine_.Push(
        [this, &destroyed] {
          throw Error(std::shared_ptr<Array>(
              new Array{&engine_, engine_.NewVariable(), &destroyed}));
        },
        {}, {x, y});
    EXPECT_THROW(engine_.WaitFor(x), OperationError);
  }
  engine_.DeleteVariable(x);
  engine_.Push([] {}, {}, {y});
  engine_.Push([] { throw 1; }, {}, {});
  EXPECT_THROW(engine_.WaitAll(), OperationErrors);
  EXPECT_EQ(destroyed, 4);
}

TEST_P(EveryPolicyTest, FailureSkipsWhatDependsOnItAndNothingElse) {
  const Variable x = engine_.NewVariable("x"), y = engine_.NewVariable("y"),
                 z = engine_.NewVariable("z");
  bool read = false, overwritten = false, derived = false, other = false;
  engine_.Push([] { throw std::runtime_error("bad"); }, {}, {x});
  engine_.Push([&] { read = true; }, {x}, {y});
  engine_.Push([&] { derived = true; }, {y}, {});
  engine_.Push([&] { overwritten = true; }, {}, {x});
  engine_.Push([&] { other = true; }, {}, {z});
  EXPECT_THROW(engine_.WaitAll(), OperationErrors);
  EXPECT_FALSE(read || derived || overwritten);
  EXPECT_TRUE(other);
  EXPECT_EQ(engine_.Version(y), 0u);
}

TEST_P(EveryPolicyTest, ErrorNamesTheOperationAndWhereItWasPushed) {
  const Variable x = engine_.NewVariable("x");
  const int line = __LINE__ + 1;
  engine_.Push([] { throw std::runtime_error("bad"); }, {}, {x},
               {0, 0, "divide"});
  try {
    engine_.WaitFor(x);
    FAIL();
  } catch (const OperationError& error) {
    EXPECT_EQ(error.name(), "divide");
    EXPECT_EQ(error.line(), line);
    EXPECT_THAT(error.file(), HasSubstr("errors_test.cc"));
    EXPECT_THAT(error.what(), HasSubstr("operation 'divide' (pushed at "));
    EXPECT_THAT(error.what(), HasSubstr(") failed: bad"));
    EXPECT_THROW(std::rethrow_exception(error.cause()), std::runtime_error);
  }
}

TEST_P(EveryPolicyTest, ErrorIsRaisedOnceAndThenOperationsRunAgain) {
  const Variable x = engine_.NewVariable("x"), y = engine_.NewVariable("y");
  engine_.Push([] { throw 1; }, {}, {x, y});
  EXPECT_THROW(engine_.WaitFor(x), OperationError);
  EXPECT_NO_THROW(engine_.WaitFor(x));
  EXPECT_NO_THROW(engine_.WaitFor(y));
  EXPECT_NO_THROW(engine_.WaitAll());
  bool ran = false;
  engine_.Push([&] { ran = true; }, {x}, {y});
  engine_.WaitAll();
  EXPECT_TRUE(ran);
}

TEST_P(EveryPolicyTest, WaitAllThrowsEveryErrorInPushOrder) {
  std::vector<Variable> variables;
  for (int i = 0; i < 5; ++i) {
    variables.push_back(engine_.NewVariable());
    engine_.Push([i] { throw std::runtime_error(std::to_string(i)); }, {},
                 {variables[i]}, {0, 0, "fail " + std::to_string(i)});
  }
  EXPECT_THROW(engine_.WaitFor(variables[2]), OperationError);
  try {
    engine_.WaitAll();
    FAIL();
  } catch (const OperationErrors& errors) {
    ASSERT_EQ(errors.errors().size(), 4u);
    for (int i : {0, 1, 3, 4}) {
      const OperationError& error = errors.errors()[i - (i > 2)];
      EXPECT_EQ(error.name(), "fail " + std::to_string(i));
    }
    EXPECT_THAT(errors.what(),
                HasSubstr("4 operations failed\n  operation 'fail 0'"));
  }
}

TEST_P(EveryPolicyTest, VariableThatTwoFailuresReachRaisesBoth) {
  const Variable x = engine_.NewVariable(), y = engine_.NewVariable(),
                 z = engine_.NewVariable();
  engine_.Push([] { throw 1; }, {}, {x});
  engine_.Push([] { throw 2; }, {}, {y});
  engine_.Push([] {}, {x, y}, {z});
  try {
    engine_.WaitFor(z);
    FAIL();
  } catch (const OperationErrors& errors) {
    EXPECT_EQ(errors.errors().size(), 2u);
  }
  EXPECT_NO_THROW(engine_.WaitAll());
}

TEST_P(EveryPolicyTest, OperationPushedBeforeTheErrorWasRaisedStaysSkipped) {
  const Variable x = engine_.NewVariable(), y = engine_.NewVariable(),
                 z = engine_.NewVariable(), held = engine_.NewVariable();
  Gate gate;
  std::thread io;
  bool ran = false;
  engine_.Push([] { throw 1; }, {}, {x, y});
  engine_.PushAsync(
      [&](Completion done) {
        io = std::thread([&, done = std::move(done)]() mutable {
          gate.Pass();
          done();
        });
      },
      {}, {held});
  engine_.Push([&] { ran = true; }, {y, held}, {z});
  EXPECT_THROW(engine_.WaitFor(x), OperationError);
  gate.Open();
  engine_.WaitAll();
  EXPECT_FALSE(ran);
  io.join();
}

TEST_P(EveryPolicyTest, WaitingInsideAnOperationIsAnError) {
  const Variable x = engine_.NewVariable();
  std::vector<std::string> messages;
  engine_.Push(
      [&] {
        messages.push_back(Rejection([&] { engine_.WaitAll(); }));
        messages.push_back(Rejection([&] { engine_.WaitFor(x); }));
      },
      {}, {x}, {0, 0, "impatient"});
  engine_.WaitAll();
  EXPECT_EQ(
      messages[0],
      "wait: got a call inside the operation 'impatient' but expected one "
      "outside of all operations, because it could wait for itself. Push an "
      "operation that reads what you would wait for.");
  EXPECT_THAT(messages[1], testing::StartsWith("wait: got a call inside"));
}

TEST_P(EveryPolicyTest, DeletedVariableIsRejectedEvenWhenAnotherTookItsPlace) {
  const Variable x = engine_.NewVariable("x"), y = engine_.NewVariable("y");
  engine_.DeleteVariable(x);
  engine_.WaitAll();
  const Variable z = engine_.NewVariable("z");
  EXPECT_EQ(z.index, x.index);
  EXPECT_EQ(
      Rejection([&] { engine_.Push([] {}, {y, x}, {}); }),
      "read[1]: got a deleted variable but expected a live variable of this "
      "engine. Delete a variable after the last push that names it.");
  EXPECT_THAT(Rejection([&] { engine_.WaitFor(x); }), HasSubstr("deleted"));
  EXPECT_THAT(Rejection([&] { engine_.DeleteVariable(x); }),
              HasSubstr("deleted"));
  EXPECT_THAT(Rejection([&] { engine_.Version(x); }), HasSubstr("deleted"));
}

TEST_P(EveryPolicyTest, VariableIsRejectedWhileItsDeletionIsPending) {
  const Variable x = engine_.NewVariable("x");
  std::unique_ptr<Completion> kept;
  Gate started;
  engine_.PushAsync(
      [&](Completion done) {
        kept = std::make_unique<Completion>(std::move(done));
        started.Open();
      },
      {}, {x});
  engine_.DeleteVariable(x);
  started.Pass();
  EXPECT_EQ(
      Rejection([&] { engine_.Push([] {}, {}, {x}); }),
      "mutate[0]: got the deleted variable 'x' but expected a live variable "
      "of this engine. Delete a variable after the last push that names it.");
  EXPECT_THAT(Rejection([&] { engine_.DeleteVariable(x); }),
              testing::StartsWith("variable: got the deleted variable 'x'"));
  (*kept)();
  engine_.WaitAll();
}

TEST_P(EveryPolicyTest, VariableThatIsMutatedAgainHasNotFailedAnyMore) {
  const Variable x = engine_.NewVariable("x"), other = engine_.NewVariable();
  engine_.Push([] { throw 1; }, {}, {x});
  EXPECT_THROW(engine_.WaitFor(x), OperationError);
  const auto failed = [&] {
    std::unique_ptr<Completion> kept;
    Gate started;
    engine_.PushAsync(
        [&](Completion done) {
          kept = std::make_unique<Completion>(std::move(done));
          started.Open();
        },
        {x}, {other});
    started.Pass();
    const std::string dump = engine_.Dump();
    (*kept)();
    engine_.WaitAll();
    return dump.find("failed") != std::string::npos;
  };
  EXPECT_TRUE(failed());
  engine_.Push([] {}, {}, {x});
  EXPECT_FALSE(failed());
}

TEST_P(EveryPolicyTest, VariableOfAnotherEngineIsRejectedAndNothingChanges) {
  Engine other(Naive());
  const Variable x = engine_.NewVariable("x"), foreign = other.NewVariable("x");
  EXPECT_EQ(Rejection([&] { engine_.Push([] {}, {}, {x, foreign}); }),
            "mutate[1]: got a variable of another engine but expected a live "
            "variable of this engine. Make it with this engine, after fork() "
            "once more.");
  engine_.WaitAll();
  EXPECT_EQ(engine_.Version(x), 0u);
}

TEST_P(EveryPolicyTest, WaitThatAnEngineIsClosedUnderIsAnError) {
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
  const auto close = [&] { engine_.Close(); };
  const std::string expected =
      "engine: got closed during a wait but expected that after it. Close the "
      "engine when nobody uses it any more.";
  EXPECT_EQ(Rejection([&] { engine_.WaitFor(x, close); }), expected);
}

TEST_P(EveryPolicyTest, SecondCallOfACompletionIsAnError) {
  std::string message;
  engine_.PushAsync(
      [&](Completion done) {
        done();
        message = Rejection([&] { done(); });
      },
      {}, {});
  engine_.WaitAll();
  EXPECT_THAT(message, HasSubstr("completion: got a second call"));
}

}  // namespace
}  // namespace cavs::engine
