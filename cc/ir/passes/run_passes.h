// Runs all passes on a traced program.
#ifndef CAVS_CC_IR_PASSES_RUN_PASSES_H_
#define CAVS_CC_IR_PASSES_RUN_PASSES_H_

#include "cc/base/status.h"
#include "cc/ir/capabilities.h"
#include "cc/ir/compiled_program.h"
#include "cc/ir/passes/classify.h"
#include "cc/ir/program.h"

namespace cavs {

// Switches for ablation. They change speed. Results change only by the order in
// which sums are added up.
struct PassOptions : ClassifyOptions {
  bool split = true;       // See split_products.h and spread_products.h.
  bool share = true;       // See merge_duplicates.h, and FactorSums().
  bool merge = true;       // See merge_sums.h and merge_matmuls.h.
  bool fuse = true;        // See fuse_elementwise.h.
  bool skip_zeros = true;  // See find_zeros.h.
  bool specialize = true;  // See specialize.h.
  bool views = true;       // See place.h.
  // Whether VerifyProgram() checks the program after every pass, as it does in
  // debug builds and tests, and not only after the last.
#if defined(NDEBUG)
  bool verify = false;
#else
  bool verify = true;
#endif
};

// Runs all passes in order: those that rewrite what is computed, and those that
// decide how. Fails as Classify() does; kInternal, with the program as text, if
// a pass leaves a program that cannot be run.
Status RunPasses(const PassOptions& options, const Capabilities& capabilities,
                 CompiledProgram* program);

// The first half.
Status Simplify(const PassOptions& options, Program* program);

// The first half for a function together with its derivative, which reads
// results of the function.
Status SimplifyTogether(const PassOptions& options, Program* function,
                        Program* derivative);

// The second half: joins operators, labels the nodes, and lists where their
// values may live on a device with these capabilities.
Status Arrange(const PassOptions& options, const Capabilities& capabilities,
               CompiledProgram* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_RUN_PASSES_H_
