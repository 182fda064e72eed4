#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/cuda_op_device.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/register_on_gpu.h"
#include "cc/kernels/sorted_rows.h"
#include "cc/kernels/sums_on_gpu.h"
#include "cc/kernels/team_of.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"

namespace cavs {
namespace {

using ::tensorflow::DataTypeString;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::Var;

// LookUpArguments checks the arguments of a lookup and allocates its output. It
// holds the lock of the variable, so that nothing updates the variable
// meanwhile.
template <typename Index>
class LookUpArguments {
 public:
  absl::Status Read(OpKernelContext* context, tensorflow::DataType dtype) {
    TF_RETURN_IF_ERROR(tensorflow::LookupResource(
        context, tensorflow::HandleFromInput(context, 0), &variable_));
    const Tensor& ids = context->input(1);
    lock_.emplace(*variable_->mu());
    TF_RETURN_IF_ERROR(CheckTable(dtype));
    const Tensor& rows = *variable_->tensor();
    TF_RETURN_IF_ERROR(ReadIds(ids, rows.dim_size(0)));
    TensorShape shape = ids.shape();
    for (int i = 1; i < rows.dims(); ++i) {
      TF_RETURN_IF_ERROR(shape.AddDimWithStatus(rows.dim_size(i)));
    }
    TF_RETURN_IF_ERROR(context->allocate_output(0, shape, &output_));
    table = ToBlock(rows);
    return absl::OkStatus();
  }

  bool is_empty() const { return output_->NumElements() == 0; }
  // The output, a row for each id.
  Block to() const {
    return {output_->data(), static_cast<int64_t>(numbers.size()), table.cols,
            table.pitch};
  }

  ConstBlock table;
  std::vector<int32_t> numbers;  // The ids.

 private:
  absl::Status CheckTable(tensorflow::DataType dtype) const {
    const Tensor& rows = *variable_->tensor();
    if (variable_->is_initialized && rows.dtype() == dtype &&
        rows.dims() >= 1 &&
        rows.dim_size(0) <= std::numeric_limits<int32_t>::max()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(StrCat(
        "table: got ", DataTypeString(rows.dtype()), " ",
        rows.shape().DebugString(), " but expected ", DataTypeString(dtype),
        " [rows, ...] with fewer than 2^31 rows. Initialize the table, or look "
        "up by tf.gather."));
  }

  absl::Status ReadIds(const Tensor& ids, int64_t num_rows) {
    const auto flat = ids.flat<Index>();
    numbers.resize(flat.size());
    for (int64_t i = 0; i < flat.size(); ++i) {
      if (flat(i) < 0 || flat(i) >= num_rows) {
        return absl::InvalidArgumentError(
            StrCat("ids[", i, "]: got ", flat(i), " but expected a row in [0, ",
                   num_rows,
                   ") of the table. Look up ids of the table's "
                   "vocabulary."));
      }
      numbers[i] = static_cast<int32_t>(flat(i));
    }
    return absl::OkStatus();
  }

  tensorflow::core::RefCountPtr<Var> variable_;
  std::optional<tensorflow::tf_shared_lock> lock_;  // Ends before the variable.
  Tensor* output_ = nullptr;
};

// LookUpOp copies rows of a variable.
template <typename Index>
class LookUpOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    return context->GetAttr("dtype", &dtype_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    LookUpArguments<Index> own;
    TF_RETURN_IF_ERROR(own.Read(context, dtype_));
    if (own.is_empty()) return absl::OkStatus();
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get())
        .LookUpRows(ToDType(dtype_), own.table, own.numbers.data(), own.to());
    return absl::OkStatus();
  }

 private:
  tensorflow::DataType dtype_ = tensorflow::DT_INVALID;
};

// The same on a GPU: the host checks the ids and copies them there.
template <typename Index>
class LookUpOnGpuOp : public OpOnGpu {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("dtype", &dtype_));
    return OpOnGpu::Init(context);
  }

  absl::Status Compute(OpKernelContext* context) const {
    LookUpArguments<Index> own;
    TF_RETURN_IF_ERROR(own.Read(context, dtype_));
    if (own.is_empty()) return absl::OkStatus();
    return device().Enqueue(
        context, {own.numbers}, [&](const CudaOpDevice::Work& work) {
          ConstBlock from = own.table;
          from.index = work.lists[0];
          return work.kernels.Move({{SizeOf(ToDType(dtype_)), from, own.to()}},
                                   work.stream->queue());
        });
  }

 private:
  tensorflow::DataType dtype_ = tensorflow::DT_INVALID;
};

