// Removes what nobody reads.
#ifndef CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_
#define CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_

#include "cc/ir/program.h"

namespace cavs {

// Removes native operators whose results nobody reads, and divides the memory
// of a symbol whose views are only read and written apart from each other: each
// becomes a symbol of its own.
void RemoveUnused(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_REMOVE_UNUSED_H_
