// Workers that spin for their next part while a computation runs.
#ifndef CAVS_CC_DEVICE_CPU_TEAM_H_
#define CAVS_CC_DEVICE_CPU_TEAM_H_

#include <functional>
#include <memory>

#include "cc/device/cpu/workers.h"

namespace cavs {

// Threads borrowed from a pool for the length of one computation, which runs
// thousands of kernels of a few microseconds each: waking a parked thread takes
// longer than most of them. A helper that finds nothing to do for a while lets
// other threads have its processor, and after a few milliseconds goes back to
// its pool; it is called again when there is work.
//
// The caller never waits for a helper that has not come: it computes what no
// one has taken. A worker takes the parts from its own share first, so that
// equal splits put equal parts on equal workers, whose caches still hold them.
//
// Thread safety: as Workers; while one Run() is in progress, another (from
// another thread, or from a part) computes all of its parts itself.
//
// Example:
//   Team team(2, [&](std::function<void()> fn) { pool->Schedule(fn); });
//   const CpuBackend backend(&team);
class Team : public Workers {
 public:
  using Schedule = std::function<void(std::function<void()>)>;

  // `schedule` runs a function on another thread, soon or late or, if no thread
  // is free before the team ends, not before.
  Team(int count, Schedule schedule);
  ~Team() override;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int count() const override { return count_; }
  void Prepare() override { CallHelpers(count_ - 1); }
  void Run(int parts, const std::function<void(int)>& part) override;

 private:
  struct Shared;

  void CallHelpers(int wanted);

  const int count_;
  const Schedule schedule_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_TEAM_H_
