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

// A line of source code. `file` must outlive the operation; it is usually a
// string literal.
struct Site {
  const char* file = "?";
  int line = 0;
};

struct Var {
  // Invariant: `mutating` and `readers` > 0 exclude each other, and the first
  // waiting use conflicts with a granted use, or else it would be granted too.
  bool mutating = false;
  uint32_t readers = 0;
  Use* first = nullptr;  // Waiting uses, in push order.
  Use* last = nullptr;
  uint64_t version = 0;

  uint32_t index = 0;
  uint32_t generation = 0;
  bool live = false;
  bool doomed = false;  // Its deletion has been pushed.
  // Sequence number of the last operation that named the variable. It shows
  // whether an operation names the variable twice.
  uint64_t named_by = 0;
  FailureSetPtr failures;
  Var* next_free = nullptr;
  std::string name;
};

// The use of one variable by one operation, which is an entry of the variable's
// queue.
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

// A Waiter tells a waiting thread that it may go on. It lives on the stack of
// that thread.
struct Waiter {
  bool done = false;
  FailureSetPtr failures;
};

struct Op {
  // The tracker uses the members from here on.
  uint64_t sequence = 0;  // In push order, from 1.
  uint32_t unmet = 0;     // Uses that are not granted yet.
  Role role = Role::kWork;
  OpState state = OpState::kFree;
  bool ran = false;  // Its function was called, so its mutations count.
  std::vector<Use> uses;
  Op* next = nullptr;  // The next operation in the same list.

  // The core and the policy use the members from here on to run it.
  bool async = false;
  // The number of events after which the operation is finished: the return of
  // its function and, if it is asynchronous, the call of its completion.
  uint8_t events_left = 0;
  int priority = 0;
  int stream = 0;
  Op* next_in_stream = nullptr;
  int64_t epoch = 0;  // WaitAll() waits for all epochs up to the current one.
  Closure fn;
  std::shared_ptr<Failure> failure;  // The failure of the operation itself.
  FailureSetPtr inherited;           // Failures because of which it is skipped.
  Waiter* waiter = nullptr;

  // Messages and traces show the members from here on.
  Site site;
  int worker = 0;
  int64_t trace = 0;  // The number of the trace in which it began, or 0.
  int64_t pushed_ns = 0, began_ns = 0;
  std::string name;
};

// An OpList is a first-in, first-out queue of operations, which Op::next links.
// It does not own them.
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
