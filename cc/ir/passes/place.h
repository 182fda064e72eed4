// Lists where the values of a program may live.
#ifndef CAVS_CC_IR_PASSES_PLACE_H_
#define CAVS_CC_IR_PASSES_PLACE_H_

#include "cc/ir/capabilities.h"
#include "cc/ir/placement.h"
#include "cc/ir/program.h"
#include "cc/ir/zeros.h"

namespace cavs {

// The candidates of a classified program that no pass changes any more:
//
//  - Rows that only nodes of one stage touch are kept for a task (critical) or
//    for a block (eager, lazy); those that several stages touch for a chunk.
//  - What is gathered or pulled need not be copied: its rows stay in the state,
//    or in the input, and are read there by the row numbers of children or
//    vertices, if all readers can do that: products, groups of elementwise
//    operators and copies. In a derivative also what the tape holds, and
//    gradients of pushes. Without `views`, nothing is read so.
//  - Where a vertex's children are adjacent rows, their states side by side are
//    one wide row: a concatenation of gathers is that row, and in a derivative
//    what is split and goes to gather's gradients may be computed there.
Placement Place(const Program& program, const Zeros& zeros,
                const Capabilities& capabilities, bool views);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_PLACE_H_
