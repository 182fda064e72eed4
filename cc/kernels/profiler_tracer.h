// TensorFlow's profiler as a tracer.
#ifndef CAVS_CC_KERNELS_PROFILER_TRACER_H_
#define CAVS_CC_KERNELS_PROFILER_TRACER_H_

#include <cstdint>
#include <string>

#include "cc/device/tracer.h"

namespace cavs {

// What runs in an op appears inside of it in the profiler's trace, each event
// with its stage among its arguments.
class ProfilerTracer : public Tracer {
 public:
  // Is a profiler on that wants to know?
  static bool IsActive();

  int64_t Begin(Stage stage, const std::string& name) override;
  void End(int64_t id) override;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_PROFILER_TRACER_H_
