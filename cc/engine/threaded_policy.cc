#include "cc/engine/parking.h"
#include "cc/engine/policy.h"
#include "cc/engine/queues.h"
#include "cc/engine/threads.h"

namespace cavs::engine {
namespace {

class ThreadedPolicy : public Policy {
 public:
  explicit ThreadedPolicy(int workers) : workers_(workers) {}

  void Start(const std::shared_ptr<Host>& host) override {
    host_ = host.get();
    for (int i = 0; i < workers_; ++i) {
      threads_.Start([this, host, i] { Loop(i); });
    }
  }

  // Ready() wakes no worker: the thread that releases the lock does. A worker
  // that finishes an operation first takes the next one itself, which is enough
  // for a chain of operations.
  void Ready(Op* op) override { queue_.Push(op); }

  void Kick(Lock& lock) override {
    work_.Set(!queue_.empty());
    const bool notify = !queue_.empty() && parking_.ClaimNotify();
    lock.unlock();
    if (notify) parking_.Notify();
  }

  bool Idle() const override { return queue_.empty(); }

  void Stop(bool wait) override {
    {
      Lock lock(host_->mutex());
      stop_ = true;
      work_.Set(true);  // Otherwise a thread about to sleep would not see it.
    }
    parking_.NotifyAll();
    threads_.End(wait);
  }

  std::string name() const override {
    return "threaded(" + std::to_string(workers_) + ")";
  }
  std::string WorkerName(int worker) const override {
    return "worker " + std::to_string(worker);
  }

 private:
  void Loop(int worker) {
    Lock lock(host_->mutex());
    while (!stop_) {
      Op* op = queue_.Pop();
      work_.Set(!queue_.empty());
      if (op == nullptr) {
        parking_.Wait(lock, work_);
        continue;
      }
      // A worker that finds more work than it takes wakes another one, so the
      // pusher needs only one call to wake them all.
      if (!queue_.empty() && parking_.ClaimNotify()) parking_.Notify();
      host_->Run(op, worker, lock);
    }
  }

  const int workers_;
  Host* host_ = nullptr;  // Kept alive by the threads.
  Threads threads_;
  Parking parking_;
  Parking::Work work_;
  // GUARDED_BY(host_->mutex()): the two members below.
  PriorityQueue queue_;
  bool stop_ = false;
};

}  // namespace

PolicyFactory Threaded(int workers) {
  if (workers < 1) {
    throw EngineError(
        "workers: got " + std::to_string(workers) +
        " but expected 1 or more. Use Naive() to run operations in "
        "the pushing thread.");
  }
  return [workers] { return std::make_unique<ThreadedPolicy>(workers); };
}

}  // namespace cavs::engine
