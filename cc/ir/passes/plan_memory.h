// Decides which storage lives for one task and which for the whole minibatch.
#ifndef CAVS_CC_IR_PASSES_PLAN_MEMORY_H_
#define CAVS_CC_IR_PASSES_PLAN_MEMORY_H_

#include "cc/ir/program.h"

namespace cavs {

// Sets the lifetime of the root of every dynamic tensor that is not on the
// tape: a task, if only critical nodes touch it, so that every task may use the
// same rows; a piece, if only nodes of one other stage do. Sets `rounded_last`
// on the roots of sums over rows. Runs after Classify(), and always: programs
// without it cannot run in bfloat16.
void PlanMemory(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_PLAN_MEMORY_H_
