// Finds values and nodes that need not be computed for vertices without
// children.
#ifndef CAVS_CC_IR_PASSES_FIND_ZEROS_H_
#define CAVS_CC_IR_PASSES_FIND_ZEROS_H_

#include "cc/ir/zeros.h"

namespace cavs {

// Where a vertex function serves leaves and inner vertices alike, half of the
// rows gather nothing but zeros. Finds, for the tasks in which no row has a
// child:
//  - the symbols that are zero, because everything that is written to them is.
//    Products and sums over rows skip them. (If the other factor of a product
//    is infinite or NaN, skipping gives zero where computing would give NaN.)
//  - the nodes that serve only to pass gradients to children, which are then
//    not run.
// Runs on a classified program, after all passes that rewrite it.
Zeros FindZeros(const Program& program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_FIND_ZEROS_H_
