// Decides when each node of a program runs.
#ifndef CAVS_CC_IR_PASSES_CLASSIFY_H_
#define CAVS_CC_IR_PASSES_CLASSIFY_H_

#include "cc/base/status.h"
#include "cc/ir/program.h"

namespace cavs {

// Switches for ablation. They change when operators run. Results change only by
// the order in which sums are added up.
struct ClassifyOptions {
  bool eager = true;  // If false, eager operators run task by task.
  bool lazy = true;   // If false, lazy operators run task by task.
};

// Sets `stage` of every node (arXiv:1712.04048, Proposition 2):
//
// - prologue: no operand depends on a row;
// - eager: depends on no gathered state (in a derivative: on no state gradient
//   that came in through scatter);
// - lazy: no scattered state (in a derivative: no state gradient that leaves
//   through gather) depends on it;
// - critical: on a path from one to the other;
// - epilogue: depends on a finished sum over rows.
//
// A node that reads or writes an opaque symbol runs task by task, and so do the
// eager nodes after it and the lazy nodes before it. A node that reads rows
// together with a sum over rows cannot be part of a vertex function:
// kInvalidArgument.
Status Classify(const ClassifyOptions& options, Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_CLASSIFY_H_
