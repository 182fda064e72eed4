// Lowers a group of elementwise operators to the instructions of one kernel.
#ifndef CAVS_CC_IR_MAKE_INSTRUCTIONS_H_
#define CAVS_CC_IR_MAKE_INSTRUCTIONS_H_

#include "cc/ir/program.h"

namespace cavs {

// Fills `group->operands` and `group->group` from the inputs, outputs and
// members of `group`; returns false if they do not fit into a kernel. Two
// members become one instruction if CanPair() allows it and only the second
// reads the result of the first.
//
// A symbol that members read or write becomes an operand, numbered in order of
// first use, if an input or output has the same elements; else it lives in
// scratch.
bool MakeInstructions(const Program& program, Node* group);

}  // namespace cavs

#endif  // CAVS_CC_IR_MAKE_INSTRUCTIONS_H_
