// Random operations on random variables, with waits between them. Every policy
// must give what running the operations one by one gives; a failure must skip
// exactly the operations that depend on it, and be raised by exactly the first
// wait that observes it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cc/engine/engine_test_util.h"

namespace cavs::engine {
namespace {

constexpr int kVariables = 24;

struct Operation {
  std::vector<int> read, mutate;  // Both may name a variable, even twice.
  int duration = 0;               // The number of rounds of a loop.
  int priority = 0;
  bool fails = false;
  // The variable that the main thread waits for after the operation; kVariables
  // waits for all, -1 for none.
  int wait = -1;
};

struct Workload {
  std::vector<Operation> operations;

  // `failing` and `waiting` are probabilities.
  Workload(uint32_t seed, int count, double failing, double waiting = 0) {
    std::mt19937 random(seed);
    const auto some = [&](int most) {
      std::vector<int> chosen(random() % (most + 1));
      for (int& variable : chosen) variable = random() % kVariables;
      return chosen;
    };
    for (int i = 0; i < count; ++i) {
      Operation operation;
      operation.read = some(3);
      operation.mutate = some(2);
      operation.duration = random() % 4 == 0 ? random() % 2000 : 0;
      operation.priority = static_cast<int>(random() % 5) - 2;
      std::uniform_real_distribution<> uniform;
      operation.fails = uniform(random) < failing;
      if (uniform(random) < waiting)
        operation.wait = random() % (kVariables + 1);
      operations.push_back(operation);
    }
  }
};

// The outcome of a workload.
struct Result {
  // Plain integers without locks: accesses are ordered by the engine under
  // test.
  std::vector<uint64_t> values = std::vector<uint64_t>(kVariables, 1);
  std::vector<char> ran;
  // The errors that each wait raised; the last wait is for all variables.
  std::vector<std::set<int>> raised;

  explicit Result(size_t operations) : ran(operations, 0) {}

