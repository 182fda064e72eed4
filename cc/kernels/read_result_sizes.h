// What a model gives its caller, from the attributes of an op.
#ifndef CAVS_CC_KERNELS_READ_RESULT_SIZES_H_
#define CAVS_CC_KERNELS_READ_RESULT_SIZES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "cc/exec/result_sizes.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace cavs {

// Of one tensor; 0 where its shape is not known, or there is none.
size_t BytesOf(const tensorflow::PartialTensorShape& shape,
               tensorflow::DataType type);

// Of attributes push_shapes, Tpushes, pull_shapes, Tpulls, capture_shapes,
// capture_grad_types and differentiable. Those that do not belong together are
// others' to refuse.
absl::Status ReadResultSizes(tensorflow::OpKernelConstruction* context,
                             ResultSizes* sizes);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_READ_RESULT_SIZES_H_
