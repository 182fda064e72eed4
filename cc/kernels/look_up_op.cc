#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/sorted_rows.h"
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

// LookUpOp copies rows of a variable. It holds the lock of the variable, so
// that nothing updates the variable meanwhile.
template <typename Index>
class LookUpOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    return context->GetAttr("dtype", &dtype_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    tensorflow::core::RefCountPtr<Var> table;
    TF_RETURN_IF_ERROR(tensorflow::LookupResource(
        context, tensorflow::HandleFromInput(context, 0), &table));
    const Tensor& ids = context->input(1);
    const tensorflow::tf_shared_lock lock(*table->mu());
    TF_RETURN_IF_ERROR(CheckTable(table.get()));
    const Tensor& rows = *table->tensor();
    std::vector<int32_t> numbers;
    TF_RETURN_IF_ERROR(ReadIds(ids, rows.dim_size(0), &numbers));
    TensorShape shape = ids.shape();
    for (int i = 1; i < rows.dims(); ++i) {
      TF_RETURN_IF_ERROR(shape.AddDimWithStatus(rows.dim_size(i)));
    }
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, shape, &output));
    if (shape.num_elements() == 0) return absl::OkStatus();
    Block to = ToBlock(rows);
    to.data = output->data();
    to.rows = static_cast<int64_t>(numbers.size());
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get())
        .LookUpRows(ToDType(dtype_), ToBlock(rows), numbers.data(), to);
    return absl::OkStatus();
  }

 private:
  absl::Status CheckTable(Var* table) const {
    const Tensor& rows = *table->tensor();
    if (table->is_initialized && rows.dtype() == dtype_ && rows.dims() >= 1 &&
        rows.dim_size(0) <= std::numeric_limits<int32_t>::max()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(StrCat(
        "table: got ", DataTypeString(rows.dtype()), " ",
        rows.shape().DebugString(), " but expected ", DataTypeString(dtype_),
        " [rows, ...] with fewer than 2^31 rows. Initialize the table, or look "
        "up by tf.gather."));
  }

  static absl::Status ReadIds(const Tensor& ids, int64_t num_rows,
                              std::vector<int32_t>* numbers) {
    const auto flat = ids.flat<Index>();
    numbers->resize(flat.size());
    for (int64_t i = 0; i < flat.size(); ++i) {
      if (flat(i) < 0 || flat(i) >= num_rows) {
        return absl::InvalidArgumentError(
            StrCat("ids[", i, "]: got ", flat(i), " but expected a row in [0, ",
                   num_rows,
                   ") of the table. Look up ids of the table's "
                   "vocabulary."));
      }
      (*numbers)[i] = static_cast<int32_t>(flat(i));
    }
    return absl::OkStatus();
  }

  tensorflow::DataType dtype_ = tensorflow::DT_INVALID;
};

// LookUpGradOp adds up the gradients of each row that was looked up.
template <typename Index>
class LookUpGradOp {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
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
    const SortedRows sorted = SortRows(numbers, count, largest);
    const int64_t num_rows = sorted.groups().count;
    TensorShape shape({num_rows});
    for (int i = ids.dims(); i < grad.dims(); ++i) {
      TF_RETURN_IF_ERROR(shape.AddDimWithStatus(grad.dim_size(i)));
    }
    Tensor *sums = nullptr, *rows = nullptr;
    TF_RETURN_IF_ERROR(AllocateOutput(context, "sums", 0, shape, &sums));
    TF_RETURN_IF_ERROR(
        AllocateOutput(context, "rows", 1, TensorShape({num_rows}), &rows));
    std::copy(sorted.rows.begin(), sorted.rows.end(),
              rows->flat<Index>().data());
    if (sums->NumElements() == 0) return absl::OkStatus();
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get())
        .SumGroups(ToDType(grad.dtype()), grad.data(),
                   grad.NumElements() / count, sorted.groups(), sums->data());
    return absl::OkStatus();
  }

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

#define CAVS_REGISTER_IDS(Op, Kernel, Index)                                 \
  REGISTER_KERNEL_BUILDER(                                                   \
      Name(Op).Device(tensorflow::DEVICE_CPU).TypeConstraint<Index>("Tids"), \
      GuardedSharedOp<Kernel<Index>>)

CAVS_REGISTER_IDS("CavsLookUp", LookUpOp, int32_t);
CAVS_REGISTER_IDS("CavsLookUp", LookUpOp, int64_t);
CAVS_REGISTER_IDS("CavsLookUpGrad", LookUpGradOp, int32_t);
CAVS_REGISTER_IDS("CavsLookUpGrad", LookUpGradOp, int64_t);

#undef CAVS_REGISTER_IDS

}  // namespace
}  // namespace cavs
