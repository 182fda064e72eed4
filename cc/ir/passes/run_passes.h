// From a program as it was traced to one that is ready to run.
#ifndef CAVS_CC_IR_PASSES_RUN_PASSES_H_
#define CAVS_CC_IR_PASSES_RUN_PASSES_H_

#include "cc/base/status.h"
#include "cc/ir/capabilities.h"
#include "cc/ir/compiled_program.h"
#include "cc/ir/passes/classify.h"

namespace cavs {

// Switches, for ablation. They change speed, never the results beyond summation
// order.
struct PassOptions : ClassifyOptions {
  bool merge = true;       // See merge_matmuls.h.
  bool fuse = true;        // See fuse_elementwise.h.
  bool skip_zeros = true;  // See find_zeros.h.
  bool views = true;       // See place.h.
  // Is every pass checked by VerifyProgram()? In debug builds and in tests.
#if defined(NDEBUG)
  bool verify = false;
#else
  bool verify = true;
#endif
};

// All passes, in order; labels the nodes, and says where their values may live
// on a device that can do so much. Fails as Classify() does; kInternal, with
// the program as text, if a pass leaves one that cannot be run.
Status RunPasses(const PassOptions& options, const Capabilities& capabilities,
                 CompiledProgram* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_RUN_PASSES_H_
