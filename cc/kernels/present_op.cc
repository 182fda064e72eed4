#include <cstdint>
#include <limits>
#include <vector>

#include "cc/base/status.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// PresentOp finds the ids that are not masked, for which TensorFlow takes five
// operators.
template <typename Index>
class PresentOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("mask_negative", &mask_negative_));
    return context->GetAttr("masked", &masked_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    const Tensor& ids = context->input(0);
    if (ids.dims() != 1 ||
        ids.NumElements() > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          StrCat("ids: got shape ", ids.shape().DebugString(),
                 " but expected fewer than 2^31 of them, [V]. Pass an id for "
                 "each vertex."));
    }
    const Index* const all = ids.vec<Index>().data();
    const int64_t count = ids.NumElements();
    // The loop has no branch, because a processor cannot predict which ids are
    // present.
    std::vector<int32_t> found(count + 1);
    int64_t num_present = 0;
    for (int64_t i = 0; i < count; ++i) {
      found[num_present] = static_cast<int32_t>(i);
      num_present += IsPresent(all[i]);
    }
    const TensorShape shape({num_present});
    Tensor *present = nullptr, *vertices = nullptr;
    TF_RETURN_IF_ERROR(AllocateOutput(context, "present", 0, shape, &present));
    TF_RETURN_IF_ERROR(
        AllocateOutput(context, "vertices", 1, shape, &vertices));
    auto own_ids = present->vec<Index>();
    auto own_vertices = vertices->vec<int32_t>();
    for (int64_t i = 0; i < num_present; ++i) {
      own_vertices(i) = found[i];
      own_ids(i) = all[found[i]];
    }
    return absl::OkStatus();
  }

 private:
  int IsPresent(Index id) const {
    int is_present =
        static_cast<int>(!mask_negative_) | static_cast<int>(id >= 0);
    for (const int64_t masked : masked_) {
      is_present &= static_cast<int>(id != masked);
    }
    return is_present;
  }

  bool mask_negative_ = false;
  std::vector<int64_t> masked_;
};

REGISTER_KERNEL_BUILDER(Name("CavsPresent")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int32_t>("Tids"),
                        GuardedSharedOp<PresentOp<int32_t>>);
REGISTER_KERNEL_BUILDER(Name("CavsPresent")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int64_t>("Tids"),
                        GuardedSharedOp<PresentOp<int64_t>>);

}  // namespace
}  // namespace cavs
