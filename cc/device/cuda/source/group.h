// The text of the kernels of a program's groups of elementwise operators.
#ifndef CAVS_CC_DEVICE_CUDA_SOURCE_GROUP_H_
#define CAVS_CC_DEVICE_CUDA_SOURCE_GROUP_H_

#include <memory>

#include "cc/base/dtype.h"
#include "cc/device/cuda/source/text.h"
#include "cc/ir/elementwise_group.h"

namespace cavs {

// A kernel that computes a group over rows of `dtype`. It is called `group`.
std::shared_ptr<const CudaText> TextOfGroup(const ElementwiseGroup& group,
                                            DType dtype);

// A group of one operator: its operands, and then its result.
ElementwiseGroup GroupOf(Elementwise op);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_SOURCE_GROUP_H_
