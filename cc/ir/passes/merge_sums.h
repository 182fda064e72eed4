// Forms sums in the memory of their results.
#ifndef CAVS_CC_IR_PASSES_MERGE_SUMS_H_
#define CAVS_CC_IR_PASSES_MERGE_SUMS_H_

#include "cc/ir/program.h"

namespace cavs {

// All of them rewrite a classified program. Sums stay the same up to the order
// of their terms.

// Adds the terms of one weight's gradient in the memory of the gradient, since
// sums over rows can add to values in memory.
void MergeSumsOverRows(Program* program);

// a + x U: the nodes that compute a write it to the sum, and the product adds
// to it. An eager operator may write a for all rows at once.
void MergeSumsOfProducts(Program* program);

// x U + y U = (x + y) U, and x^T a + x^T b = x^T (a + b), where both are added
// to one symbol in one stage. Runs after the other two.
void FactorSums(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_MERGE_SUMS_H_
