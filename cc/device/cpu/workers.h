// Threads that run the jobs of one kernel at the same time.
#ifndef CAVS_CC_DEVICE_CPU_WORKERS_H_
#define CAVS_CC_DEVICE_CPU_WORKERS_H_

#include <functional>

namespace cavs {

// Lent to a backend for the length of one call; the owner of the threads
// (TensorFlow's intra-op pool, a test, a benchmark) implements it.
//
// Thread safety: Run() may be called from several threads at once.
class Workers {
 public:
  virtual ~Workers() = default;

  // How many jobs can run at the same time; at least 1. Never changes, so a
  // kernel may derive its jobs from it and stay bitwise reproducible.
  virtual int count() const = 0;

  // A hint that work will follow soon: sleeping threads may be woken now.
  virtual void Prepare() {}

  // Calls job(0), ..., job(jobs - 1), in any order and possibly at the same
  // time, and returns when all have returned. `job` must not throw.
  virtual void Run(int jobs, const std::function<void(int)>& job) = 0;
};

// Runs everything on the calling thread.
class SerialWorkers : public Workers {
 public:
  int count() const override { return 1; }
  void Run(int jobs, const std::function<void(int)>& job) override {
    for (int i = 0; i < jobs; ++i) job(i);
  }
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_WORKERS_H_
