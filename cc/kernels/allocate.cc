#include "cc/kernels/allocate.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cc/base/byte_count.h"
#include "cc/base/machine.h"
#include "cc/base/status.h"

namespace cavs {
namespace {

absl::Status CheckFits(const std::string& name, tensorflow::DataType dtype,
                       const tensorflow::TensorShape& shape) {
  const size_t size = std::max(1, tensorflow::DataTypeSize(dtype));
  const size_t bytes = SaturatingMultiply(shape.num_elements(), size);
  if (MayFit(bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      StrCat(name, ": got shape ", shape.DebugString(), ", that is ", bytes,
             " bytes, but expected one that fits into the memory that is "
             "available. Use a smaller minibatch."));
}

}  // namespace

absl::Status ShapeOfRows(const std::string& name, int64_t rows,
                         const tensorflow::PartialTensorShape& row,
                         tensorflow::TensorShape* shape) {
  std::vector<int64_t> sizes = {rows};
  if (row.IsFullyDefined()) {
    const auto dims = row.dim_sizes();
    sizes.insert(sizes.end(), dims.begin(), dims.end());
    const bool exists =
        CheckedProduct(sizes) >= 0 &&
        sizes.size() <= tensorflow::TensorShape::MaxDimensions() &&
        tensorflow::TensorShape::BuildTensorShape(sizes, shape).ok();
    if (exists) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat(name, ": got ", rows, " rows of shape ", row.DebugString(),
             " but expected a fully known shape of at most 2^48 elements and ",
             tensorflow::TensorShape::MaxDimensions() - 1, " dimensions."));
}

absl::Status AllocateOutput(tensorflow::OpKernelContext* context,
                            const std::string& name, int index,
                            const tensorflow::TensorShape& shape,
                            tensorflow::Tensor** output) {
  TF_RETURN_IF_ERROR(
      CheckFits(name, context->expected_output_dtype(index), shape));
  return context->allocate_output(index, shape, output);
}

absl::Status AllocateTemporary(tensorflow::OpKernelContext* context,
                               const std::string& name,
                               tensorflow::DataType dtype,
                               const tensorflow::TensorShape& shape,
                               tensorflow::Tensor* tensor) {
  TF_RETURN_IF_ERROR(CheckFits(name, dtype, shape));
  return context->allocate_temp(dtype, shape, tensor);
}

}  // namespace cavs
