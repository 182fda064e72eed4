// The workers of TensorFlow's CPU.
#ifndef CAVS_CC_KERNELS_TEAM_OF_H_
#define CAVS_CC_KERNELS_TEAM_OF_H_

#include <memory>

#include "cc/device/cpu/team.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// The team of the op's device, of TensorFlow's intra-op threads.
std::shared_ptr<Team> TeamOf(tensorflow::OpKernelContext* context);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_TEAM_OF_H_
