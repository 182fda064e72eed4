// Dependency tracking: which operations may run.
#ifndef CAVS_CC_ENGINE_TRACKER_H_
#define CAVS_CC_ENGINE_TRACKER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "cc/engine/operation.h"

namespace cavs::engine {

// Two operations conflict when one mutates a variable that the other reads or
// mutates. Conflicting operations become ready in the order in which they were
// submitted. An operation is ready when all earlier operations that conflict
// with it have finished.
//
// Every variable has a queue of uses in that order. The uses at the front of
// the queue are *granted*: one mutation, or any number of reads. An operation
// counts its uses that are not granted yet, and is ready when none is left. A
// queue changes in four ways: a read or a mutation is appended, or finishes.
//
// The tracker knows nothing of threads, functions, errors and policies. It is
// not thread safe: the engine calls it with its lock held. The tracker owns
// operations and variables and recycles them, so that in steady state nothing
// is allocated.
//
// Example:
//   Op* op = tracker.NewOp(/*max_uses=*/2);
//   tracker.AddUse(op, x, /*mutate=*/true);
//   tracker.Submit(op);
//   while (Op* ready = tracker.TakeReady()) { ...; tracker.Finish(ready); }
class Tracker {
 public:
  Var* NewVar(std::string_view name);
  // Returns the variable, or null if it was recycled since that generation.
  Var* Find(uint32_t index, uint32_t generation);
  // REQUIRES: no use of it is waiting or granted.
  void Recycle(Var* var);

  // Returns an operation with a new sequence number, which is not submitted
  // yet.
  Op* NewOp(size_t max_uses);
  // A variable that is added twice, or both read and mutated, is mutated once.
  // Add mutated variables before read ones. REQUIRES: at most max_uses calls.
  void AddUse(Op* op, Var* var, bool mutate);
  void Submit(Op* op);
  // Releases the variables that a finished operation uses; other operations may
  // become ready.
  void Finish(Op* op);
  // Takes back a finished operation, or one that was never submitted.
  void Recycle(Op* op);

  // Returns the operation that became ready first and has not been taken, or
  // null.
  Op* TakeReady();

  // The sequence number that the next operation gets.
  uint64_t next_sequence() const { return next_sequence_; }
  // All operations and variables, including recycled ones.
  std::deque<Op>& ops() { return ops_; }
  const std::deque<Op>& ops() const { return ops_; }
  const std::deque<Var>& vars() const { return vars_; }

 private:
  void AppendRead(Use* use);
  void AppendMutation(Use* use);
  void FinishRead(Var* var);
  void FinishMutation(Var* var);
  static void Enqueue(Use* use);
  static Use* Dequeue(Var* var);
  void Grant(Use* use);
  void MarkReady(Op* op);

  // Deques, because their elements never move.
  std::deque<Op> ops_;
  std::deque<Var> vars_;
  Op* free_ops_ = nullptr;
  Var* free_vars_ = nullptr;
  OpList ready_;
  uint64_t next_sequence_ = 1;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_TRACKER_H_
