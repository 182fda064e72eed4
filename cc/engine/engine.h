// The dependency engine. Start here.
#ifndef CAVS_CC_ENGINE_ENGINE_H_
#define CAVS_CC_ENGINE_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/engine/closure.h"
#include "cc/engine/completion.h"
#include "cc/engine/errors.h"
#include "cc/engine/operation.h"
#include "cc/engine/policy.h"
#include "cc/engine/trace.h"
#include "cc/engine/variable.h"

namespace cavs::engine {

struct PushOptions {
  int priority = 0;            // Higher first, where the policy has a choice.
  int stream = 0;              // Which, where the policy has several.
  std::string_view name = {};  // For errors, traces and Dump().
};

// Called now and then by a thread that waits, without the lock; may throw.
using Poll = std::function<void()>;

// Runs operations in order, as parallel as can be: each as soon as the
// variables that it names are free. Variables are tags; what they stand for (an
// array, a random generator, a file) is the caller's business.
//
// Two operations conflict when one mutates a variable that the other reads or
// mutates. Conflicting operations run in push order, others may overlap. A
// variable that is named twice, or both read and mutated, is mutated once.
// What an operation wrote is visible to those that follow it by a conflict and
// to whoever waited for it; nothing else is ordered, in time or in memory.
//
// Where and when operations run is up to the policy (policy.h). A worker is
// busy until the function returns, also that of an asynchronous operation: a
// stream goes on to its next one before the completion of the last has come.
//
// An exception that leaves an operation marks what the operation mutates as
// failed. Operations that name a failed variable are skipped and pass the
// failure on to what they mutate. Each failure is raised once, at the first
// wait that observes it, however many variables it has reached; operations that
// are pushed after that run again.
//
// Mistakes throw EngineError at the call, which then changes nothing: a deleted
// variable, one of another engine, a stream that there is not, a closed engine,
// waiting inside an operation.
// Thread safety: any thread may call every method, except that only one may
// destroy. Operations may call all but WaitFor() and WaitAll().
// After fork() the child has a fresh engine: no variables, nothing pending.
//
// Example:
//   Engine engine(Threaded(2));
//   Variable x = engine.NewVariable("x");
//   engine.Push(Fill, /*read=*/{}, /*mutate=*/{x});
//   engine.Push(Print, /*read=*/{x}, /*mutate=*/{});  // Runs after Fill.
//   engine.WaitAll();
class Engine {
 public:
  explicit Engine(PolicyFactory policy);
  ~Engine();  // Close(), its result dropped.
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Variable NewVariable(std::string_view name = {});

  // Runs `fn()` when everything pushed before that conflicts with it is done.
  // It is moved, called once and destroyed by the thread that runs it; up to
  // Closure::kInlineBytes of captures cost no allocation. `file`, which must
  // outlive the operation, and `line` are for errors.
  template <typename F>
  void Push(F fn, VariableList read, VariableList mutate,
            const PushOptions& options = {},
            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    Push(Closure::Of([fn = std::move(fn)](Completion*) mutable { fn(); }), read,
         mutate, options, /*async=*/false, {file, line});
  }

  // The same for a `fn(Completion)` that only starts something: what it names
  // stays in use until the completion is called.
  template <typename F>
  void PushAsync(F fn, VariableList read, VariableList mutate,
                 const PushOptions& options = {},
                 const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
    Push(Closure::Of([fn = std::move(fn)](Completion* done) mutable {
           fn(std::move(*done));
         }),
         read, mutate, options, /*async=*/true, {file, line});
  }

  // Returns when every operation pushed before that names `variable` is done or
  // skipped: what it stands for is the caller's until the next push. Throws the
  // OperationError, if there are several the OperationErrors, that kept it from
  // having a value and were not raised before.
  void WaitFor(Variable variable, const Poll& poll = {});

  // Returns when every operation pushed before, and what those pushed, is done
  // or skipped. Throws OperationErrors of all that were not raised before.
  void WaitAll(const Poll& poll = {});

  // Deletes it after all that was pushed before; it cannot be named from now
  // on.
  void DeleteVariable(Variable variable);

  // How many operations have mutated it; those that were skipped have not.
  uint64_t Version(Variable variable);

  // Who waits for what, for people.
  std::string Dump();

  // Forgets the last trace. What has begun already is in neither.
  void StartTrace();
  // In the order in which the operations ended.
  std::vector<TraceEvent> StopTrace();

  // "threaded(2)"
  std::string PolicyName();

  // Runs all that can run, so not what an asynchronous operation holds up that
  // is not done: that is cancelled, because its completion may never come
  // (WaitAll() first if it will). In an operation: cancels all but what is
  // running. Then ends the threads. Returns the errors that no wait has raised.
  // What `poll` throws cuts this short: what has not begun is cancelled, what
  // runs is left to its thread, and a second call returns the errors.
  std::vector<OperationError> Close(const Poll& poll = {});

 private:
  // All of it between two forks.
  struct Life;

  void Push(Closure fn, VariableList read, VariableList mutate,
            const PushOptions& options, bool async, Site site);
  const std::shared_ptr<Core>& core();

  const PolicyFactory policy_;
  std::atomic<Life*> life_;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_ENGINE_H_
