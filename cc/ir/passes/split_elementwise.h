// Splits elementwise operators along their columns.
#ifndef CAVS_CC_IR_PASSES_SPLIT_ELEMENTWISE_H_
#define CAVS_CC_IR_PASSES_SPLIT_ELEMENTWISE_H_

#include "cc/ir/program.h"

namespace cavs {

// Replaces each elementwise operator whose output is read only through views of
// one width by one operator per view. Used by FuseElementwise().
void SplitElementwise(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_SPLIT_ELEMENTWISE_H_
