// The text of the kernels of a program's groups of elementwise operators.
#ifndef CAVS_CC_DEVICE_CUDA_SOURCE_GROUP_H_
#define CAVS_CC_DEVICE_CUDA_SOURCE_GROUP_H_

#include <cstdint>
#include <memory>

#include "cc/base/dtype.h"
#include "cc/device/cuda/source/text.h"
#include "cc/ir/elementwise_group.h"

namespace cavs {

// The arguments of the kernel. A block has 2^shift columns, and block_rows rows
// at a time. Only the operands that the group has need to be there.
struct CudaGroupArgs {
  int64_t rows, columns;
  int shift, block_rows;
  struct Operand {
    const void* data;
    const int32_t* index;
    int64_t pitch;
    int row_step, column_step;
  } operands[ElementwiseGroup::kMaxValues];
};

// A kernel that computes a group over rows of `dtype`. It is called `group`.
std::shared_ptr<const CudaText> TextOfGroup(const ElementwiseGroup& group,
                                            DType dtype);

// A group of one operator: its operands, and then its result.
ElementwiseGroup GroupOf(Elementwise op);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_SOURCE_GROUP_H_
