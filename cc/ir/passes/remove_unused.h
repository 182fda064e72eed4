// Removes values that no node reads.
#ifndef CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_
#define CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_

#include "cc/ir/program.h"

namespace cavs {

// Removes native operators whose results no node reads. Divides roots that are
// accessed only through disjoint views: each view becomes a root.
void RemoveUnused(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_
