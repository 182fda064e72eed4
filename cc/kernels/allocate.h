// Allocates tensors whose sizes come from outside.
#ifndef CAVS_CC_KERNELS_ALLOCATE_H_
#define CAVS_CC_KERNELS_ALLOCATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cc/base/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace cavs {

// Finds the shape of a tensor of `rows` rows of shape `row`. Returns
// kInvalidArgument, naming `name`, unless `row` is fully known and such a
// tensor can exist.
absl::Status ShapeOfRows(ArgumentName name, int64_t rows,
                         const tensorflow::PartialTensorShape& row,
                         tensorflow::TensorShape* shape);

// Allocates output `index` on the op's device, or on the host if the kernel was
// registered so. Returns kResourceExhausted, naming `name`, if there is not
// enough memory.
absl::Status AllocateOutput(tensorflow::OpKernelContext* context,
                            ArgumentName name, int index,
                            const tensorflow::TensorShape& shape,
                            tensorflow::Tensor** output);

// Allocates one output in the memory of the host, and copies `values` to it.
absl::Status CopyToOutput(tensorflow::OpKernelContext* context,
                          ArgumentName name, int index,
                          const tensorflow::TensorShape& shape,
                          const std::vector<int32_t>& values);

// Allocates a temporary tensor in the memory of the host, with the same errors.
absl::Status AllocateTemporary(tensorflow::OpKernelContext* context,
                               ArgumentName name, tensorflow::DataType dtype,
                               const tensorflow::TensorShape& shape,
                               tensorflow::Tensor* tensor);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_ALLOCATE_H_
