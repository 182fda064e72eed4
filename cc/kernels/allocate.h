// Tensors of sizes that came from outside.
#ifndef CAVS_CC_KERNELS_ALLOCATE_H_
#define CAVS_CC_KERNELS_ALLOCATE_H_

#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace cavs {

// The shape of `rows` rows; kInvalidArgument, which names `name`, unless `row`
// is fully known and there is such a tensor.
absl::Status ShapeOfRows(const std::string& name, int64_t rows,
                         const tensorflow::PartialTensorShape& row,
                         tensorflow::TensorShape* shape);

// Output `index` of an op; kResourceExhausted, which names `name`, if the
// system has not got so much memory.
absl::Status AllocateOutput(tensorflow::OpKernelContext* context,
                            const std::string& name, int index,
                            const tensorflow::TensorShape& shape,
                            tensorflow::Tensor** output);

// The same for a tensor of the op's own.
absl::Status AllocateTemporary(tensorflow::OpKernelContext* context,
                               const std::string& name,
                               tensorflow::DataType dtype,
                               const tensorflow::TensorShape& shape,
                               tensorflow::Tensor* tensor);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_ALLOCATE_H_
