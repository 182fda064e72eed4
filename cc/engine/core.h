// The implementation of an engine, between two calls of fork().
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

// Connects the tracker (which operations may run?) with a policy (where do they
// run?), and does everything else: calling functions, errors, waits, traces.
// Its methods are Engine's. Threads of the policy and completions share its
// ownership.
//
// Implementation notes. One lock guards everything, so a push is one critical
// section, and finishing an operation together with taking the next one is
// another, each of about 0.1 us. The lock is never held while the caller's code
// runs: functions, destructors of what they capture or throw, Poll.
//
// Waits and deletions are operations too, which mutate their variable and never
// reach the policy (see Role). WaitAll() counts unfinished operations by epoch:
// it begins a new epoch and waits for the old ones, so that it returns however
// much other threads go on pushing. Operations that an operation pushes belong
// to its epoch.
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
  // The operation of this engine that this thread is running, or null.
  const Op* Inside() const;

  // All of these REQUIRE that mutex_ is held.
  void RejectIfClosed(bool inside) const;
  void RejectInside() const;
  // For the message, `index` is the position in `list`; -1 if `list` is the
  // name of a single argument.
  Var* Resolve(Variable variable, const char* list, int64_t index);
  void Submit(Op* op);
  void Dispatch();
  FailureSetPtr Inherited(const Op& op) const;
  void FinishWork(Op* op);
  void Record(const Op& op);
  void CountFinished(int64_t epoch);
  bool EpochsDone(int64_t last) const;
  // The caller must destroy `*dead` after releasing the lock.
  std::vector<OperationError> Raise(const FailureSet& failures,
                                    FailureSet* dead);
  template <typename Done>
  void Await(Lock& lock, const Poll& poll, Done done);

  std::shared_ptr<Failure> Call(Op* op);
  int64_t Now() const;

  // Distinguishes this engine's variables from those of other engines.
  const uint64_t id_;
  const std::unique_ptr<Policy> policy_;

  mutable std::mutex mutex_;
  // GUARDED_BY(mutex_): all members below.
  Tracker tracker_;
  FailureSet unraised_;  // In the order in which the operations failed.
  // Failures that were raised, or never will be. Kept until no variable shares
  // them, so that no exception is destroyed with the lock held.
  FailureSet raised_;
  // Number of unfinished operations in each epoch from first_epoch_ to the
  // current one.
  std::deque<int64_t> epochs_ = {0};
  int64_t first_epoch_ = 0;
  int waiting_for_all_ = 0;
  int64_t running_ = 0;     // Number of functions that are running.
  bool closing_ = false;    // Only operations may push.
  bool cancelled_ = false;  // Nothing begins any more.
  bool tracing_ = false;
  std::chrono::steady_clock::time_point trace_start_;
  std::vector<TraceEvent> trace_;
  std::condition_variable waits_;     // A Waiter or an epoch is done.
  std::condition_variable progress_;  // While closing: a function has returned.
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_CORE_H_
