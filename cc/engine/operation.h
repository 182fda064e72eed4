// The engine's records of operations, variables, and uses of variables.
#ifndef CAVS_CC_ENGINE_OPERATION_H_
#define CAVS_CC_ENGINE_OPERATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/engine/closure.h"
#include "cc/engine/errors.h"

namespace cavs::engine {

struct Op;
struct Use;

// A line of source. `file` must outlive the operation: a literal, usually.
struct Site {
  const char* file = "?";
  int line = 0;
};

struct Var {
  // Invariant: `mutating` excludes `readers` > 0, and the first waiting use
  // conflicts with what is granted (else it would be granted too).
  bool mutating = false;
  uint32_t readers = 0;
  Use* first = nullptr;  // Waiting uses, in push order.
  Use* last = nullptr;
  uint64_t version = 0;

  uint32_t index = 0;
  uint32_t generation = 0;
  bool live = false;
  bool doomed = false;  // Its deletion has been pushed.
  // Sequence number of the operation that last named it: shows that an
  // operation names it twice.
  uint64_t named_by = 0;
  FailureSetPtr failures;
  Var* next_free = nullptr;
  std::string name;
};

// One operation's use of one variable: an entry of the variable's queue.
struct Use {
  Op* op;
  Var* var;
  Use* next;
  bool mutate;
  bool granted;
};

// What the engine does with an operation that is ready.
enum class Role : uint8_t {
  kWork,    // Goes to the policy.
  kWait,    // Lets a waiting thread go on.
  kDelete,  // Deletes the variable that it mutates.
};

enum class OpState : uint8_t { kFree, kWaiting, kReady, kRunning, kStarted };

// Tells a waiting thread that it may go on. Lives on the thread's stack.
struct Waiter {
  bool done = false;
  FailureSetPtr failures;
};

struct Op {
  // For the tracker.
  uint64_t sequence = 0;  // In push order, from 1.
  uint32_t unmet = 0;     // Uses that are not granted yet.
  Role role = Role::kWork;
  OpState state = OpState::kFree;
  bool ran = false;  // Its function was called: its mutations are new versions.
  std::vector<Use> uses;
  Op* next = nullptr;  // In the list that it is in.

  // For running it.
  bool async = false;
  // How many of two events are still to come: the function returns, and the
  // completion is called.
  uint8_t events_left = 0;
  int priority = 0;
  int stream = 0;
  Op* next_in_stream = nullptr;
  int64_t epoch = 0;  // WaitAll() waits for all epochs up to the current one.
  Closure fn;
  std::shared_ptr<Failure> failure;  // The failure of the operation itself.
  FailureSetPtr inherited;           // Failures because of which it is skipped.
  Waiter* waiter = nullptr;

  // For messages and traces.
  Site site;
  int worker = 0;
  int64_t pushed_ns = 0, began_ns = 0;
  std::string name;
};

// First in, first out, through Op::next.
class OpList {
 public:
  bool empty() const { return first_ == nullptr; }
  Op* front() const { return first_; }
  void PushBack(Op* op) {
    op->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = op;
    last_ = op;
  }
  Op* PopFront() {
    Op* op = first_;
    if (op != nullptr) first_ = op->next;
    return op;
  }

 private:
  Op* first_ = nullptr;
  Op* last_ = nullptr;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_OPERATION_H_
