// Lists where the values of a program may live.
#ifndef CAVS_CC_IR_PASSES_PLACE_H_
#define CAVS_CC_IR_PASSES_PLACE_H_

#include "cc/ir/capabilities.h"
#include "cc/ir/placement.h"
#include "cc/ir/program.h"
#include "cc/ir/zeros.h"

namespace cavs {

// The candidates of a classified program that no later pass changes:
//
//  - Rows that only nodes of one stage read and write are kept for a task
//    (critical) or for a block (eager, lazy); rows of several stages
//    for a chunk.
//  - Rows that are gathered or pulled need not be copied. They stay in the
//    state, or in the input, and are read there by the row numbers of children
//    or vertices, if all readers can do that: products, groups of elementwise
//    operators and copies. In a derivative this holds for rows on the tape and
//    gradients of pushes as well. If `views` is false, no
//    rows are read so.
//  - Where a vertex's children are adjacent rows, their states side by side are
//    one wide row. A concatenation of gathers is that row, and in a derivative
//    a symbol that is split among gather's gradients may be computed there.
Placement Place(const Program& program, const Zeros& zeros,
                const Capabilities& capabilities, bool views);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_PLACE_H_
