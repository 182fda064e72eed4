#include <cstdint>
#include <vector>

#include "cc/kernels/allocate.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/status_util.h"
#include "cc/schedule/extension.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// ExtendOp runs MakeExtension(). It has no state, so any number of threads may
// run it at once.
class ExtendOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("arity", &arity_));
    return context->GetAttr("num_types", &num_types_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    constexpr const char* kNames[] = {"child_splits", "child_ids",
                                      "vertex_type", "num_states"};
    for (int i = 0; i < 4; ++i) {
      const int rank = i < 3 ? 1 : 0;
      if (context->input(i).dims() == rank) continue;
      return absl::InvalidArgumentError(
          StrCat(kNames[i], ": got shape ",
                 context->input(i).shape().DebugString(), " but expected rank ",
                 rank, ". Pass lists of children, and a number of states."));
    }
    ExtensionView view;
    view.child_splits = ToSpan(context->input(0));
    view.child_ids = ToSpan(context->input(1));
    view.vertex_type = ToSpan(context->input(2));
    view.num_states = context->input(3).scalar<int32_t>()();
    Extension extension;
    TF_RETURN_IF_ERROR(
        ToAbsl(MakeExtension(view, arity_, num_types_, &extension)));
    int index = 0;
    for (const std::vector<int32_t>* list :
         {&extension.read, &extension.child_splits, &extension.child_ids,
          &extension.vertex_type}) {
      const auto size = static_cast<int64_t>(list->size());
      TF_RETURN_IF_ERROR(CopyToOutput(context, "extension", index++,
                                      TensorShape({size}), *list));
    }
    return absl::OkStatus();
  }

 private:
  static Span<int32_t> ToSpan(const Tensor& vector) {
    return {vector.flat<int32_t>().data(), vector.NumElements()};
  }

  int arity_ = 0;
  int num_types_ = 1;
};

REGISTER_KERNEL_BUILDER(Name("CavsExtend").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<ExtendOp>);

}  // namespace
}  // namespace cavs
