// A place where workers wait for work.
#ifndef CAVS_CC_ENGINE_PARKING_H_
#define CAVS_CC_ENGINE_PARKING_H_

#include <atomic>
#include <condition_variable>

#include "cc/engine/lock.h"

namespace cavs::engine {

// A thread waits for about 20 us without sleeping, as the next operation often
// arrives that soon, and then sleeps. At most one thread at a time waits awake:
// when there are fewer processors than threads, others need the processors.
class Parking {
 public:
  // Whether there is work. Written with the lock held, read without.
  class Work {
   public:
    // Relaxed, both: the value is a hint for spinning; the lock orders
    // everything else.
    void Set(bool any) {
      if (this->any() != any) any_.store(any, std::memory_order_relaxed);
    }
    bool any() const { return any_.load(std::memory_order_relaxed); }

   private:
    std::atomic<bool> any_{false};
  };

  // Whether to wait awake at all. To be called before the first Wait().
  void set_spin(bool spin) { spin_ = spin; }

  // Returns when there may be work, perhaps too early. REQUIRES: the lock is
  // held, and was since the caller found that there is none.
  void Wait(Lock& lock, const Work& work) {
    if (spin_ && !spinning_) {
      spinning_ = true;
      lock.unlock();
      for (int i = 0; i < kSpins && !work.any(); ++i) Pause();
      Acquire(lock);
      spinning_ = false;
      if (work.any()) return;
    }
    ++sleeping_;
    wake_.wait(lock);
    --sleeping_;
    if (notified_ > 0) --notified_;
  }

  // Whether the caller, which has added work, should call Notify() once it has
  // released the lock. REQUIRES: the lock is held.
  bool ClaimNotify() {
    if (spinning_ || sleeping_ <= notified_) return false;
    ++notified_;
    return true;
  }
  void Notify() { wake_.notify_one(); }

  void NotifyAll() { wake_.notify_all(); }

 private:
  static constexpr int kSpins = 500;

  std::condition_variable wake_;
  bool spin_ = true;
  // GUARDED_BY(the engine's lock): all three.
  bool spinning_ = false;
  int sleeping_ = 0;
  // Number of sleeping threads that were notified but are not awake yet.
  int notified_ = 0;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_PARKING_H_
