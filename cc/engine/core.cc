#include "cc/engine/core.h"

#include <algorithm>
#include <utility>

namespace cavs::engine {

namespace {

// Returns a number for a new engine, without a shared counter: two engines that
// are made at the same time have different addresses.
uint64_t NewId(const void* address) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return static_cast<uint64_t>(now) * 0x9E3779B97F4A7C15u ^
         reinterpret_cast<uintptr_t>(address);
}

}  // namespace

// A Frame stands on the stack of a thread for an operation that the thread is
// running. Frames nest when an operation pushes to another engine that runs the
// pushed operation at once.
class Core::Frame {
 public:
  Frame(const Core* core, const Op* op) : core_(core), op_(op), outer_(Top()) {
    Top() = this;
  }
  ~Frame() { Top() = outer_; }

  static const Op* Find(const Core* core) {
    for (const Frame* frame = Top(); frame != nullptr; frame = frame->outer_) {
      if (frame->core_ == core) return frame->op_;
    }
    return nullptr;
  }

 private:
  // The innermost frame on the stack of this thread.
  static const Frame*& Top() {
    static thread_local const Frame* top = nullptr;
    return top;
  }

  const Core* core_;
  const Op* op_;
  const Frame* outer_;
};

Core::Core(const PolicyFactory& policy) : id_(NewId(this)), policy_(policy()) {}

std::shared_ptr<Core> Core::Make(const PolicyFactory& policy) {
  std::shared_ptr<Core> core(new Core(policy));
  try {
    core->policy_->Start(core);
  } catch (...) {
    // The system ran out of threads. The threads that were started must end.
    core->policy_->Stop(/*wait=*/true);
    throw;
  }
  return core;
}

const Op* Core::Inside() const { return Frame::Find(this); }

Variable Core::NewVariable(std::string_view name) {
  Lock lock(mutex_, std::defer_lock);
  Acquire(lock);
  const Var* var = tracker_.NewVar(name);
  return {id_, var->index, var->generation};
}

void Core::Push(Closure* fn, VariableList read, VariableList mutate,
                const PushOptions& options, bool async, Site site) {
  const Op* parent = Inside();
  Lock lock(mutex_, std::defer_lock);
  Acquire(lock);
  RejectIfClosed(parent != nullptr);
  if (const int n = policy_->num_streams();
      options.stream < 0 || (n > 0 && options.stream >= n)) {
    throw EngineError("stream: got " + std::to_string(options.stream) +
                      " but expected one in [0, " +
                      (n > 0 ? std::to_string(n) : "...") +
                      "). Make the engine with more streams.");
  }
  Op* op = tracker_.NewOp(read.size() + mutate.size());
  try {
    for (size_t i = 0; i < mutate.size(); ++i) {
      tracker_.AddUse(op, Resolve(mutate[i], "mutate", static_cast<int64_t>(i)),
                      /*mutate=*/true);
    }
    for (size_t i = 0; i < read.size(); ++i) {
      tracker_.AddUse(op, Resolve(read[i], "read", static_cast<int64_t>(i)),
                      /*mutate=*/false);
    }
    op->name.assign(options.name.empty() ? "operation" : options.name);
  } catch (...) {
    tracker_.Recycle(op);
    throw;
  }
  op->fn = std::move(*fn);
  op->async = async;
  op->events_left = async ? 2 : 1;
  op->priority = options.priority;
  op->stream = options.stream;
  op->site = site;
  op->epoch = parent != nullptr
                  ? parent->epoch
                  : first_epoch_ + static_cast<int64_t>(epochs_.size()) - 1;
  op->pushed_ns = tracing_ ? Now() : 0;
  ++epochs_[static_cast<size_t>(op->epoch - first_epoch_)];
  policy_->Admit(op);
  Submit(op);
  policy_->Kick(lock);
}

void Core::DeleteVariable(Variable variable) {
  Lock lock(mutex_, std::defer_lock);
  Acquire(lock);
  if (cancelled_) return;  // All variables are deleted.
  Var* var = Resolve(variable, "variable", -1);
  Op* op = tracker_.NewOp(1);
  op->role = Role::kDelete;
  tracker_.AddUse(op, var, /*mutate=*/true);
  var->doomed = true;
  Submit(op);
}

uint64_t Core::Version(Variable variable) {
  Lock lock(mutex_, std::defer_lock);
  Acquire(lock);
  return Resolve(variable, "variable", -1)->version;
}

void Core::Run(Op* op, int worker, Lock& lock) {
  if (cancelled_) return;
  ++running_;
  op->state = OpState::kRunning;
  op->worker = worker;
  op->inherited = Inherited(*op);
  op->ran = op->inherited == nullptr;
  op->trace = tracing_ ? num_traces_ : 0;
  if (tracing_) op->began_ns = Now();
  lock.unlock();
  std::shared_ptr<Failure> failure;
  {
    Frame frame(this, op);
    if (op->ran) failure = Call(op);
    op->fn.Reset();
  }
  Acquire(lock);
  --running_;
  if (closing_) progress_.notify_all();
  if (cancelled_) {
    lock.unlock();
    failure.reset();
    return Acquire(lock);
  }
  op->events_left = op->ran && failure == nullptr ? op->events_left - 1 : 0;
  if (failure) {
    // The exception that left the function says more than the failure of the
    // completion that the function dropped.
    if (op->failure) raised_.push_back(std::move(op->failure));
    op->failure = std::move(failure);
  }
  op->state = OpState::kStarted;
  if (op->events_left == 0) FinishWork(op);
}

