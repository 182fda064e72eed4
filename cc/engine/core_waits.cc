// Waiting, closing, and the errors of the engine's callers.
#include <algorithm>
#include <utility>

#include "cc/engine/core.h"

namespace cavs::engine {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(50);

// Waits until done() returns true. Both done() and poll() may throw.
template <typename Done>
void WaitUntil(std::condition_variable* changed, Lock& lock, const Poll& poll,
               Done done) {
  while (!done()) {
    if (!poll) {
      changed->wait(lock);
    } else if (changed->wait_until(
                   lock, std::chrono::system_clock::now() + kPollInterval) ==
               std::cv_status::timeout) {
      lock.unlock();
      poll();
      lock.lock();
    }
  }
}

}  // namespace

void Core::RejectIfClosed(bool inside) const {
  if (!cancelled_ && (!closing_ || inside)) return;
  throw EngineError(
      "engine: got a call after it was closed but expected it before. Close "
      "the "
      "engine when nobody uses it any more.");
}

void Core::RejectInside() const {
  const Op* op = Inside();
  if (op == nullptr) return;
  throw EngineError("wait: got a call inside the operation '" + op->name +
                    "' but expected one outside of all operations, because it "
                    "could wait for itself. Push an operation that reads what "
                    "you would wait for.");
}

Var* Core::Resolve(Variable variable, const char* list, int64_t index) {
  const auto reject = [&](const std::string& got, const char* advice) {
    const std::string place =
        index < 0 ? "" : "[" + std::to_string(index) + "]";
    return EngineError(list + place + ": got " + got +
                       " but expected a live variable of this engine. " +
                       advice);
  };
  if (variable.engine != id_) {
    throw reject("a variable of another engine",
                 "Make it with this engine, after fork() once more.");
  }
  Var* var = tracker_.Find(variable.index, variable.generation);
  if (var == nullptr || var->doomed) {
    throw reject(var != nullptr && !var->name.empty()
                     ? "the deleted variable '" + var->name + "'"
                     : "a deleted variable",
                 "Delete a variable after the last push that names it.");
  }
  return var;
}

template <typename Done>
void Core::Await(Lock& lock, const Poll& poll, Done done) {
  WaitUntil(&waits_, lock, poll, [&] {
    if (done()) return true;
    if (!cancelled_) return false;
    throw EngineError(
        "engine: got closed during a wait but expected that after it. Close "
        "the engine when nobody uses it any more.");
  });
}

void Core::WaitFor(Variable variable, const Poll& poll) {
  RejectInside();
  Waiter waiter;
  FailureSet dead;
  std::vector<OperationError> errors;
  {
    Lock lock(mutex_, std::defer_lock);
    Acquire(lock);
    RejectIfClosed(false);
    Var* var = Resolve(variable, "variable", -1);
    Op* op = tracker_.NewOp(1);
    op->role = Role::kWait;
    op->waiter = &waiter;
    tracker_.AddUse(op, var, /*mutate=*/true);
    Submit(op);
    try {
      Await(lock, poll, [&] { return waiter.done; });
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (!waiter.done) op->waiter = nullptr;
      throw;
    }
    if (waiter.failures) errors = Raise(*waiter.failures, &dead);
  }
  if (errors.size() == 1) throw std::move(errors[0]);
  if (!errors.empty()) throw OperationErrors(std::move(errors));
}

void Core::WaitAll(const Poll& poll) {
  RejectInside();
  FailureSet dead;
  std::vector<OperationError> errors;
  {
    Lock lock(mutex_, std::defer_lock);
    Acquire(lock);
    RejectIfClosed(false);
    const int64_t last =
        first_epoch_ + static_cast<int64_t>(epochs_.size()) - 1;
    if (!EpochsDone(last)) {
      epochs_.push_back(0);
      ++waiting_for_all_;
      try {
        Await(lock, poll, [&] { return EpochsDone(last); });
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        --waiting_for_all_;
        throw;
      }
      --waiting_for_all_;
    }
    if (!unraised_.empty()) errors = Raise(FailureSet(unraised_), &dead);
  }
  if (!errors.empty()) throw OperationErrors(std::move(errors));
}

bool Core::EpochsDone(int64_t last) const {
  for (int64_t epoch = first_epoch_; epoch <= last; ++epoch) {
    if (epochs_[static_cast<size_t>(epoch - first_epoch_)] > 0) return false;
  }
  return true;
}

std::vector<OperationError> Core::Raise(const FailureSet& failures,
                                        FailureSet* dead) {
  FailureSet fresh;
  for (const auto& failure : failures) {
    if (failure->raised()) continue;
    failure->raised_at = tracker_.next_sequence();
    fresh.push_back(failure);
  }
  const auto raised = [](const auto& failure) { return failure->raised(); };
  unraised_.erase(std::remove_if(unraised_.begin(), unraised_.end(), raised),
                  unraised_.end());
  std::sort(fresh.begin(), fresh.end(), [](const auto& a, const auto& b) {
    return a->sequence < b->sequence;
  });
  std::vector<OperationError> errors;
  for (const auto& failure : fresh) errors.push_back(failure->error);
  const auto shared = std::partition(
      raised_.begin(), raised_.end(),
      [](const auto& failure) { return failure.use_count() == 1; });
  dead->assign(raised_.begin(), shared);
  raised_.erase(raised_.begin(), shared);
  raised_.insert(raised_.end(), fresh.begin(), fresh.end());
  return errors;
}

std::vector<OperationError> Core::Close(const Poll& poll) {
  FailureSet dead;
  std::vector<OperationError> errors;
  std::exception_ptr interruption;
  {
    std::vector<Closure> dropped;  // Destroyed after the lock is released.
    Lock lock(mutex_, std::defer_lock);
    Acquire(lock);
    if (closing_) return Raise(FailureSet(unraised_), &dead);
    closing_ = true;
    if (Inside() == nullptr) {
      try {
        WaitUntil(&progress_, lock, poll,
                  [&] { return running_ == 0 && policy_->Idle(); });
      } catch (...) {
        interruption = std::current_exception();
        lock.lock();
      }
    }
    cancelled_ = true;
    for (Op& op : tracker_.ops()) {
      if (op.state == OpState::kWaiting || op.state == OpState::kReady) {
        dropped.push_back(std::move(op.fn));
      }
    }
    if (!interruption) errors = Raise(FailureSet(unraised_), &dead);
    waits_.notify_all();
    lock.unlock();
  }
  policy_->Stop(/*wait=*/interruption == nullptr);
  if (interruption) std::rethrow_exception(interruption);
  return errors;
}

}  // namespace cavs::engine
