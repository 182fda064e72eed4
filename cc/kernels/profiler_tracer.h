// TensorFlow's profiler as a tracer.
#ifndef CAVS_CC_KERNELS_PROFILER_TRACER_H_
#define CAVS_CC_KERNELS_PROFILER_TRACER_H_

#include <cstdint>
#include <string>

#include "cc/device/tracer.h"

namespace cavs {

// A ProfilerTracer records nodes in the trace of TensorFlow's profiler. They
// appear inside the op that runs them, each with its stage as an argument. On a
// GPU, a node's time is that of the host, which launches it.
class ProfilerTracer : public Tracer {
 public:
  // Returns whether a profiler is recording.
  static bool IsActive();
  // Returns whether CAVS_PROFILE is "outline", so that the trace should show
  // one event, "programs", instead of the nodes. Recording a small node takes
  // as long as running it, and this time counts as time of the op around it.
  static bool IsOutlineWanted();

  int64_t Begin(Stage stage, const std::string& name) override;
  void End(int64_t id) override;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_PROFILER_TRACER_H_
