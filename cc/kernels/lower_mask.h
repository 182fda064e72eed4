// Lowers booleans to masks: numbers that are 1 where they are true, else 0.
#ifndef CAVS_CC_KERNELS_LOWER_MASK_H_
#define CAVS_CC_KERNELS_LOWER_MASK_H_

#include <string>

#include "cc/kernels/program_builder.h"

namespace cavs {

// Whether an operator of the framework only computes booleans, so that it may
// be left out where all that read its result read a mask instead.
bool ComputesBooleans(const std::string& op);

// Adds native nodes for the mask of a boolean output that has been lowered.
// Returns its symbol, of type `dtype` and the shape of the boolean, or -1 if it
// is not computed from native rows; unread nodes may have been added then.
int LowerMask(const tensorflow::Node& node, int output, DType dtype,
              ProgramBuilder* builder);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_LOWER_MASK_H_
