// Elementwise operators, piece by piece.
#ifndef CAVS_CC_IR_PASSES_SPLIT_ELEMENTWISE_H_
#define CAVS_CC_IR_PASSES_SPLIT_ELEMENTWISE_H_

#include "cc/ir/program.h"

namespace cavs {

// Replaces each elementwise operator whose outcome is read only through pieces
// of one width by one operator per piece. For FuseElementwise().
void SplitElementwise(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_SPLIT_ELEMENTWISE_H_
