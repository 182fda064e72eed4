// Runs the parts of one kernel side by side.
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

  // How many parts can run at the same time; at least 1. Never changes, so a
  // kernel may derive its split from it and stay bitwise reproducible.
  virtual int count() const = 0;

  // Work will come soon: whoever needs time to begin may begin now.
  virtual void Prepare() {}

  // Calls part(0), ..., part(parts - 1), in any order and possibly at the same
  // time, and returns when all have returned. `part` must not throw.
  virtual void Run(int parts, const std::function<void(int)>& part) = 0;
};

// Everything on the calling thread.
class SerialWorkers : public Workers {
 public:
  int count() const override { return 1; }
  void Run(int parts, const std::function<void(int)>& part) override {
    for (int i = 0; i < parts; ++i) part(i);
  }
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_WORKERS_H_
