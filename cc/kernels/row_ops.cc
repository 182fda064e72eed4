// Gather, scatter, pull and push by themselves.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cc/backend/cpu/cpu_backend.h"
#include "cc/core/status.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/step.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Input 1 as indices, each in [lowest, num_rows).
absl::Status ReadRows(OpKernelContext* context, const char* name, int lowest,
                      int64_t num_rows, Span<int32_t>* rows) {
  const Tensor& tensor = context->input(1);
  if (tensor.dims() != 1) {
    return absl::InvalidArgumentError(
        StrCat(name, ": got shape ", tensor.shape().DebugString(),
               " but expected a vector. Flatten it."));
  }
  *rows = {tensor.flat<int32_t>().data(), tensor.NumElements()};
  for (int64_t i = 0; i < rows->size(); ++i) {
    const int32_t row = (*rows)[i];
    if (row < lowest || row >= num_rows) {
      return absl::InvalidArgumentError(StrCat(
          name, "[", i, "]: got ", row, " but expected ",
          lowest < 0 ? "-1 (no child) or " : "", "a row in [0, ", num_rows,
          "). Take it from a schedule of the same minibatch."));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMatrix(const char* name, const Tensor& tensor, int64_t rows) {
  if (tensor.dims() >= 1 && (rows < 0 || tensor.dim_size(0) == rows)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat(name, ": got shape ", tensor.shape().DebugString(),
             " but expected [", rows < 0 ? StrCat("V") : StrCat(rows),
             ", ...], one row per ", rows < 0 ? "vertex." : "index."));
}

// pull and push take permutations only: no row is lost, none is written twice.
absl::Status CheckPermutation(const Span<int32_t>& order) {
  std::vector<bool> seen(order.size(), false);
  for (int64_t i = 0; i < order.size(); ++i) {
    if (seen[order[i]]) {
      return absl::InvalidArgumentError(
          StrCat("order[", i, "]: got ", order[i],
                 " for the second time but expected a permutation of [0, ",
                 order.size(), "). Take it from a schedule."));
    }
    seen[order[i]] = true;
  }
  return absl::OkStatus();
}

enum class RowOpKind { kGather, kScatter, kPull, kPush };

template <RowOpKind kKind>
class RowOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const Tensor& input = context->input(0);
    const int64_t num_indices = context->input(1).NumElements();
    constexpr bool kPermutes =
        kKind == RowOpKind::kPull || kKind == RowOpKind::kPush;
    constexpr const char* kName = kKind == RowOpKind::kGather    ? "state"
                                  : kKind == RowOpKind::kScatter ? "values"
                                  : kKind == RowOpKind::kPull    ? "input"
                                                                 : "rows";
    OP_REQUIRES_OK(context,
                   CheckMatrix(kName, input,
                               kKind == RowOpKind::kGather ? -1 : num_indices));
    int64_t num_rows = input.dim_size(0);
    if (kKind == RowOpKind::kScatter) {
      OP_REQUIRES(context, context->input(2).NumElements() == 1,
                  absl::InvalidArgumentError(
                      "num_rows: got no scalar but expected one."));
      num_rows = context->input(2).flat<int32_t>()(0);
      OP_REQUIRES(
          context, num_rows >= 0,
          absl::InvalidArgumentError(
              StrCat("num_rows: got ", num_rows, " but expected at least 0.")));
    }
    Span<int32_t> rows;
    OP_REQUIRES_OK(context, ReadRows(context, kPermutes ? "order" : "child_row",
                                     kPermutes ? 0 : -1, num_rows, &rows));
    if (kPermutes) OP_REQUIRES_OK(context, CheckPermutation(rows));

    TensorShape shape = input.shape();
    shape.set_dim(0, kKind == RowOpKind::kScatter ? num_rows : num_indices);
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &output));
    const DType dtype = ToDType(input.dtype());
    OP_REQUIRES(context, SizeOf(dtype) > 0,
                absl::UnimplementedError(
                    StrCat(kName, ": got ", DataTypeString(input.dtype()),
                           " but expected a numeric or boolean type.")));
    const Step step(context, /*streams=*/nullptr, MakeTeam(context),
                    /*pool=*/nullptr);
    Move(*step.environment().backend, dtype, ToBlock(input), rows,
         ToBlock(*output));
  }

 private:
  static void Move(const Backend& backend, DType dtype, const Block& input,
                   Span<int32_t> rows, const Block& output) {
    if (kKind == RowOpKind::kScatter) {
      backend.Zero(dtype, output);
      backend.ScatterAddRows(dtype, input, rows.data(), output);
    } else if (kKind == RowOpKind::kPush) {
      backend.ScatterRows(dtype, input, rows.data(), output);
    } else {
      backend.GatherRows(dtype, input, rows.data(), output);
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("CavsGather").Device(tensorflow::DEVICE_CPU),
                        RowOp<RowOpKind::kGather>);
REGISTER_KERNEL_BUILDER(Name("CavsScatter").Device(tensorflow::DEVICE_CPU),
                        RowOp<RowOpKind::kScatter>);
REGISTER_KERNEL_BUILDER(Name("CavsPull").Device(tensorflow::DEVICE_CPU),
                        RowOp<RowOpKind::kPull>);
REGISTER_KERNEL_BUILDER(Name("CavsPush").Device(tensorflow::DEVICE_CPU),
                        RowOp<RowOpKind::kPush>);

}  // namespace
}  // namespace cavs
