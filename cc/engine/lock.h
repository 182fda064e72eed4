// The engine's lock.
#ifndef CAVS_CC_ENGINE_LOCK_H_
#define CAVS_CC_ENGINE_LOCK_H_

#include <mutex>

namespace cavs::engine {

using Lock = std::unique_lock<std::mutex>;

// Tells the processor that this thread only waits.
inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Locks like lock.lock(). The engine holds its lock for about 0.1 us, and going
// to sleep and waking takes about 50 times that, so the lock is tried
// repeatedly before the thread sleeps.
inline void Acquire(Lock& lock) {
  for (int i = 0; i < 100; ++i) {
    if (lock.try_lock()) return;
    Pause();
  }
  lock.lock();
}

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_LOCK_H_
