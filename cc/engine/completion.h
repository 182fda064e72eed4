// How an asynchronous operation says that it is done.
#ifndef CAVS_CC_ENGINE_COMPLETION_H_
#define CAVS_CC_ENGINE_COMPLETION_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace cavs::engine {

class Core;
struct Op;

// Given to the function of an asynchronous operation. The operation is finished
// when its function has returned and this was called, in either order and from
// any thread: a callback of a CUDA event, a thread that does I/O. If the
// function throws, the operation has failed and is finished at once; throw only
// if nothing was started.
//
// Call it once. If it is destroyed uncalled the operation has failed, so that a
// forgotten one is an error and no hang. It may outlive the operation and the
// engine: then calling it does nothing. Moves only; not thread safe.
class Completion {
 public:
  Completion(Completion&&) noexcept = default;
  Completion& operator=(Completion&&) = delete;
  ~Completion();

  // Done. Throws EngineError if it was called before.
  void operator()();
  // Failed, as if the function had thrown `cause`.
  void Fail(std::exception_ptr cause);

 private:
  friend class Core;
  Completion(std::shared_ptr<Core> core, Op* op, uint64_t sequence)
      : core_(std::move(core)), op_(op), sequence_(sequence) {}

  std::shared_ptr<Core> core_;  // Null once it was called.
  Op* op_;
  uint64_t sequence_;  // Of the operation: *op_ may be another by now.
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_COMPLETION_H_
