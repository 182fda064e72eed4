// Where workers wait for work.
#ifndef CAVS_CC_ENGINE_PARKING_H_
#define CAVS_CC_ENGINE_PARKING_H_

#include <atomic>
#include <condition_variable>

#include "cc/engine/lock.h"

namespace cavs::engine {

// Waits for about 20 us without sleeping, as the next operation is often that
// near, then sleeps. At most one thread at a time is awake here: when there are
// fewer processors than threads, the others have better things to do.
class Parking {
 public:
  // Is there something to do? Written with the lock held, read without.
  class Work {
   public:
    // Relaxed, both: a hint for spinning; the lock orders everything else.
    void Set(bool any) {
      if (this->any() != any) any_.store(any, std::memory_order_relaxed);
    }
    bool any() const { return any_.load(std::memory_order_relaxed); }

   private:
    std::atomic<bool> any_{false};
  };

  // Before the first Wait(): whether to wait awake at all.
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

  // Should the caller, which has added work, call Notify() once it has released
  // the lock? REQUIRES: the lock is held.
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
  // GUARDED_BY(the engine's lock), all three:
  bool spinning_ = false;
  int sleeping_ = 0;
  int notified_ = 0;  // Of the sleeping: told to wake, not awake yet.
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_PARKING_H_
