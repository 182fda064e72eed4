// Merges products into fewer and larger ones.
#ifndef CAVS_CC_IR_PASSES_MERGE_MATMULS_H_
#define CAVS_CC_IR_PASSES_MERGE_MATMULS_H_

#include "cc/ir/capabilities.h"
#include "cc/ir/program.h"

namespace cavs {

// Products of one operand with several weights (the gates of a cell, written
// one by one) become one product with the weights side by side, so that gates
// that are written one by one give the same program as packed gates. Runs
// after MergeSumsOfProducts().
void MergeMatMuls(const Capabilities& capabilities, Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_MERGE_MATMULS_H_
