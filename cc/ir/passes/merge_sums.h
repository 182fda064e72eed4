// Sums are formed in place.
#ifndef CAVS_CC_IR_PASSES_MERGE_SUMS_H_
#define CAVS_CC_IR_PASSES_MERGE_SUMS_H_

#include "cc/ir/program.h"

namespace cavs {

// Both rewrite a classified program, with the same sums up to the order of
// terms.

// What several operators contribute to one weight's gradient is added up in one
// place: sums over rows add to what is there anyway.
void MergeSumsOverRows(Program* program);

// a + x U: what computes a writes it to the sum, and the product adds to it. An
// eager operator may have done so for all rows at once.
void MergeSumsOfProducts(Program* program);

// x U + y U = (x + y) U, and x^T a + x^T b = x^T (a + b), where both are added
// to one place in one stage. Expects what the other two make.
void FactorSums(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_MERGE_SUMS_H_
