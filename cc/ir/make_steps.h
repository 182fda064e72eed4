// What the kernel of a fused group does, step by step.
#ifndef CAVS_CC_IR_MAKE_STEPS_H_
#define CAVS_CC_IR_MAKE_STEPS_H_

#include "cc/ir/program.h"

namespace cavs {

// Fills `group->operands` and `group->group` from the inputs, outputs and
// members of `group`; false if they do not fit into a kernel. Two members
// become one step where CanPair() lets them and nothing but the second reads
// what the first gives.
//
// What members read or write is an operand, in the order in which they do, if
// an input or output has the same elements; else it lives in scratch.
bool MakeSteps(const Program& program, Node* group);

}  // namespace cavs

#endif  // CAVS_CC_IR_MAKE_STEPS_H_
