// Eliminates common subexpressions.
#ifndef CAVS_CC_IR_PASSES_MERGE_DUPLICATES_H_
#define CAVS_CC_IR_PASSES_MERGE_DUPLICATES_H_

#include "cc/ir/program.h"

namespace cavs {

// Replaces nodes that compute the same operator of the same values by the first
// of them. Only native operators on rows, without sums over rows.
void MergeDuplicates(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_MERGE_DUPLICATES_H_