std::shared_ptr<Failure> Core::Call(Op* op) {
  try {
    if (op->async) {
      Completion done(shared_from_this(), op, op->sequence);
      op->fn(&done);
    } else {
      op->fn(nullptr);
    }
    return nullptr;
  } catch (...) {
    return std::make_shared<Failure>(
        Failure{OperationError(op->name, op->site.file, op->site.line,
                               std::current_exception()),
                op->sequence});
  }
}

void Core::Complete(Op* op, uint64_t sequence,
                    const std::exception_ptr& cause) {
  const auto finished = [&] {
    return cancelled_ || op->sequence != sequence ||
           op->state == OpState::kFree;
  };
  std::shared_ptr<Failure> failure;
  Lock lock(mutex_, std::defer_lock);
  Acquire(lock);
  if (cause && !finished()) {
    const std::string name = op->name, file = op->site.file;
    const int line = op->site.line;
    lock.unlock();
    failure = std::make_shared<Failure>(
        Failure{OperationError(name, file, line, cause), sequence});
    Acquire(lock);
  }
  if (finished()) return;
  if (failure && !op->failure) op->failure = std::move(failure);
  if (--op->events_left > 0) return;
  FinishWork(op);
  policy_->Kick(lock);
}

void Core::Submit(Op* op) {
  tracker_.Submit(op);
  Dispatch();
}

void Core::Dispatch() {
  while (Op* op = tracker_.TakeReady()) {
    if (op->role == Role::kWork) {
      policy_->Ready(op);
      continue;
    }
    Var* var = op->uses[0].var;
    if (op->waiter != nullptr) {
      *op->waiter = {true, var->failures};
      waits_.notify_all();
    }
    const bool deletes = op->role == Role::kDelete;
    tracker_.Finish(op);
    tracker_.Recycle(op);
    if (deletes) tracker_.Recycle(var);
  }
}

void Core::FinishWork(Op* op) {
  FailureSetPtr result = op->inherited;
  if (op->failure) {
    result = std::make_shared<FailureSet>(1, op->failure);
    unraised_.push_back(op->failure);
  }
  for (Use& use : op->uses) {
    if (use.mutate && use.var->failures != result) use.var->failures = result;
  }
  if (tracing_ && op->trace == num_traces_) Record(*op);
  CountFinished(op->epoch);
  tracker_.Finish(op);
  tracker_.Recycle(op);
  Dispatch();
}

FailureSetPtr Core::Inherited(const Op& op) const {
  FailureSetPtr all;
  for (const Use& use : op.uses) {
    const FailureSetPtr& set = use.var->failures;
    if (!set) continue;
    const bool stops = std::any_of(
        set->begin(), set->end(),
        [&](const auto& failure) { return failure->Stops(op.sequence); });
    if (stops) all = Union(all, set);
  }
  return all;
}

void Core::Record(const Op& op) {
  TraceEvent event;
  event.name = op.name;
  event.file = op.site.file;
  event.line = op.site.line;
  event.sequence = op.sequence;
  event.worker = op.worker;
  event.worker_name = policy_->WorkerName(op.worker);
  event.pushed_ns = op.pushed_ns;
  event.began_ns = op.began_ns;
  event.ended_ns = Now();
  event.outcome = op.failure ? Outcome::kFailed
                  : op.ran   ? Outcome::kDone
                             : Outcome::kSkipped;
  trace_.push_back(std::move(event));
}

void Core::CountFinished(int64_t epoch) {
  if (--epochs_[static_cast<size_t>(epoch - first_epoch_)] > 0) return;
  while (epochs_.size() > 1 && epochs_.front() == 0) {
    epochs_.pop_front();
    ++first_epoch_;
  }
  if (waiting_for_all_ > 0) waits_.notify_all();
}

int64_t Core::Now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now() - trace_start_)
      .count();
}

void Core::StartTrace() {
  Lock lock(mutex_);
  trace_.clear();
  trace_start_ = std::chrono::steady_clock::now();
  ++num_traces_;
  tracing_ = true;
}

std::vector<TraceEvent> Core::StopTrace() {
  Lock lock(mutex_);
  tracing_ = false;
  return std::exchange(trace_, {});
}

Completion::~Completion() {
  if (!core_) return;
  Fail(std::make_exception_ptr(EngineError(
      "completion: got destroyed but expected to be called. Keep it until the "
      "operation is done, then call it.")));
}

void Completion::operator()() { Fail(nullptr); }

void Completion::Fail(std::exception_ptr cause) {
  std::shared_ptr<Core> core = std::move(core_);
  if (!core) {
    throw EngineError(
        "completion: got a second call but expected one. Call it once, when "
        "the "
        "operation is done.");
  }
  core->Complete(op_, sequence_, cause);
}

}  // namespace cavs::engine