  // Computes the values that operation `i` writes, or throws.
  void Run(const Operation& operation, size_t i) {
    ran[i] = 1;
    uint64_t sum = i;
    for (int r : operation.read) sum = sum * 31 + values[r];
    volatile int left = operation.duration;
    while (left > 0) left = left - 1;
    if (operation.fails) throw static_cast<int>(i);
    for (int m : operation.mutate)
      values[m] = values[m] * 0x9E3779B97F4A7C15u + sum;
  }
};

bool operator==(const Result& a, const Result& b) {
  return a.values == b.values && a.ran == b.ran && a.raised == b.raised;
}

// Computes the right outcome: one operation after the other, without an engine
// or threads.
Result RunSerially(const Workload& workload) {
  Result result(workload.operations.size());
  // For each variable, the failures that have reached it and that no wait has
  // raised. The last set has those of all variables.
  std::vector<std::set<int>> failures(kVariables + 1);
  const auto wait = [&](int variable) {
    const std::set<int> raised = failures[variable];
    result.raised.push_back(raised);
    for (int failure : raised) {
      for (std::set<int>& some : failures) some.erase(failure);
    }
  };
  for (size_t i = 0; i < workload.operations.size(); ++i) {
    const Operation& operation = workload.operations[i];
    std::set<int> inherited;
    for (int v : operation.read) {
      inherited.insert(failures[v].begin(), failures[v].end());
    }
    for (int v : operation.mutate) {
      inherited.insert(failures[v].begin(), failures[v].end());
    }
    if (inherited.empty()) {
      try {
        result.Run(operation, i);
      } catch (int failure) {
        inherited.insert(failure);
        failures[kVariables].insert(failure);
      }
    }
    for (int m : operation.mutate) failures[m] = inherited;
    if (operation.wait >= 0) wait(operation.wait);
  }
  wait(kVariables);
  return result;
}

Result RunOnEngine(const Workload& workload, const NamedPolicy& policy) {
  Engine engine(policy.factory);
  Watchdog watchdog(&engine);
  Result result(workload.operations.size());
  std::vector<Variable> variables(kVariables);
  for (Variable& variable : variables) variable = engine.NewVariable();
  const auto named = [&](const std::vector<int>& indices) {
    std::vector<Variable> list;
    for (int i : indices) list.push_back(variables[i]);
    return list;
  };
  const auto wait = [&](int variable) {
    std::set<int>& raised = result.raised.emplace_back();
    const auto note = [&](const OperationError& error) {
      try {
        std::rethrow_exception(error.cause());
      } catch (int failure) {
        EXPECT_TRUE(raised.insert(failure).second) << "raised twice";
      }
    };
    try {
      variable < kVariables ? engine.WaitFor(variables[variable])
                            : engine.WaitAll();
    } catch (const OperationError& error) {
      note(error);
    } catch (const OperationErrors& errors) {
      for (const OperationError& error : errors.errors()) note(error);
    }
  };
  for (size_t i = 0; i < workload.operations.size(); ++i) {
    const Operation& operation = workload.operations[i];
    const int stream = static_cast<int>(i) % policy.streams;
    engine.Push([&result, &operation, i] { result.Run(operation, i); },
                named(operation.read), named(operation.mutate),
                {operation.priority, stream});
    if (operation.wait >= 0) wait(operation.wait);
  }
  wait(kVariables);
  return result;
}

TEST(RandomHarnessTest, SerialRunSkipsTheDependentsOfAFailure) {
  Workload workload(1, 0, 0);
  workload.operations.resize(4);
  workload.operations[0].mutate = {0};
  workload.operations[0].fails = true;
  workload.operations[1].read = {0};
  workload.operations[1].mutate = {1};
  workload.operations[2].mutate = {1, 2};
  workload.operations[3].mutate = {3};
  const Result result = RunSerially(workload);
  EXPECT_EQ(result.ran, (std::vector<char>{1, 0, 0, 1}));
  EXPECT_EQ(result.raised, std::vector<std::set<int>>{{0}});
}

TEST(RandomHarnessTest, SerialRunGoesOnAfterAWaitThatRaised) {
  Workload workload(1, 0, 0);
  workload.operations.resize(4);
  workload.operations[0].mutate = {0, 1};
  workload.operations[0].fails = true;
  workload.operations[1].mutate = {2};
  workload.operations[1].wait = 2;
  workload.operations[2].mutate = {1};
  workload.operations[2].wait = 0;
  workload.operations[3].mutate = {1};
  const Result result = RunSerially(workload);
  EXPECT_EQ(result.ran, (std::vector<char>{1, 1, 0, 1}));
  EXPECT_EQ(result.raised, (std::vector<std::set<int>>{{}, {0}, {}}));
}

TEST(RandomHarnessTest, TwoSerialRunsAgreeAndTwoSeedsDoNot) {
  const Workload a(1, 1000, 0), b(2, 1000, 0);
  EXPECT_TRUE(RunSerially(a) == RunSerially(a));
  EXPECT_FALSE(RunSerially(a) == RunSerially(b));
}

class RandomTest : public testing::TestWithParam<NamedPolicy> {};

INSTANTIATE_TEST_SUITE_P(Policies, RandomTest, testing::ValuesIn(AllPolicies()),
                         [](const auto& info) { return info.param.name; });

TEST_P(RandomTest, ResultIsThatOfRunningOneByOne) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Workload workload(seed, 4000, 0);
    const Result expected = RunSerially(workload),
                 result = RunOnEngine(workload, GetParam());
    ASSERT_EQ(result.values, expected.values);
    ASSERT_EQ(result.ran, expected.ran);
  }
}

TEST_P(RandomTest, ExactlyTheDependentsOfFailuresAreSkipped) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // In long workloads every variable fails in the end, so there are many
    // short ones.
    const Workload workload(seed, 200, 0.02);
    const Result expected = RunSerially(workload),
                 result = RunOnEngine(workload, GetParam());
    ASSERT_EQ(result.ran, expected.ran);
    ASSERT_EQ(result.raised, expected.raised);
    ASSERT_EQ(result.values, expected.values);
  }
}

TEST_P(RandomTest, EachErrorIsRaisedByExactlyTheFirstWaitThatObservesIt) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Workload workload(seed, 4000, 0.03, 0.1);
    const Result expected = RunSerially(workload),
                 result = RunOnEngine(workload, GetParam());
    ASSERT_EQ(result.ran, expected.ran);
    ASSERT_EQ(result.raised, expected.raised);
    ASSERT_EQ(result.values, expected.values);
  }
}

}  // namespace
}  // namespace cavs::engine
