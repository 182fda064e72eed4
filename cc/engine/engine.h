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

// Called now and then by a waiting thread, without the lock; may throw.
using Poll = std::function<void()>;

// Runs operations in parallel, as far as the order of conflicting operations
// allows: each as soon as the variables that it names are free. Variables are
// tags; the caller decides what they stand for (an array, a random generator, a
// file).
//
// Two operations conflict when one mutates a variable that the other reads or
// mutates. Conflicting operations run in push order, others may overlap. A
// variable that is named twice, or both read and mutated, is mutated once. What
// an operation wrote is visible to later operations that conflict with it, and
// to threads that waited for it; nothing else is ordered, in time or in memory.
//
// The policy (policy.h) decides where and when operations run. A worker is busy
// until the function returns, also that of an asynchronous operation: a stream
// goes on to its next operation before the completion of the last has been
// called.
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
// Thread safety: any thread may call every method, except that only one may
// destroy the engine. Operations may call all but WaitFor() and WaitAll().
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
  ~Engine();  // Calls Close() and drops its result.
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Variable NewVariable(std::string_view name = {});

  // Runs `fn()` when everything pushed before that conflicts with it is done.
  // `fn` is moved, called once and destroyed by the thread that runs it; up to
  // Closure::kInlineBytes of captures cost no allocation. `file`, which must
  // outlive the operation, and `line` appear in errors.
  template <typename F>
  void Push(F fn, VariableList read, VariableList mutate,
            const PushOptions& options = {},
            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    Push(Closure::Of([fn = std::move(fn)](Completion*) mutable { fn(); }), read,
         mutate, options, /*async=*/false, {file, line});
  }

  // Pushes a `fn(Completion)` that only starts something: the variables that
  // the operation names stay in use until the completion is called.
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
  // skipped: until the next push, only the caller uses it. Throws the errors
  // that kept it from having a value and were not raised before: one as
  // OperationError, several as OperationErrors.
  void WaitFor(Variable variable, const Poll& poll = {});

  // Returns when every operation pushed before, and every operation that those
  // pushed, is done or skipped. Throws OperationErrors with all errors that
  // were not raised before.
  void WaitAll(const Poll& poll = {});

  // Deletes the variable after all operations pushed before. It may not be
  // named any more.
  void DeleteVariable(Variable variable);

  // How many operations have mutated the variable, not counting skipped ones.
  uint64_t Version(Variable variable);

  // A readable list of the pending operations and of the variables that they
  // wait for.
  std::string Dump();

  // Drops the last trace. Operations that have begun already are in neither
  // trace.
  void StartTrace();
  // Events are in the order in which the operations ended.
  std::vector<TraceEvent> StopTrace();

  // "threaded(2)"
  std::string PolicyName();

  // Runs every operation that can run. Operations that depend on an
  // asynchronous operation which is not finished are cancelled, because its
  // completion may never be called (call WaitAll() first if it will). Inside an
  // operation: cancels all operations but those that are running. Then ends the
  // threads. Returns the errors that no wait has raised. If `poll` throws,
  // operations that have not begun are cancelled, running ones are left to
  // their threads, and a second call returns the errors.
  std::vector<OperationError> Close(const Poll& poll = {});

 private:
  // Everything that belongs to one process: see fork().
  struct Life;

  void Push(Closure fn, VariableList read, VariableList mutate,
            const PushOptions& options, bool async, Site site);
  const std::shared_ptr<Core>& core();

  const PolicyFactory policy_;
  std::atomic<Life*> life_;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_ENGINE_H_
