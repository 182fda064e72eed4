// The implementation of an engine within one process.
#ifndef CAVS_CC_ENGINE_CORE_H_
#define CAVS_CC_ENGINE_CORE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cc/engine/engine.h"
#include "cc/engine/lock.h"
#include "cc/engine/policy.h"
#include "cc/engine/tracker.h"

namespace cavs::engine {

// A Core connects the tracker, which decides which operations may run, with a
// policy, which decides where they run. It calls the functions of operations
// and keeps errors, waits and traces. Methods that Engine has too do the same
// as there, and any thread may call them. The engine, the threads of the policy
// and the completions share the ownership of a Core.
//
// Implementation notes. One lock guards all state. A push is one critical
// section. Finishing an operation and taking the next one is another. Each
// takes about 0.1 us. The lock is never held while the caller's code runs: the
// functions of operations, the destructors of their captures and exceptions,
// and Poll.
//
// A wait for a variable and its deletion are operations too. They mutate the
// variable and never reach the policy (see Role). Every other operation belongs
// to an epoch: to the current one or, if another operation pushes it, to the
// epoch of that operation. WaitAll() begins a new epoch and waits until the
// older epochs have no unfinished operations, so that it returns even if other
// threads keep pushing.
class Core final : public Host, public std::enable_shared_from_this<Core> {
 public:
  static std::shared_ptr<Core> Make(const PolicyFactory& policy);

  Variable NewVariable(std::string_view name);
  // Moves from *fn, unless it throws.
  void Push(Closure* fn, VariableList read, VariableList mutate,
            const PushOptions& options, bool async, Site site);
  void WaitFor(Variable variable, const Poll& poll);
  void WaitAll(const Poll& poll);
  void DeleteVariable(Variable variable);
  uint64_t Version(Variable variable);
  std::string Dump();
  void StartTrace();
  std::vector<TraceEvent> StopTrace();
  std::string PolicyName() const { return policy_->name(); }
  std::vector<OperationError> Close(const Poll& poll);

  // Finishes an asynchronous operation; `cause` is null if it succeeded. Does
  // nothing if the operation with that sequence number is finished.
  void Complete(Op* op, uint64_t sequence, const std::exception_ptr& cause);

  std::mutex& mutex() override { return mutex_; }
  void Run(Op* op, int worker, Lock& lock) override;

 private:
  class Frame;

  explicit Core(const PolicyFactory& policy);
  // Returns the operation of this engine that this thread is running, or null.
  const Op* Inside() const;

  // Except for RejectInside() and Call(), the methods below REQUIRE that mutex_
  // is held. Call() runs the caller's code and REQUIRES that mutex_ is not
  // held.
  void RejectIfClosed(bool inside) const;
  void RejectInside() const;
  // Finds a variable. Throws EngineError if the handle is of another engine or
  // of a deleted variable. The message names `list`[`index`], or `list` alone
  // if `index` is -1.
  Var* Resolve(Variable variable, const char* list, int64_t index);
  void Submit(Op* op);
  void Dispatch();
  FailureSetPtr Inherited(const Op& op) const;
  void FinishWork(Op* op);
  void Record(const Op& op);
  void CountFinished(int64_t epoch);
  bool EpochsDone(int64_t last) const;
  // Marks failures as raised, and returns the errors that were not raised
  // before. The caller must destroy `*dead` after it has released the lock.
  std::vector<OperationError> Raise(const FailureSet& failures,
                                    FailureSet* dead);
  template <typename Done>
  void Await(Lock& lock, const Poll& poll, Done done);

  std::shared_ptr<Failure> Call(Op* op);
  int64_t Now() const;

  // The variables of this engine carry this number, which no other engine has.
  const uint64_t id_;
  const std::unique_ptr<Policy> policy_;

  mutable std::mutex mutex_;
  // GUARDED_BY(mutex_): all members below.
  Tracker tracker_;
  FailureSet unraised_;  // In the order in which the operations failed.
  // Failures that were raised, and failures that never will be because another
  // failure of the same operation replaced them. They are kept until no
  // variable shares them, so that no exception is destroyed while the lock is
  // held.
  FailureSet raised_;
  // Number of unfinished operations in each epoch from first_epoch_ to the
  // current one.
  std::deque<int64_t> epochs_ = {0};
  int64_t first_epoch_ = 0;
  int waiting_for_all_ = 0;
  int64_t running_ = 0;     // Number of functions that are running.
  bool closing_ = false;    // Only operations may push.
  bool cancelled_ = false;  // No operation begins any more.
  bool tracing_ = false;
  int64_t num_traces_ = 0;  // The number of the last trace.
  std::chrono::steady_clock::time_point trace_start_;
  std::vector<TraceEvent> trace_;
  std::condition_variable waits_;     // A Waiter or an epoch is done.
  std::condition_variable progress_;  // While closing: a function has returned.
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_CORE_H_
