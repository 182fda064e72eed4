// Reads rows where they are.
#ifndef CAVS_CC_IR_PASSES_VIEW_ROWS_H_
#define CAVS_CC_IR_PASSES_VIEW_ROWS_H_

#include "cc/ir/program.h"

namespace cavs {

// What is gathered or pulled need not be copied: its rows stay where they are,
// in the state or in an input, and are read there by the row numbers of
// children or vertices. Sets Symbol::viewed on those roots of which all readers
// can do that: products, groups of elementwise operators, and copies. In a
// derivative also on what the tape holds, and on gradients of pushes.
//
// After FuseElementwise(), before PlanMemory().
void ViewRows(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_VIEW_ROWS_H_
