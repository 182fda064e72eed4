// Which operations may run: the whole of dependency tracking.
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
// that are not granted yet, and is ready at zero. Four small transitions, one
// for appending and one for finishing a read and a mutation, are all there is.
//
// Threads, functions, errors and policies are not known here. Not thread safe:
// the engine calls it with its lock held. Operations and variables are
// recycled, so that in steady state nothing is allocated.
//
// Example:
//   Op* op = tracker.NewOp(/*max_uses=*/2);
//   tracker.AddUse(op, x, /*mutate=*/true);
//   tracker.Submit(op);
//   while (Op* ready = tracker.TakeReady()) { ...; tracker.Finish(ready); }
class Tracker {
 public:
  Var* NewVar(std::string_view name);
  // The variable, unless it was given back since that generation.
  Var* Find(uint32_t index, uint32_t generation);
  // REQUIRES: no use of it is waiting or granted.
  void Recycle(Var* var);

  // An operation with a sequence number of its own, not submitted yet.
  Op* NewOp(size_t max_uses);
  // Normalised: named twice, or both read and mutated, is mutated once. Add
  // what is mutated before what is read. REQUIRES: at most max_uses calls.
  void AddUse(Op* op, Var* var, bool mutate);
  void Submit(Op* op);
  // Releases what a ready operation uses; others may become ready.
  void Finish(Op* op);
  // Gives a finished operation, or one that was never submitted, back.
  void Recycle(Op* op);

  // The next operation that has become ready, in the order in which they did,
  // or null.
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

  // Deques, because the addresses of what they hold never change.
  std::deque<Op> ops_;
  std::deque<Var> vars_;
  Op* free_ops_ = nullptr;
  Var* free_vars_ = nullptr;
  OpList ready_;
  uint64_t next_sequence_ = 1;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_TRACKER_H_
