#include "cc/kernels/read_result_sizes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cc/base/byte_count.h"

namespace cavs {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::PartialTensorShape;

struct Tensors {
  std::vector<PartialTensorShape> shapes;
  std::vector<DataType> types;

  size_t size() const { return std::min(shapes.size(), types.size()); }
  size_t bytes(size_t i) const { return BytesOf(shapes[i], types[i]); }
};

absl::Status Read(OpKernelConstruction* context, const char* shapes,
                  const char* types, Tensors* tensors) {
  TF_RETURN_IF_ERROR(context->GetAttr(shapes, &tensors->shapes));
  return context->GetAttr(types, &tensors->types);
}

}  // namespace

size_t BytesOf(const PartialTensorShape& shape, DataType type) {
  if (shape.unknown_rank()) return 0;
  const int64_t elements = CheckedProduct(shape.dim_sizes());
  return std::max<int64_t>(0, elements) * tensorflow::DataTypeSize(type);
}

absl::Status ReadResultSizes(OpKernelConstruction* context,
                             ResultSizes* sizes) {
  Tensors pushes, pulls, captures;
  std::vector<bool> differentiable;
  TF_RETURN_IF_ERROR(Read(context, "push_shapes", "Tpushes", &pushes));
  TF_RETURN_IF_ERROR(Read(context, "pull_shapes", "Tpulls", &pulls));
  TF_RETURN_IF_ERROR(
      Read(context, "capture_shapes", "capture_grad_types", &captures));
  TF_RETURN_IF_ERROR(context->GetAttr("differentiable", &differentiable));
  for (size_t i = 0; i < pushes.size(); ++i) {
    sizes->push_row.push_back(pushes.bytes(i));
  }
  for (size_t i = 0; i < pulls.size(); ++i) {
    const bool has_gradient = tensorflow::DataTypeIsFloating(pulls.types[i]);
    sizes->pull_grad_row.push_back(has_gradient ? pulls.bytes(i) : 0);
  }
  for (size_t i = 0; i < std::min(captures.size(), differentiable.size());
       ++i) {
    if (!differentiable[i]) continue;
    sizes->capture_grads =
        SaturatingAdd(sizes->capture_grads, captures.bytes(i));
  }
  return absl::OkStatus();
}

}  // namespace cavs
