// A device that does all work later, on threads of its own.
#ifndef CAVS_TESTS_CC_EXEC_LATE_DEVICE_H_
#define CAVS_TESTS_CC_EXEC_LATE_DEVICE_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cc/device/reference/reference_device.h"
#include "tests/cc/exec/wrapping_device.h"

namespace cavs {

enum class Haste {
  // Does work only when someone synchronizes with the stream, or when a stream
  // that is running waits for one of its events, and only up to that point.
  // Whoever fails to wait finds nothing done, however threads are scheduled.
  kAsLateAsItMay,
  // Does work as soon as it can, so that a wait for another stream that is
  // missing in its work finds nothing done there.
  kAtOnce,
};

class LateStream : public WrappingStream {
 public:
  // Each Synchronize() adds to `num_synchronized`, which may be null.
  LateStream(Haste haste, std::atomic<int>* num_synchronized)
      : at_once_(haste == Haste::kAtOnce),
        num_synchronized_(num_synchronized),
        thread_([this] { Work(); }) {}
  ~LateStream() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  LateStream(const LateStream&) = delete;

  Status Call(std::function<Status()> work) override {
    return Do([work = std::move(work)](Stream*) { return work(); });
  }
  Status Do(WrappingStream::Work work) override {
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
    if (at_once_) wanted_ = queue_.size();
    changed_.notify_all();
    return Status();
  }

  std::shared_ptr<Event> Record() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::make_shared<LateEvent>(this, queue_.size());
  }
  Status Wait(std::shared_ptr<Event> event) override {
    const auto late = std::static_pointer_cast<LateEvent>(event);
    // The stream's own work is in order.
    if (late->stream == this) return Status();
    return Do([late](Stream*) { return late->stream->Reach(late->position); });
  }
  Status Synchronize() override {
    size_t all;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      all = queue_.size();
    }
    if (num_synchronized_ != nullptr) ++*num_synchronized_;
    Status status = Reach(all);
    std::lock_guard<std::mutex> lock(mutex_);
    status_ = Status();
    return status;
  }

 private:
  struct LateEvent : Event {
    LateEvent(LateStream* stream, size_t position)
        : stream(stream), position(position) {}
    LateStream* const stream;
    const size_t position;
  };

  // Returns when the work up to `position` is done, with the first error:
  // waiting for a stream that has failed fails too.
  Status Reach(size_t position) {
    std::unique_lock<std::mutex> lock(mutex_);
    wanted_ = std::max(wanted_, position);
    changed_.notify_all();
    changed_.wait(lock, [&] { return num_done_ >= position; });
    return status_;
  }

  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || num_done_ < wanted_; });
      if (num_done_ >= wanted_) return;
      if (status_.ok()) {
        const WrappingStream::Work work = std::move(queue_[num_done_]);
        lock.unlock();
        Status status = work(&inner_);
        lock.lock();
        status_ = std::move(status);
      }
      ++num_done_;
      changed_.notify_all();
    }
  }

  const bool at_once_;
  std::atomic<int>* const num_synchronized_;
  ReferenceStream inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All are GUARDED_BY(mutex_).
  std::vector<WrappingStream::Work> queue_;  // Everything that was enqueued.
  size_t num_done_ = 0, wanted_ = 0;
  bool ends_ = false;
  Status status_;
  std::thread thread_;  // The last member: it uses all others.
};

// Runs programs in LateStreams.
class LateDevice : public WrappingDevice {
 public:
  using WrappingDevice::WrappingDevice;

 protected:
  std::unique_ptr<BoundProgram> Bind(const Program&, const Executable& inner,
                                     Bindings* bindings) const override {
    return std::make_unique<ProgramInWrappingStream>(inner.Bind(bindings));
  }
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_LATE_DEVICE_H_
