// Reads the sizes of a model's results from the attributes of an op.
#ifndef CAVS_CC_KERNELS_READ_RESULT_SIZES_H_
#define CAVS_CC_KERNELS_READ_RESULT_SIZES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "cc/exec/result_sizes.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace cavs {

// Returns the bytes of one tensor, or 0 if its shape is not fully known.
size_t BytesOf(const tensorflow::PartialTensorShape& shape,
               tensorflow::DataType type);

// Reads attributes push_shapes, Tpushes, pull_shapes, Tpulls, capture_shapes,
// capture_grad_types and differentiable. Does not check that they agree.
absl::Status ReadResultSizes(tensorflow::OpKernelConstruction* context,
                             ResultSizes* sizes);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_READ_RESULT_SIZES_H_
