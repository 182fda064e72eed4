// Computes only the columns of results that are read.
#ifndef CAVS_CC_IR_PASSES_NARROW_RESULTS_H_
#define CAVS_CC_IR_PASSES_NARROW_RESULTS_H_

#include "cc/ir/program.h"

namespace cavs {

// Where no node reads some columns of what an elementwise operator or a product
// computes, and the program does not return them, it becomes one operator for
// each range of columns that is read. A product then reads columns of its
// weight: one product gives several gates, and a program for leaves needs some
// of them.
void NarrowResults(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_NARROW_RESULTS_H_
