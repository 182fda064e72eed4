// Finds what can be read and written in the state of adjacent children.
#ifndef CAVS_CC_IR_PASSES_JOIN_CHILDREN_H_
#define CAVS_CC_IR_PASSES_JOIN_CHILDREN_H_

#include "cc/ir/zeros.h"

namespace cavs {

// Where a vertex's children stand in adjacent rows, their states side by side
// are one wide row, which no one has to copy: a concatenation of gathers is
// that row, and in a derivative what is split and goes to gather's gradients
// may be computed there. Sets Symbol::joined on such roots. Whether children do
// stand so is known when a schedule is.
//
// After FuseElementwise(), before PlanMemory().
void JoinChildren(const Zeros& zeros, Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_JOIN_CHILDREN_H_
