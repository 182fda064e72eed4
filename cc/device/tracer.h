// The interface for profilers.
#ifndef CAVS_CC_DEVICE_TRACER_H_
#define CAVS_CC_DEVICE_TRACER_H_

#include <cstdint>
#include <string>

#include "cc/ir/program.h"

namespace cavs {

// Thread safety: any thread may call any method at any time. Scopes nest: a
// scope ends on the thread where it began, before the scopes around it.
class Tracer {
 public:
  virtual ~Tracer() = default;

  // Begins a scope of `stage`; the result is the argument for End().
  virtual int64_t Begin(Stage stage, const std::string& name) = 0;
  virtual void End(int64_t id) = 0;
};

// Reports the lifetime of this object to a tracer. Costs a branch if the tracer
// is null.
//
// Example:
//   const TraceScope scope(tracer, Stage::kEager, [] { return "pack"; });
class TraceScope {
 public:
  // `name()` is called only if there is a tracer.
  template <typename Name>
  TraceScope(Tracer* tracer, Stage stage, const Name& name) : tracer_(tracer) {
    if (tracer_ != nullptr) id_ = tracer_->Begin(stage, name());
  }
  ~TraceScope() {
    if (tracer_ != nullptr) tracer_->End(id_);
  }
  TraceScope(const TraceScope&) = delete;

 private:
  Tracer* const tracer_;
  int64_t id_ = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_TRACER_H_
