// The callback by which an asynchronous operation reports that it has finished.
#ifndef CAVS_CC_ENGINE_COMPLETION_H_
#define CAVS_CC_ENGINE_COMPLETION_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace cavs::engine {

class Core;
struct Op;

// The engine passes a Completion to the function of an asynchronous operation,
// which owns it from then on. The operation is finished when its function has
// returned and the completion was called, in either order. Any thread may call
// it, for example the callback of a CUDA event or a thread that does I/O. If
// the function throws, the operation has failed and is finished at once, so a
// function may throw only if it has started nothing.
//
// Call it once. If it is destroyed without a call the operation has failed, so
// that a forgotten completion is an error and not a deadlock. A Completion may
// outlive the operation and the engine; a call does nothing then. It can be
// moved but not copied, and it is not thread safe.
class Completion {
 public:
  Completion(Completion&&) noexcept = default;
  Completion& operator=(Completion&&) = delete;
  ~Completion();

  // Reports success. Throws EngineError if the completion was used before.
  void operator()();
  // Reports failure, as if the function had thrown `cause`.
  void Fail(std::exception_ptr cause);

 private:
  friend class Core;
  Completion(std::shared_ptr<Core> core, Op* op, uint64_t sequence)
      : core_(std::move(core)), op_(op), sequence_(sequence) {}

  std::shared_ptr<Core> core_;  // Null once the completion was used.
  Op* op_;
  uint64_t sequence_;  // Identifies the operation: *op_ may have been recycled.
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_COMPLETION_H_
