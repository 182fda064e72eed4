// Splitting a kernel's work among workers, by sizes and worker count alone.
#ifndef CAVS_CC_DEVICE_CPU_PARALLEL_H_
#define CAVS_CC_DEVICE_CPU_PARALLEL_H_

#include <algorithm>
#include <cstdint>
#include <functional>

#include "cc/device/cpu/kernel_table.h"
#include "cc/device/cpu/workers.h"

namespace cavs {

// Less work than this is not worth waking another worker for.
constexpr double kNanosPerPart = 3000;

// In how many parts to run work that takes one worker about `nanos`.
inline int PartsFor(const Workers& workers, double nanos) {
  const double parts = std::min(nanos / kNanosPerPart, 1024.0);
  return std::max(1, std::min(workers.count(), static_cast<int>(parts)));
}

// Part `i` of `parts` of [0, n); all but the last are multiples of `grain`
// long.
inline Range PartOf(int64_t n, int64_t grain, int i, int parts) {
  const int64_t grains = (n + grain - 1) / grain;
  return {std::min(n, grains * i / parts * grain),
          std::min(n, grains * (i + 1) / parts * grain)};
}

// Calls fn(Range) for pieces that cover [0, n).
template <typename Fn>
void ParallelFor(Workers* workers, int64_t n, int64_t grain,
                 double nanos_per_item, const Fn& fn) {
  const int parts = PartsFor(*workers, n * nanos_per_item);
  if (parts == 1) {
    if (n > 0) fn(Range{0, n});
    return;
  }
  const auto run = [&](int i) {
    const Range range = PartOf(n, grain, i, parts);
    if (range.begin < range.end) fn(range);
  };
  workers->Run(parts, std::ref(run));  // Allocates nothing.
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_PARALLEL_H_