// GradientArguments checks the arguments of the gradient of a lookup, sorts
// the ids and allocates the outputs.
template <typename Index>
class GradientArguments {
 public:
  absl::Status Read(OpKernelContext* context) {
    const Tensor &ids = context->input(0), &grad = context->input(1);
    TF_RETURN_IF_ERROR(CheckGradient(ids, grad));
    const int64_t count = ids.NumElements();
    const Index* const numbers = ids.flat<Index>().data();
    for (int64_t i = 0; i < count; ++i) {
      if (numbers[i] >= 0) continue;
      return absl::InvalidArgumentError(
          StrCat("ids[", i, "]: got ", numbers[i],
                 " but expected at least 0. Pass the ids that were looked "
                 "up."));
    }
    const int64_t largest =
        count == 0 ? 0 : *std::max_element(numbers, numbers + count);
    sorted = SortRows(numbers, count, largest);
    const int64_t num_rows = sorted.groups().count;
    TensorShape shape({num_rows});
    for (int i = ids.dims(); i < grad.dims(); ++i) {
      TF_RETURN_IF_ERROR(shape.AddDimWithStatus(grad.dim_size(i)));
    }
    Tensor* rows = nullptr;
    TF_RETURN_IF_ERROR(AllocateOutput(context, "sums", 0, shape, &sums));
    TF_RETURN_IF_ERROR(
        AllocateOutput(context, "rows", 1, TensorShape({num_rows}), &rows));
    std::copy(sorted.rows.begin(), sorted.rows.end(),
              rows->flat<Index>().data());
    columns = count == 0 ? 0 : grad.NumElements() / count;
    return absl::OkStatus();
  }

  SortedRows sorted;
  Tensor* sums = nullptr;
  int64_t columns = 0;

 private:
  static absl::Status CheckGradient(const Tensor& ids, const Tensor& grad) {
    bool fits = grad.dims() >= ids.dims();
    for (int i = 0; fits && i < ids.dims(); ++i) {
      fits = grad.dim_size(i) == ids.dim_size(i);
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat(
        "grad: got shape ", grad.shape().DebugString(), " but expected ",
        ids.shape().DebugString(),
        ", that of ids, and then that of a row. Pass the gradient of what was "
        "looked up."));
  }
};

// LookUpGradOp adds up the gradients of each row that was looked up.
template <typename Index>
class LookUpGradOp {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
    GradientArguments<Index> own;
    TF_RETURN_IF_ERROR(own.Read(context));
    if (own.sums->NumElements() == 0) return absl::OkStatus();
    const Tensor& grad = context->input(1);
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get())
        .SumGroups(ToDType(grad.dtype()), grad.data(), own.columns,
                   own.sorted.groups(), own.sums->data());
    return absl::OkStatus();
  }
};

// The same on a GPU: the host sorts the ids and copies their order there.
template <typename Index>
class LookUpGradOnGpuOp : public OpOnGpu {
 public:
  absl::Status Compute(OpKernelContext* context) const {
    GradientArguments<Index> own;
    TF_RETURN_IF_ERROR(own.Read(context));
    if (own.sums->NumElements() == 0) return absl::OkStatus();
    const Tensor& grad = context->input(1);
    return SumGroupsOnGpu(device(), context, grad, own.columns, own.sorted,
                          own.sums);
  }
};

#define CAVS_REGISTER_IDS(Op, Kernel, Index)                                 \
  REGISTER_KERNEL_BUILDER(                                                   \
      Name(Op).Device(tensorflow::DEVICE_CPU).TypeConstraint<Index>("Tids"), \
      GuardedSharedOp<Kernel<Index>>)

CAVS_REGISTER_IDS("CavsLookUp", LookUpOp, int32_t);
CAVS_REGISTER_IDS("CavsLookUp", LookUpOp, int64_t);
CAVS_REGISTER_IDS("CavsLookUpGrad", LookUpGradOp, int32_t);
CAVS_REGISTER_IDS("CavsLookUpGrad", LookUpGradOp, int64_t);

#undef CAVS_REGISTER_IDS

template <typename Index>
bool RegisterLookUpsOnGpu(tensorflow::DataType index) {
  return RegisterOnGpu<GuardedOp<LookUpOnGpuOp<Index>>>(
             "CavsLookUp", {"table", "ids"}, {index}, "Tids") &&
         RegisterOnGpu<GuardedOp<LookUpGradOnGpuOp<Index>>>(
             "CavsLookUpGrad", {"ids", "rows"}, {index}, "Tids");
}

[[maybe_unused]] const bool kOnGpu[] = {
    RegisterLookUpsOnGpu<int32_t>(tensorflow::DT_INT32),
    RegisterLookUpsOnGpu<int64_t>(tensorflow::DT_INT64)};

}  // namespace
}  // namespace cavs
