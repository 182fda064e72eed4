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
// A thread that sleeps takes long to come again. Not counted in yields: each
// takes as long as others have use for the processor.
constexpr std::chrono::milliseconds kMostIdle(4);
constexpr int kMaxChunks = 32;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

// One job at a time: `parts` parts in at most 32 chunks.
struct Team::Shared {
  // High half: the number of the job. Low half: a bit per chunk not yet taken.
  // Taking a chunk changes the word only if the job is still the one that was
  // seen, so a late helper cannot take a chunk of a job that is over.
  alignas(64) std::atomic<uint64_t> open{0};
  alignas(64) std::atomic<int> unfinished{0};
  std::atomic<bool> busy{false};
  std::atomic<bool> over{false};
  std::atomic<int> helpers{0};
  int workers = 1;
  // Of the job; written before its chunks are open.
  const std::function<void(int)>* part = nullptr;
  int parts = 0, chunks = 0;

  // Takes and computes one chunk, the first from the worker's own share on.
  bool Work(int worker) {
    uint64_t seen = open.load(std::memory_order_acquire);
    for (;;) {
      const uint32_t left = static_cast<uint32_t>(seen);
      if (left == 0) return false;
      const int start = worker * kMaxChunks / workers;
      const uint32_t own = left >> start << start;
      const int chunk = __builtin_ctz(own != 0 ? own : left);
      if (open.compare_exchange_weak(seen, seen & ~(uint64_t{1} << chunk),
                                     std::memory_order_acquire,
                                     std::memory_order_acquire)) {
        Compute(chunk);
        return true;
      }
    }
  }

  // Chunks are spread over the 32 bits, so that shares are found by position.
  void Compute(int bit) {
    const int chunk = bit * chunks / kMaxChunks;
    const int64_t begin = int64_t{parts} * chunk / chunks;
    const int64_t end = int64_t{parts} * (chunk + 1) / chunks;
    for (int64_t i = begin; i < end; ++i) (*part)(static_cast<int>(i));
    unfinished.fetch_sub(1, std::memory_order_release);
  }

  void Help(int worker) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point yields_since;
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
    helpers.fetch_sub(1, std::memory_order_relaxed);
  }

  // The lowest bit of chunk c: the first b with b * chunks / 32 == c.
  uint32_t AllChunks() const {
    uint32_t bits = 0;
    for (int c = 0; c < chunks; ++c) {
      bits |= uint32_t{1} << ((c * kMaxChunks + chunks - 1) / chunks);
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

void Team::Run(int parts, const std::function<void(int)>& part) {
  Shared& shared = *shared_;
  if (parts <= 1 || count_ == 1 || shared.busy.exchange(true)) {
    for (int i = 0; i < parts; ++i) part(i);
    return;
  }
  CallHelpers(std::min(parts, count_) - 1);
  shared.part = &part;
  shared.parts = parts;
  shared.chunks = std::min(parts, kMaxChunks);
  shared.unfinished.store(shared.chunks, std::memory_order_relaxed);
  const uint64_t job = (shared.open.load(std::memory_order_relaxed) >> 32) + 1;
  shared.open.store(job << 32 | shared.AllChunks(), std::memory_order_release);
  while (shared.Work(0)) {
  }
  for (int spins = 0; shared.unfinished.load(std::memory_order_acquire) > 0;
       ++spins) {
    if (spins < kSpinsBeforeYield) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
  shared.busy.store(false, std::memory_order_release);
}

}  // namespace cavs
