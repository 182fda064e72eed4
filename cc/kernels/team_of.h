// The workers of TensorFlow's CPU.
#ifndef CAVS_CC_KERNELS_TEAM_OF_H_
#define CAVS_CC_KERNELS_TEAM_OF_H_

#include <memory>

#include "cc/device/cpu/team.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// Returns the team of the op's device, which consists of TensorFlow's intra-op
// threads. All ops on the device share it.
std::shared_ptr<Team> TeamOf(tensorflow::OpKernelContext* context);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_TEAM_OF_H_
