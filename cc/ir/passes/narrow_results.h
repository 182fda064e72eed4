// Computes only the columns of results that are read.
#ifndef CAVS_CC_IR_PASSES_NARROW_RESULTS_H_
#define CAVS_CC_IR_PASSES_NARROW_RESULTS_H_

#include "cc/ir/program.h"

namespace cavs {

// If some columns of the result of an elementwise operator or a product are
// neither read nor returned, the operator is replaced by one operator for each
// range of columns that is read. A product then reads columns of its weight:
// one product gives several gates, and a program for leaves needs some of them.
void NarrowResults(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_NARROW_RESULTS_H_
