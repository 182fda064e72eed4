// A place where workers wait for work.
#ifndef CAVS_CC_ENGINE_PARKING_H_
#define CAVS_CC_ENGINE_PARKING_H_

#include <atomic>
#include <condition_variable>

#include "cc/engine/lock.h"

namespace cavs::engine {

// The threads of a policy wait in a Parking, which the policy owns. A thread
// waits for about 20 us without sleeping, because the next operation often
// arrives that soon, and then sleeps. At most one thread at a time waits awake,
// because the other threads need the processors if there are fewer processors
// than threads.
class Parking {
 public:
  // Says whether there is work. Set() is called with the lock held; any thread
  // may call any() without it.
  class Work {
   public:
    // Both accesses are relaxed: the value is only a hint for a thread that
    // waits awake, and the lock orders everything else.
    void Set(bool any) {
      if (this->any() != any) any_.store(any, std::memory_order_relaxed);
    }
    bool any() const { return any_.load(std::memory_order_relaxed); }

   private:
    std::atomic<bool> any_{false};
  };

  // Sets whether threads wait awake at all. Call it before the first Wait().
  void set_spin(bool spin) { spin_ = spin; }

  // Returns when there may be work, and sometimes when there is none. REQUIRES:
  // the caller holds the lock, and has held it since it found no work.
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

  // Returns whether the caller, which has added work, should call Notify().
  // REQUIRES: the lock is held. Notify() may be called after its release.
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
  // GUARDED_BY(the engine's lock): the three members below.
  bool spinning_ = false;
  int sleeping_ = 0;
  // Number of sleeping threads that were notified but are not awake yet.
  int notified_ = 0;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_PARKING_H_
