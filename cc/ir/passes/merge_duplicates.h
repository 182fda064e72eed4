// Common subexpressions are computed once.
#ifndef CAVS_CC_IR_PASSES_MERGE_DUPLICATES_H_
#define CAVS_CC_IR_PASSES_MERGE_DUPLICATES_H_

#include "cc/ir/program.h"

namespace cavs {

// Nodes that compute the same from the same values become the first of them:
// native operators of rows, not sums over rows.
void MergeDuplicates(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_MERGE_DUPLICATES_H_
