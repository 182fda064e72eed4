#include "cc/device/cpu/team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cavs {
namespace {

// About 50 us.
constexpr int kSpinsBeforeYield = 1000;
// Waking a thread that sleeps takes long. A time, not a number of yields: a
// yield takes as long as other threads use the processor.
constexpr std::chrono::milliseconds kMostIdle(2);
constexpr int kMaxBundles = 32;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

// The state of one Run() at a time: `jobs` jobs in at most 32 bundles.
struct Team::Shared {
  // High half: the number of the run. Low half: one bit per bundle that is not
  // yet taken. A bundle can be taken only while the run is the one that was
  // seen, so a late helper cannot take a bundle of a run that is over.
  alignas(64) std::atomic<uint64_t> open{0};
  alignas(64) std::atomic<int> unfinished{0};
  std::atomic<bool> busy{false};
  std::atomic<bool> over{false};
  std::atomic<int> helpers{0};
  int workers = 1;
  // Belongs to the run, and is written before the run's bundles are opened.
  const std::function<void(int)>* job = nullptr;
  int jobs = 0, bundles = 0;

  // Takes a bundle and runs its jobs: the first bundle from the worker's own
  // range on, or else any. Returns false if there is none.
  bool Work(int worker) {
    // Acquire, here and below: pairs with the release in Team::Run(), so that
    // the fields of the run are visible.
    uint64_t seen = open.load(std::memory_order_acquire);
    for (;;) {
      const uint32_t left = static_cast<uint32_t>(seen);
      if (left == 0) return false;
      const int start = worker * kMaxBundles / workers;
      const uint32_t own = left >> start << start;
      const int bit = __builtin_ctz(own != 0 ? own : left);
      if (open.compare_exchange_weak(seen, seen & ~(uint64_t{1} << bit),
                                     std::memory_order_acquire,
                                     std::memory_order_acquire)) {
        Compute(bit);
        return true;
      }
    }
  }

  // Bundles are spread over the 32 bits, so that workers find their ranges by
  // position.
  void Compute(int bit) {
    const int bundle = bit * bundles / kMaxBundles;
    const int64_t begin = int64_t{jobs} * bundle / bundles;
    const int64_t end = int64_t{jobs} * (bundle + 1) / bundles;
    for (int64_t i = begin; i < end; ++i) (*job)(static_cast<int>(i));
    // Release: the caller of Team::Run() sees what the jobs have written.
    unfinished.fetch_sub(1, std::memory_order_release);
  }

  void Help(int worker) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point yields_since;
    // Relaxed: a helper that sees it late only spins for longer.
    for (int idle = 0; !over.load(std::memory_order_relaxed); ++idle) {
      if (Work(worker)) {
        idle = 0;
      } else if (idle < kSpinsBeforeYield) {
        Pause();
      } else {
        const Clock::time_point now = Clock::now();
        if (idle == kSpinsBeforeYield) yields_since = now;
        if (now - yields_since > kMostIdle) break;
        std::this_thread::yield();
      }
    }
    // Relaxed, everywhere: a count that orders nothing else.
    helpers.fetch_sub(1, std::memory_order_relaxed);
  }

  // The lowest bit of each bundle c: the first b with b * bundles / 32 == c.
  uint32_t AllBundles() const {
    uint32_t bits = 0;
    for (int c = 0; c < bundles; ++c) {
      bits |= uint32_t{1} << ((c * kMaxBundles + bundles - 1) / bundles);
    }
    return bits;
  }
};

Team::Team(int count, Schedule schedule)
    : count_(std::max(1, count)),
      schedule_(std::move(schedule)),
      shared_(std::make_shared<Shared>()) {
  shared_->workers = count_;
}

Team::~Team() { shared_->over = true; }

void Team::CallHelpers(int wanted) {
  Shared& shared = *shared_;
  for (int here = shared.helpers.load(std::memory_order_relaxed); here < wanted;
       ++here) {
    const int worker = shared.helpers.fetch_add(1, std::memory_order_relaxed);
    schedule_([shared = shared_, worker] { shared->Help(worker + 1); });
  }
}

void Team::Run(int jobs, const std::function<void(int)>& job) {
  Shared& shared = *shared_;
  if (jobs <= 1 || count_ == 1 || shared.busy.exchange(true)) {
    for (int i = 0; i < jobs; ++i) job(i);
    return;
  }
  CallHelpers(std::min(jobs, count_) - 1);
  shared.job = &job;
  shared.jobs = jobs;
  shared.bundles = std::min(jobs, kMaxBundles);
  // Relaxed, twice: no helper works before the release, which publishes the
  // run.
  shared.unfinished.store(shared.bundles, std::memory_order_relaxed);
  const uint64_t number =
      (shared.open.load(std::memory_order_relaxed) >> 32) + 1;
  shared.open.store(number << 32 | shared.AllBundles(),
                    std::memory_order_release);
  while (shared.Work(0)) {
  }
  // Acquire: pairs with the release of each bundle.
  for (int spins = 0; shared.unfinished.load(std::memory_order_acquire) > 0;
       ++spins) {
    if (spins < kSpinsBeforeYield) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
  // Release: the next run begins after this one.
  shared.busy.store(false, std::memory_order_release);
}

}  // namespace cavs
