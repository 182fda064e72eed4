// Divides a kernel's work into jobs, by sizes and worker count alone.
#ifndef CAVS_CC_DEVICE_CPU_PARALLEL_H_
#define CAVS_CC_DEVICE_CPU_PARALLEL_H_

#include <algorithm>
#include <cstdint>
#include <functional>

#include "cc/base/ceil_div.h"
#include "cc/device/cpu/kernel_table.h"
#include "cc/device/cpu/workers.h"

namespace cavs {

// Less work than this is not worth waking another worker for.
constexpr double kNanosPerJob = 3000;

// The number of jobs for work that takes one worker about `nanos`.
inline int NumJobs(const Workers& workers, double nanos) {
  const double jobs = std::min(nanos / kNanosPerJob, 1024.0);
  return std::max(1, std::min(workers.count(), static_cast<int>(jobs)));
}

// The range of job `i` of `jobs` in [0, n). The lengths of all but the last are
// multiples of `grain`.
inline Range RangeOfJob(int64_t n, int64_t grain, int i, int jobs) {
  const int64_t grains = CeilDiv(n, grain);
  return {std::min(n, grains * i / jobs * grain),
          std::min(n, grains * (i + 1) / jobs * grain)};
}

// Calls fn(Range) for disjoint ranges that cover [0, n).
template <typename Fn>
void ParallelFor(Workers* workers, int64_t n, int64_t grain,
                 double nanos_per_item, const Fn& fn) {
  const int jobs = NumJobs(*workers, n * nanos_per_item);
  if (jobs == 1) {
    if (n > 0) fn(Range{0, n});
    return;
  }
  const auto run = [&](int i) {
    const Range range = RangeOfJob(n, grain, i, jobs);
    if (range.begin < range.end) fn(range);
  };
  workers->Run(jobs, std::ref(run));  // Without an allocation.
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_PARALLEL_H_
