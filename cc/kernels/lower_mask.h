// Lowers booleans to masks. A mask is a number, 1 for true and 0 for false.
#ifndef CAVS_CC_KERNELS_LOWER_MASK_H_
#define CAVS_CC_KERNELS_LOWER_MASK_H_

#include <string>

#include "cc/kernels/program_builder.h"

namespace cavs {

// Returns whether an operator of the framework does nothing but compute
// booleans. It may be left out if all operators that read its result read a
// mask instead.
bool ComputesBooleans(const std::string& op);

// Adds native nodes for the mask of a boolean output that has been lowered.
// Returns the symbol of the mask, which has type `dtype` and the shape of the
// boolean, or -1 if it cannot be computed from native rows. Nodes that nothing
// reads may have been added then.
int LowerMask(const tensorflow::Node& node, int output, DType dtype,
              ProgramBuilder* builder);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_LOWER_MASK_H_
