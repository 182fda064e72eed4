#include <array>
#include <cstdint>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/status.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/random/philox_random.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::random::PhiloxRandom;

// Each row is drawn by itself: a counter-based generator (Salmon et al. 2011,
// "Parallel random numbers: as easy as 1, 2, 3") is called with the seed as its
// key, and row number, operator and column as its counter.
class DropoutMaskOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("rate", &rate_));
    TF_RETURN_IF_ERROR(context->GetAttr("shape", &shape_));
    columns_ = shape_.num_elements();
    int number = 0;
    TF_RETURN_IF_ERROR(context->GetAttr("number", &number));
    number_ = static_cast<uint32_t>(number);
    if (rate_ >= 0 && rate_ < 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("rate: got ", rate_,
               " but expected one in [0, 1), the share that is dropped."));
  }

  absl::Status Compute(OpKernelContext* context) const {
    const Tensor& rows = context->input(0);
    const Tensor& seed = context->input(1);
    if (rows.dims() != 1 || seed.dims() != 1 || seed.NumElements() != 2) {
      return absl::InvalidArgumentError(
          StrCat("rows, seed: got shapes ", rows.shape().DebugString(), " and ",
                 seed.shape().DebugString(), " but expected [rows] and [2]."));
    }
    Tensor* mask = nullptr;
    tensorflow::TensorShape shape({rows.dim_size(0)});
    TF_RETURN_IF_ERROR(shape.AppendShapeWithStatus(shape_));
    TF_RETURN_IF_ERROR(context->allocate_output(0, shape, &mask));
    const auto numbers = rows.vec<int32_t>();
    const auto keys = seed.vec<int64_t>();
    PhiloxRandom::Key key;
    key[0] = static_cast<uint32_t>(keys(0));
    key[1] = static_cast<uint32_t>(keys(1));
    WithFloatType(ToDType(mask->dtype()), [&](auto zero) {
      using T = decltype(zero);
      T* row = static_cast<T*>(mask->data());
      for (int64_t i = 0; i < rows.dim_size(0); ++i, row += columns_) {
        FillRow(static_cast<uint32_t>(numbers(i)), key, row);
      }
    });
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void FillRow(uint32_t row_number, const PhiloxRandom::Key& key,
               T* row) const {
    const T kept = FromWide<T>(static_cast<Wide<T>>(1 / (1 - double{rate_})));
    const T dropped = FromWide<T>(Wide<T>(0));
    const auto threshold = static_cast<uint32_t>(double{rate_} * 4294967296.0);
    PhiloxRandom::ResultType counter;
    counter[1] = number_;
    counter[2] = row_number;
    for (int64_t j = 0; j < columns_;) {
      counter[0] = static_cast<uint32_t>(j / PhiloxRandom::kResultElementCount);
      const auto drawn = PhiloxRandom(counter, key)();
      for (int k = 0; k < PhiloxRandom::kResultElementCount && j < columns_;
           ++k, ++j) {
        row[j] = drawn[k] < threshold ? dropped : kept;
      }
    }
  }

  float rate_ = 0;
  tensorflow::TensorShape shape_;  // Of a row.
  int64_t columns_ = 0;
  uint32_t number_ = 0;
};

REGISTER_KERNEL_BUILDER(Name("CavsDropoutMask").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<DropoutMaskOp>);

}  // namespace
}  // namespace cavs
