#include "cc/engine/policy.h"
#include "cc/engine/queues.h"

namespace cavs::engine {
namespace {

class NaivePolicy : public Policy {
 public:
  void Start(const std::shared_ptr<Host>& host) override { host_ = host.get(); }
  void Admit(Op* op) override { queue_.Admit(op); }
  void Ready(Op*) override {}

  void Kick(Lock& lock) override {
    // A thread that is running operations, perhaps this one further up its
    // stack, takes the queued operations after the one that it is running.
    if (!running_) {
      running_ = true;
      while (Op* op = queue_.Pop()) host_->Run(op, 0, lock);
      running_ = false;
    }
    lock.unlock();
  }

  bool Idle() const override { return !queue_.Runnable(); }
  void Stop(bool) override {}
  std::string name() const override { return "naive"; }
  std::string WorkerName(int) const override { return "the pushing thread"; }

 private:
  Host* host_ = nullptr;
  // GUARDED_BY(host_->mutex()): the two members below.
  OrderedQueue queue_;
  bool running_ = false;
};

}  // namespace

PolicyFactory Naive() {
  return [] { return std::make_unique<NaivePolicy>(); };
}

}  // namespace cavs::engine
