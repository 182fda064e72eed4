// Lowers operators that take weights apart, and operators that put the
// gradients of the parts together, so that neither is copied.
#ifndef CAVS_CC_KERNELS_LOWER_PARTS_H_
#define CAVS_CC_KERNELS_LOWER_PARTS_H_

#include "cc/kernels/program_builder.h"

namespace cavs {

// Maps the outputs of an operator that reads a capture or a constant to views
// of it, which have another shape or are adjacent elements. Returns false, and
// changes nothing, if the operator does something else.
bool LowerParts(const TracedNode& traced, ProgramBuilder* builder);

// Maps the output of an operator that arranges sums over rows side by side, or
// among zeros, to one sum. The sums are then computed directly in their places
// in it. Returns false, and changes nothing, if the operator does something
// else.
bool LowerSumOfParts(const TracedNode& traced, ProgramBuilder* builder);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_LOWER_PARTS_H_
