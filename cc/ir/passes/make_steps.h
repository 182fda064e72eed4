// What the kernel of a fused group does, step by step.
#ifndef CAVS_CC_IR_PASSES_MAKE_STEPS_H_
#define CAVS_CC_IR_PASSES_MAKE_STEPS_H_

#include <functional>
#include <map>

#include "cc/ir/program.h"

namespace cavs {

// Fills `group->group` from the members and operands of `group`; false if they
// do not fit into a kernel. Two members become one step where CanPair() lets
// them and nothing but the second reads what the first gives.
//
// `canonical` gives symbols with the same elements the same number, by which
// `operand` says which operand they are; those it lacks live in scratch.
bool MakeSteps(const Program& program, const std::function<int(int)>& canonical,
               const std::map<int, int>& operand, Node* group);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_MAKE_STEPS_H_
