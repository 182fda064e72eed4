// What leaves need not compute.
#ifndef CAVS_CC_IR_PASSES_FIND_ZEROS_H_
#define CAVS_CC_IR_PASSES_FIND_ZEROS_H_

#include "cc/ir/zeros.h"

namespace cavs {

// Where a vertex function serves leaves and inner vertices alike, half of the
// rows gather nothing but zeros. Finds, for the tasks in which no row has a
// child:
//  - the symbols that are zero then, because all that is written to them is.
//    Products and sums over rows skip them. (Not in a step whose other factors
//    are infinite or NaN.)
//  - the nodes that serve only to pass gradients to children, which are then
//    not run.
// For a classified program as it will run: after all passes that rewrite it.
Zeros FindZeros(const Program& program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_FIND_ZEROS_H_
