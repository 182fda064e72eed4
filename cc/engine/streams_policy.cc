#include <deque>

#include "cc/engine/parking.h"
#include "cc/engine/policy.h"
#include "cc/engine/queues.h"
#include "cc/engine/threads.h"

namespace cavs::engine {
namespace {

class StreamsPolicy : public Policy {
 public:
  explicit StreamsPolicy(int streams) : streams_(streams) {
    // Each stream has a thread of its own. If there are more threads than
    // processors, threads that wait awake would slow the others down.
    const bool spin =
        streams <= static_cast<int>(std::thread::hardware_concurrency());
    for (Stream& stream : streams_) stream.parking.set_spin(spin);
  }

  void Start(const std::shared_ptr<Host>& host) override {
    host_ = host.get();
    for (int i = 0; i < num_streams(); ++i) {
      threads_.Start([this, host, i] { Loop(i); });
    }
  }

  void Admit(Op* op) override { streams_[op->stream].queue.Admit(op); }

  void Ready(Op* op) override {
    Stream& stream = streams_[op->stream];
    stream.work.Set(stream.queue.Runnable());
  }

  void Kick(Lock& lock) override {
    WakeAllWithWork();
    lock.unlock();
  }

  bool Idle() const override {
    for (const Stream& stream : streams_) {
      if (stream.queue.Runnable()) return false;
    }
    return true;
  }

  void Stop(bool wait) override {
    {
      Lock lock(host_->mutex());
      stop_ = true;
      // Otherwise a thread that is about to sleep would not see stop_.
      for (Stream& stream : streams_) stream.work.Set(true);
    }
    for (Stream& stream : streams_) stream.parking.NotifyAll();
    threads_.End(wait);
  }

  std::string name() const override {
    return "streams(" + std::to_string(streams_.size()) + ")";
  }
  std::string WorkerName(int worker) const override {
    return "stream " + std::to_string(worker);
  }
  int num_streams() const override { return static_cast<int>(streams_.size()); }

 private:
  struct Stream {
    OrderedQueue queue;  // GUARDED_BY(host_->mutex())
    Parking parking;
    Parking::Work work;
  };

  void Loop(int worker) {
    Stream& mine = streams_[worker];
    Lock lock(host_->mutex());
    while (!stop_) {
      Op* op = mine.queue.Pop();
      if (op == nullptr) {
        mine.parking.Wait(lock, mine.work);
        continue;
      }
      mine.work.Set(mine.queue.Runnable());
      host_->Run(op, worker, lock);
      WakeAllWithWork();
    }
  }

  void WakeAllWithWork() {
    for (Stream& stream : streams_) {
      if (stream.work.any() && stream.parking.ClaimNotify()) {
        stream.parking.Notify();
      }
    }
  }

  Host* host_ = nullptr;  // Kept alive by the threads.
  Threads threads_;
  // Its size never changes. It is a deque because a Stream cannot be moved.
  std::deque<Stream> streams_;
  bool stop_ = false;  // GUARDED_BY(host_->mutex())
};

}  // namespace

PolicyFactory Streams(int streams) {
  if (streams < 1) {
    throw EngineError(
        "streams: got " + std::to_string(streams) +
        " but expected 1 or more. Use Naive() to run operations in "
        "the pushing thread.");
  }
  return [streams] { return std::make_unique<StreamsPolicy>(streams); };
}

}  // namespace cavs::engine
