// Detects that this process is a child made by fork().
#ifndef CAVS_CC_ENGINE_FORK_SENTINEL_H_
#define CAVS_CC_ENGINE_FORK_SENTINEL_H_

namespace cavs::engine {

// A page that the system clears in children: a query costs one read, and needs
// neither a list of engines nor a handler that runs at fork(). Where the system
// cannot do that (Linux before 4.14), process numbers are compared.
//
// Thread safety: any thread may ask.
class ForkSentinel {
 public:
  ForkSentinel();
  ~ForkSentinel();
  ForkSentinel(const ForkSentinel&) = delete;
  ForkSentinel& operator=(const ForkSentinel&) = delete;

  // Whether this is another process than the one that made the sentinel.
  bool InChild() const;

 private:
  volatile char* page_ = nullptr;
  long bytes_ = 0;
  int process_ = 0;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_FORK_SENTINEL_H_
