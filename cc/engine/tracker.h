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
// submitted, each when those before it have finished; others at once.
//
// Every variable has a queue of uses in that order; a use at the front of it is
// *granted*: one mutation, or any number of reads. An operation counts its uses
// that are not granted yet, and is ready at zero. There are four small
// transitions: appending and finishing, each for a read and for a mutation.
//
// The tracker knows nothing of threads, functions, errors and policies. Not
// thread safe: the engine calls it with its lock held. Operations and variables
// are recycled, so that in steady state nothing is allocated.
//
// Example:
//   Op* op = tracker.NewOp(/*max_uses=*/2);
//   tracker.AddUse(op, x, /*mutate=*/true);
//   tracker.Submit(op);
//   while (Op* ready = tracker.TakeReady()) { ...; tracker.Finish(ready); }
class Tracker {
 public:
  Var* NewVar(std::string_view name);
  // The variable, or null if it was recycled since that generation.
  Var* Find(uint32_t index, uint32_t generation);
  // REQUIRES: no use of it is waiting or granted.
  void Recycle(Var* var);

  // An operation with a sequence number of its own, not submitted yet.
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

  // The next ready operation, in the order in which they became ready, or null.
  Op* TakeReady();

  // The sequence number that the next operation gets.
  uint64_t next_sequence() const { return next_sequence_; }
  // Every operation and variable ever made, recycled ones among them.
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
