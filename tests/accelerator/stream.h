// Streams of the test device: threads that work off queues, and lag.

#ifndef CAVS_TESTS_ACCELERATOR_STREAM_H_
#define CAVS_TESTS_ACCELERATOR_STREAM_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

// TensorFlow's names of what a device defines.
struct SP_Stream_st {
 public:
  // `lag` is waited for before each item of work.
  explicit SP_Stream_st(std::chrono::microseconds lag) : lag_(lag) {}

  // Works off what is in the queue first.
  ~SP_Stream_st() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Runs `work` after all that was enqueued before; may be called from work.
  void Enqueue(std::function<void()> work) { Enqueue(lag_, std::move(work)); }

  // The same, without lag: for what only keeps order.
  void EnqueueMark(std::function<void()> work) {
    Enqueue(std::chrono::microseconds(0), std::move(work));
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  }

 private:
  struct Item {
    std::chrono::microseconds lag;
    std::function<void()> work;
  };

  void Enqueue(std::chrono::microseconds lag, std::function<void()> work) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back({lag, std::move(work)});
    }
    changed_.notify_all();
  }

  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Item item = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      if (item.lag.count() > 0) std::this_thread::sleep_for(item.lag);
      item.work();
      item.work = nullptr;  // What it holds may free memory.
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  const std::chrono::microseconds lag_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;  // Guarded by mutex_, as what follows.
  bool busy_ = false;
  bool stopped_ = false;
  std::thread thread_{[this] { Run(); }};  // Last: it uses all of the above.
};

struct SP_Event_st {
 public:
  // A place in a stream, which is passed once `Passed` says so.
  class Mark {
   public:
    bool Passed() const {
      std::lock_guard<std::mutex> lock(state_->mutex);
      return state_->passed >= number_;
    }
    void Wait() const {
      std::unique_lock<std::mutex> lock(state_->mutex);
      state_->changed.wait(lock, [this] { return state_->passed >= number_; });
    }

   private:
    friend struct SP_Event_st;
    struct State {
      std::mutex mutex;
      std::condition_variable changed;
      std::uint64_t passed = 0;  // Guarded by mutex.
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
    std::uint64_t number_ = 0;
  };

  void Record(SP_Stream_st* stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++last_.number_;
    stream->EnqueueMark([mark = last_] {
      std::lock_guard<std::mutex> lock(mark.state_->mutex);
      mark.state_->passed = mark.number_;
      mark.state_->changed.notify_all();
    });
  }

  // Where it was recorded last.
  Mark last() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return last_;
  }

 private:
  mutable std::mutex mutex_;
  Mark last_;  // Guarded by mutex_.
};

#endif  // CAVS_TESTS_ACCELERATOR_STREAM_H_
