// TensorFlow's profiler as a tracer.
#ifndef CAVS_CC_KERNELS_PROFILER_TRACER_H_
#define CAVS_CC_KERNELS_PROFILER_TRACER_H_

#include <cstdint>
#include <string>

#include "cc/device/tracer.h"

namespace cavs {

// Nodes that run in an op appear inside of the op in the profiler's trace, each
// with its stage as an argument.
class ProfilerTracer : public Tracer {
 public:
  // Whether a profiler is recording.
  static bool IsActive();

  int64_t Begin(Stage stage, const std::string& name) override;
  void End(int64_t id) override;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_PROFILER_TRACER_H_
