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
  // Whether it should show one event, "programs", instead of the nodes:
  // CAVS_PROFILE is "outline". Recording a small node takes as long as running
  // it, and counts as time of the op around it.
  static bool IsOutlineWanted();

  int64_t Begin(Stage stage, const std::string& name) override;
  void End(int64_t id) override;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_PROFILER_TRACER_H_
