// Removes values that no node reads.
#ifndef CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_
#define CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_

#include "cc/ir/program.h"

namespace cavs {

// Removes native operators whose results no node reads. Divides roots that are
// accessed only through disjoint views: each view becomes a root.
void RemoveUnused(Program* program);

// Removes symbols that no node reads or writes, and numbers the others anew in
// the same order. Every step walks over all symbols of its programs, and after
// the other passes most of the traced symbols are no longer read.
void RemoveUnusedSymbols(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_
