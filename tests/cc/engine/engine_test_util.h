// What tests of the engine have in common.
#ifndef CAVS_TESTS_CC_ENGINE_ENGINE_TEST_UTIL_H_
#define CAVS_TESTS_CC_ENGINE_ENGINE_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "cc/engine/engine.h"

namespace cavs::engine {

// Threads wait at a gate until it is opened.
class Gate {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;  // GUARDED_BY(mutex_)
};

// Threads that arrive wait until `count` of them have. If two operations both
// get past it, they have overlapped.
class Meeting {
 public:
  explicit Meeting(int count) : missing_(count) {}
  void Arrive() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (--missing_ == 0) changed_.notify_all();
    changed_.wait(lock, [&] { return missing_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int missing_;  // GUARDED_BY(mutex_)
};

// No correct run comes near this time: it is in ten minutes, or shortly before
// Bazel would end the process without saying why.
inline std::chrono::system_clock::time_point EndOfPatience() {
  const auto now = std::chrono::system_clock::now();
  static const auto start = now;
  const char* limit = std::getenv("TEST_TIMEOUT");
  if (limit == nullptr) return now + std::chrono::minutes(10);
  return start + std::chrono::seconds(std::atoi(limit)) * 9 / 10;
}

// Ends the process after that time, with a dump of what waits for what, unless
// it is destroyed before.
class Watchdog {
 public:
  explicit Watchdog(Engine* engine,
                    std::chrono::system_clock::time_point end = EndOfPatience())
      : thread_([this, engine, end] { Watch(engine, end); }) {}
  ~Watchdog() {
    gate_.Open();
    thread_.join();
  }

 private:
  class Gate {
   public:
    void Open() {
      std::lock_guard<std::mutex> lock(mutex_);
      open_ = true;
      changed_.notify_all();
    }
    bool PassUntil(std::chrono::system_clock::time_point end) {
      std::unique_lock<std::mutex> lock(mutex_);
      return changed_.wait_until(lock, end, [&] { return open_; });
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;  // GUARDED_BY(mutex_)
  };

  void Watch(Engine* engine, std::chrono::system_clock::time_point end) {
    if (gate_.PassUntil(end)) return;
    std::fprintf(stderr, "This should have ended long ago.\n%s",
                 engine->Dump().c_str());
    std::_Exit(1);
  }

  Gate gate_;
  std::thread thread_;
};

struct NamedPolicy {
  std::string name;
  PolicyFactory factory;
  int streams;
  int threads;
};

inline void PrintTo(const NamedPolicy& policy, std::ostream* out) {
  *out << policy.name;
}

// Every policy with every number of threads that is worth testing.
inline std::vector<NamedPolicy> AllPolicies() {
  std::vector<NamedPolicy> all = {{"Naive", Naive(), 1, 0}};
  for (int n : {1, 2, 3, 7, 16}) {
    all.push_back({"Threaded" + std::to_string(n), Threaded(n), 1, n});
    all.push_back({"Streams" + std::to_string(n), Streams(n), n, n});
  }
  return all;
}

class EveryPolicyTest : public testing::TestWithParam<NamedPolicy> {
 protected:
  Engine engine_{GetParam().factory};
  Watchdog watchdog_{&engine_};
};

// Stands once in each file: it runs the tests of EveryPolicyTest on all
// policies.
#define CAVS_ON_ALL_POLICIES()                               \
  INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicyTest,        \
                           testing::ValuesIn(AllPolicies()), \
                           [](const auto& info) { return info.param.name; })

// The message of the EngineError that `f` throws.
template <typename F>
std::string Rejection(F f) {
  try {
    f();
  } catch (const EngineError& error) {
    return error.what();
  }
  return "no EngineError";
}

}  // namespace cavs::engine

#endif  // CAVS_TESTS_CC_ENGINE_ENGINE_TEST_UTIL_H_
