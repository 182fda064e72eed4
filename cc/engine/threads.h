// The threads of a policy.
#ifndef CAVS_CC_ENGINE_THREADS_H_
#define CAVS_CC_ENGINE_THREADS_H_

#include <thread>
#include <vector>

namespace cavs::engine {

class Threads {
 public:
  template <typename F>
  void Start(F run) {
    threads_.emplace_back(std::move(run));
  }

  // Ends the use of all threads. If `wait` is set, joins them, except the
  // calling thread, which cannot wait for its own end.
  void End(bool wait) {
    for (std::thread& thread : threads_) {
      if (!wait || thread.get_id() == std::this_thread::get_id()) {
        thread.detach();
      } else if (thread.joinable()) {
        thread.join();
      }
    }
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_THREADS_H_
