// Workers that spin for their next job while a computation runs.
#ifndef CAVS_CC_DEVICE_CPU_TEAM_H_
#define CAVS_CC_DEVICE_CPU_TEAM_H_

#include <functional>
#include <memory>

#include "cc/device/cpu/workers.h"

namespace cavs {

// Threads borrowed from a pool by computations that run thousands of kernels of
// a few microseconds each: waking a parked thread takes longer than most of
// them. A helper that finds no job for a while yields its processor to other
// threads, and after two milliseconds returns to its pool; it is called again
// when there is work.
//
// The caller never waits for a helper that has not arrived: it runs all jobs
// that no helper has taken. Every worker begins with its own range of jobs, so
// that kernels with the same jobs run them on the same workers, whose caches
// still hold the operands.
//
// Thread safety: as Workers. While one Run() is in progress, another (from
// another thread, or from a job) runs all of its jobs itself.
//
// Example:
//   Team team(2, [&](std::function<void()> fn) { pool->Schedule(fn); });
//   const CpuBackend backend(&team);
class Team : public Workers {
 public:
  using Schedule = std::function<void(std::function<void()>)>;

  // `schedule` runs a function on another thread, at any later time; or, if no
  // thread is free before the team is destroyed, after that.
  Team(int count, Schedule schedule);
  ~Team() override;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int count() const override { return count_; }
  void Prepare() override { CallHelpers(count_ - 1); }
  void Run(int jobs, const std::function<void(int)>& job) override;

 private:
  struct Shared;

  void CallHelpers(int wanted);

  const int count_;
  const Schedule schedule_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_TEAM_H_
