// Decides when each node of a program runs.
#ifndef CAVS_CC_IR_PASSES_CLASSIFY_H_
#define CAVS_CC_IR_PASSES_CLASSIFY_H_

#include "cc/base/status.h"
#include "cc/ir/program.h"

namespace cavs {

// Switches, for ablation. They change when operators run, never the results
// beyond summation order.
struct ClassifyOptions {
  bool eager = true;  // Else eager operators run task by task.
  bool lazy = true;   // Else lazy operators run task by task.
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
// A node that touches an opaque symbol runs task by task, and so do the eager
// nodes after it and the lazy nodes before it. A node may join rows with a sum
// over rows only if it is not a vertex function at all: kInvalidArgument.
Status Classify(const ClassifyOptions& options, Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_CLASSIFY_H_
