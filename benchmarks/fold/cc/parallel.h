// A loop whose iterations are divided among threads.

#ifndef CAVS_BENCHMARKS_PEERS_FOLD_PARALLEL_H_
#define CAVS_BENCHMARKS_PEERS_FOLD_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace fold {

// Calls body(i) for all i in [0, count). Throws an exception of one of them
// when all have ended.
template <typename Body>
void ParallelFor(size_t count, int threads, const Body& body) {
  if (threads <= 1 || count <= 1) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  const size_t workers = std::min<size_t>(threads, count);
  const size_t chunk = std::max<size_t>(1, count / (4 * workers));
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> errors(workers);
  auto work = [&](size_t worker) {
    try {
      for (size_t i = next.fetch_add(chunk); i < count;
           i = next.fetch_add(chunk)) {
        for (size_t k = i; k < std::min(count, i + chunk); ++k) body(k);
      }
    } catch (...) {
      errors[worker] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (size_t worker = 1; worker < workers; ++worker)
    others.emplace_back(work, worker);
  work(0);
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace fold

#endif  // CAVS_BENCHMARKS_PEERS_FOLD_PARALLEL_H_
