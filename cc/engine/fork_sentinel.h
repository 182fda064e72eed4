// Detects that this process is a child made by fork().
#ifndef CAVS_CC_ENGINE_FORK_SENTINEL_H_
#define CAVS_CC_ENGINE_FORK_SENTINEL_H_

namespace cavs::engine {

// A ForkSentinel owns a page of memory that the system clears in child
// processes. A query costs one read, and needs neither a list of engines nor a
// handler that runs at fork(). If the system cannot clear the page (Linux
// before 4.14), process numbers are compared.
//
// Thread safety: any thread may call InChild() at any time.
class ForkSentinel {
 public:
  ForkSentinel();
  ~ForkSentinel();
  ForkSentinel(const ForkSentinel&) = delete;
  ForkSentinel& operator=(const ForkSentinel&) = delete;

  // Returns whether this process is not the one that made the sentinel.
  bool InChild() const;

 private:
  volatile char* page_ = nullptr;
  long bytes_ = 0;
  int process_ = 0;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_FORK_SENTINEL_H_
