#include "cc/kernels/allocate.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/base/byte_count.h"
#include "cc/base/machine.h"
#include "cc/base/status.h"
#include "tensorflow/core/platform/mem.h"

namespace cavs {
namespace {

size_t BytesOf(tensorflow::DataType dtype,
               const tensorflow::TensorShape& shape) {
  const size_t size = std::max(1, tensorflow::DataTypeSize(dtype));
  return SaturatingMultiply(shape.num_elements(), size);
}

absl::Status DoesNotFit(ArgumentName name, tensorflow::DataType dtype,
                        const tensorflow::TensorShape& shape) {
  return absl::ResourceExhaustedError(
      StrCat(name, ": got shape ", shape.DebugString(), ", that is ",
             BytesOf(dtype, shape),
             " bytes, but expected one that fits into the memory that is "
             "available. Use a smaller minibatch."));
}

absl::Status CheckFits(ArgumentName name, tensorflow::DataType dtype,
                       const tensorflow::TensorShape& shape) {
  if (MayFit(BytesOf(dtype, shape))) return absl::OkStatus();
  return DoesNotFit(name, dtype, shape);
}

// A PlainAllocator takes memory from the C library, which returns null if there
// is none.
class PlainAllocator : public tensorflow::Allocator {
 public:
  static PlainAllocator* Get() {
    static auto* const allocator =
        new PlainAllocator;  // Tensors may outlive all else.
    return allocator;
  }

  std::string Name() override { return "cavs_plain"; }

  void* AllocateRaw(size_t alignment, size_t bytes) override {
    const auto aligned = static_cast<std::align_val_t>(alignment);
    return tensorflow::port::AlignedMalloc(bytes, aligned);
  }

  void DeallocateRaw(void* data) override {
    tensorflow::port::AlignedFree(data);
  }
};

// Whether a tensor requires PlainAllocator, since the process has a limit
// (ulimit -v). TensorFlow's own allocator maps up to twice the memory that it
// is asked for, and then more for its bookkeeping. If the limit is reached in
// between, it throws while it holds its lock, and the next thread that
// allocates waits for ever. A few bytes need no question to the system:
// TensorFlow's own operators ask for as many.
bool NeedsPlainAllocator(size_t bytes) {
  constexpr size_t kFew = size_t{1} << 20;
  if (bytes <= kFew) return false;
  rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

absl::Status AllocatePlainly(ArgumentName name, tensorflow::DataType dtype,
                             const tensorflow::TensorShape& shape,
                             tensorflow::Tensor* tensor) {
  *tensor = tensorflow::Tensor(PlainAllocator::Get(), dtype, shape);
  if (tensor->IsInitialized()) return absl::OkStatus();
  return DoesNotFit(name, dtype, shape);
}

// Whether an output lies in the memory of a device that is not the host.
bool IsOnDevice(tensorflow::OpKernelContext* context, int index) {
  return context->op_device_context() != nullptr &&
         !context->output_alloc_attr(index).on_host();
}

}  // namespace

absl::Status ShapeOfRows(ArgumentName name, int64_t rows,
                         const tensorflow::PartialTensorShape& row,
                         tensorflow::TensorShape* shape) {
  if (row.IsFullyDefined()) {
    auto sizes = row.dim_sizes();
    sizes.insert(sizes.begin(), rows);
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
                            ArgumentName name, int index,
                            const tensorflow::TensorShape& shape,
                            tensorflow::Tensor** output) {
  const auto dtype = context->expected_output_dtype(index);
  if (IsOnDevice(context, index)) {
    const absl::Status status = context->allocate_output(index, shape, output);
    return status.ok() ? status : DoesNotFit(name, dtype, shape);
  }
  TF_RETURN_IF_ERROR(CheckFits(name, dtype, shape));
  if (!NeedsPlainAllocator(BytesOf(dtype, shape))) {
    return context->allocate_output(index, shape, output);
  }
  tensorflow::Tensor tensor;
  TF_RETURN_IF_ERROR(AllocatePlainly(name, dtype, shape, &tensor));
  context->set_output(index, std::move(tensor));
  *output = context->mutable_output(index);
  return absl::OkStatus();
}

absl::Status CopyToOutput(tensorflow::OpKernelContext* context,
                          ArgumentName name, int index,
                          const tensorflow::TensorShape& shape,
                          const std::vector<int32_t>& values) {
  tensorflow::Tensor* output = nullptr;
  TF_RETURN_IF_ERROR(AllocateOutput(context, name, index, shape, &output));
  std::copy(values.begin(), values.end(), output->flat<int32_t>().data());
  return absl::OkStatus();
}

absl::Status AllocateTemporary(tensorflow::OpKernelContext* context,
                               ArgumentName name, tensorflow::DataType dtype,
                               const tensorflow::TensorShape& shape,
                               tensorflow::Tensor* tensor) {
  TF_RETURN_IF_ERROR(CheckFits(name, dtype, shape));
  if (NeedsPlainAllocator(BytesOf(dtype, shape))) {
    return AllocatePlainly(name, dtype, shape, tensor);
  }
  return context->allocate_temp(dtype, shape, tensor);
}

}  // namespace cavs
