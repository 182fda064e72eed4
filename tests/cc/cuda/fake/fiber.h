// Fibers: stacks that one OS thread goes back and forth between.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_FIBER_H_
#define CAVS_TESTS_CC_CUDA_FAKE_FIBER_H_

#include <cstddef>
#include <memory>
#include <vector>

namespace cavs_fake {

struct Fiber {
  char* stack;  // kStackBytes.
  void* at;     // Where its stack pointer is while it does not run.
  void* sanitizer;
};

// Fibers that all run one function, which never returns. AddressSanitizer is
// told of each switch where the process has it.
class Fibers {
 public:
  static constexpr size_t kStackBytes = 64 << 10;
  using Body = void (*)(void* self);

  Fibers(Body body, void* self) : body_(body), self_(self) {}
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  // A fiber that waits in the beginning or between two pieces of work.
  Fiber* Take();
  void Give(Fiber* fiber) { idle_.push_back(fiber); }
  // Forgets what all fibers do. None of them runs.
  void Restart();

  // From the OS thread to the fiber, and back: Enter returns after Leave.
  void Enter(Fiber* fiber);
  void Leave();
  Fiber* current() { return current_; }
  // The first thing that the body calls.
  void Arrive();

  // Whether a fiber was so deep that it may have overwritten memory.
  bool Overflown(const Fiber& fiber) const;

 private:
  void Prepare(Fiber& fiber);

  const Body body_;
  void* const self_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
  std::vector<char*> slabs_;
  Fiber* current_ = nullptr;
  void* main_ = nullptr;  // The stack pointer of the OS thread.
  void* main_sanitizer_ = nullptr;
  const void* main_bottom_ = nullptr;
  size_t main_bytes_ = 0;
};

}  // namespace cavs_fake

#endif  // CAVS_TESTS_CC_CUDA_FAKE_FIBER_H_
