// Lowers operators that take weights apart, and those that put together the
// gradients of the parts, without copying either.
#ifndef CAVS_CC_KERNELS_LOWER_PARTS_H_
#define CAVS_CC_KERNELS_LOWER_PARTS_H_

#include "cc/kernels/program_builder.h"

namespace cavs {

// Maps the outputs of an operator on a capture or a constant to views of it:
// another shape, or adjacent elements. Returns false, and changes nothing, if
// the operator does something else.
bool LowerParts(const TracedNode& traced, ProgramBuilder* builder);

// Maps the output of an operator that arranges sums over rows side by side, or
// among zeros, to a sum in which they are formed at once. Returns false, and
// changes nothing, if the operator does something else.
bool LowerSumOfParts(const TracedNode& traced, ProgramBuilder* builder);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_LOWER_PARTS_H_
