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
  int priority = 0;  // Higher runs first, where the policy has a choice.
  int stream = 0;    // The stream to run on, where the policy has several.
  std::string_view name = {};  // Appears in errors, traces and Dump().
};

// A waiting thread calls its Poll from time to time, without holding the
// engine's lock. The wait ends if the Poll throws.
using Poll = std::function<void()>;

// An Engine runs operations in parallel, as far as the order of conflicting
// operations allows: it runs each as soon as the variables that the operation
// names are free. Variables are tags; the caller decides what they stand for
// (an array, a random generator, a file).
//
// Two operations conflict when one mutates a variable that the other reads or
// mutates. Conflicting operations run in push order; other operations may
// overlap. A variable that is named twice, or both read and mutated, is mutated
// once. The memory that an operation wrote is visible to later operations that
// conflict with it, and to threads that waited for it. Nothing else is ordered,
// in time or in memory.
//
// The policy (policy.h) decides where and when operations run. A worker is busy
// until the function of its operation returns, even if the operation is
// asynchronous. A stream therefore goes on to its next operation before the
// completion of the last one has been called.
//
// An exception that leaves an operation marks the variables that the operation
// mutates as failed. Operations that name a failed variable are skipped and
// pass the failure on to the variables that they mutate. Each failure is raised
// once, at the first wait that observes it, however many variables it has
// reached; operations that are pushed after that run again.
//
// Mistakes throw EngineError at the call, which then changes nothing: a deleted
// variable, a variable of another engine, a stream that does not exist, a
// closed engine, waiting inside an operation.
//
// Thread safety: any thread may call every method, but only one may destroy the
// engine. Operations may call all methods except WaitFor() and WaitAll(). After
// fork() the child has a fresh engine: no variables, nothing pending.
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
  ~Engine();  // Calls Close() and drops its result.
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Variable NewVariable(std::string_view name = {});

  // Runs `fn()` when all operations that were pushed before and conflict with
  // it are done. The thread that runs `fn` calls it once and destroys it.
  // Captures of up to Closure::kInlineBytes cost no allocation. `file`, which
  // must outlive the operation, and `line` appear in errors.
  template <typename F>
  void Push(F fn, VariableList read, VariableList mutate,
            const PushOptions& options = {},
            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    Push(Closure::Of([fn = std::move(fn)](Completion*) mutable { fn(); }), read,
         mutate, options, /*async=*/false, {file, line});
  }

  // Pushes an asynchronous operation. Its `fn(Completion)` only starts work:
  // the variables that the operation names stay in use until the completion is
  // called.
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

  // Returns when every operation that was pushed before and names `variable` is
  // done or skipped. Only the caller uses the variable then, until the next
  // push. If failed operations left the variable without a value, throws their
  // errors, unless they were raised before: one as OperationError, several as
  // OperationErrors.
  void WaitFor(Variable variable, const Poll& poll = {});

  // Returns when all operations that were pushed before, and all operations
  // that these have pushed, are done or skipped. Throws OperationErrors with
  // all errors that were not raised before.
  void WaitAll(const Poll& poll = {});

  // Deletes the variable once all operations that were pushed before and name
  // it are done. The caller may not name it any more.
  void DeleteVariable(Variable variable);

  // Returns how many operations have mutated the variable. Skipped operations
  // do not count.
  uint64_t Version(Variable variable);

  // Returns a readable list of the pending operations and of the variables that
  // they wait for.
  std::string Dump();

  // Drops the last trace. Operations that have begun already are in neither
  // trace.
  void StartTrace();
  // Events are in the order in which the operations ended.
  std::vector<TraceEvent> StopTrace();

  // Returns the name of the policy, for example "threaded(2)".
  std::string PolicyName();

  // Runs every operation that can run. Operations that depend on an
  // asynchronous operation which is not finished are cancelled, because its
  // completion may never be called (call WaitAll() first if it will). If an
  // operation calls it, it cancels all operations that are not running. Then it
  // ends the threads. Returns the errors that no wait has raised. If `poll`
  // throws, operations that have not begun are cancelled, running ones are left
  // to their threads, and a second call returns the errors.
  std::vector<OperationError> Close(const Poll& poll = {});

 private:
  // The state of the engine in one process. A child that fork() makes gets its
  // own.
  struct Life;

  void Push(Closure fn, VariableList read, VariableList mutate,
            const PushOptions& options, bool async, Site site);
  const std::shared_ptr<Core>& core();

  const PolicyFactory policy_;
  std::atomic<Life*> life_;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_ENGINE_H_
