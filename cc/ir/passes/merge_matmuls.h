// Fewer and larger products.
#ifndef CAVS_CC_IR_PASSES_MERGE_MATMULS_H_
#define CAVS_CC_IR_PASSES_MERGE_MATMULS_H_

#include "cc/ir/capabilities.h"
#include "cc/ir/program.h"

namespace cavs {

// Rewrites a classified program, with the same sums up to the order of terms:
//  - x W + h U: the second product adds to what the first has written, which an
//    eager operator may have done for all rows at once. Sums over rows
//    likewise: what several operators contribute to one weight's gradient is
//    formed in one place.
//  - products of one operand with several weights (the gates of a cell, written
//    one by one) become one product with the weights side by side.
// A user who writes the gates one by one gets the program of one who packed
// them.
void MergeMatMuls(const Capabilities& capabilities, Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_MERGE_MATMULS_H_
