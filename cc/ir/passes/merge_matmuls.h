// Merges products into fewer and larger ones.
#ifndef CAVS_CC_IR_PASSES_MERGE_MATMULS_H_
#define CAVS_CC_IR_PASSES_MERGE_MATMULS_H_

#include "cc/ir/capabilities.h"
#include "cc/ir/program.h"

namespace cavs {

// Rewrites a classified program. Sums have the same terms, perhaps in another
// order.
//  - x W + h U: the second product adds to the output of the first, which an
//    eager operator may have computed for all rows at once. Sums over rows
//    likewise: what several operators contribute to one weight's gradient is
//    formed in one place.
//  - Products of one operand with several weights (the gates of a cell, written
//    one by one) become one product with the weights side by side.
// So gates that are written one by one give the same program as packed gates.
void MergeMatMuls(const Capabilities& capabilities, Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_MERGE_MATMULS_H_
