// Who computes what.
#ifndef CAVS_CC_IR_PASSES_PLAN_PHASES_H_
#define CAVS_CC_IR_PASSES_PLAN_PHASES_H_

#include "cc/ir/program.h"

namespace cavs {

// Sets Program::plans. The last pass: the nodes keep their numbers from here
// on.
//
// A stage falls into phases, between which workers wait for each other. By
// rows, few waits are needed: all nodes but sums work on rows. By columns, each
// worker owns the same range of hidden units through products and gates alike,
// so one wait is needed before each product, which reads all columns.
void PlanPhases(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_PLAN_PHASES_H_
