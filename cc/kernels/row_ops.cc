// Gather, scatter, pull and push as separate ops.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/cuda_op_device.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/register_on_gpu.h"
#include "cc/kernels/team_of.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Reads input 1 as row numbers, each in [lowest, num_rows).
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

// Checks that `order` is a permutation. The ops pull and push accept nothing
// else, so that no row is lost and none is written twice.
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

enum class RowOpKind { kGather, kScatter, kScatterMax, kPull, kPush };

// RowArguments checks the arguments of an op and allocates its output.
template <RowOpKind kKind>
class RowArguments {
 public:
  absl::Status Read(OpKernelContext* context) {
    const Tensor& input = context->input(0);
    const int64_t num_indices = context->input(1).NumElements();
    TF_RETURN_IF_ERROR(CheckMatrix(
        kName, input, kKind == RowOpKind::kGather ? -1 : num_indices));
    dtype = ToDType(input.dtype());
    if (SizeOf(dtype) == 0) {
      return absl::UnimplementedError(
          StrCat(kName, ": got ", DataTypeString(input.dtype()),
                 " but expected a numeric or boolean type."));
    }
    int64_t num_rows = input.dim_size(0);
    if (kScatters) {
      TF_RETURN_IF_ERROR(ReadNumRows(context->input(2), &num_rows));
    }
    TF_RETURN_IF_ERROR(ReadRows(context, kPermutes ? "order" : "child_row",
                                kPermutes ? 0 : -1, num_rows, &rows));
    if (kPermutes) TF_RETURN_IF_ERROR(CheckPermutation(rows));
    return Allocate(context, kScatters ? num_rows : num_indices, &output);
  }

  DType dtype = DType::kOther;
  Span<int32_t> rows;
  Tensor* output = nullptr;

 private:
  static constexpr bool kPermutes =
      kKind == RowOpKind::kPull || kKind == RowOpKind::kPush;
  static constexpr bool kScatters =
      kKind == RowOpKind::kScatter || kKind == RowOpKind::kScatterMax;
  static constexpr const char* kName = kKind == RowOpKind::kGather ? "state"
                                       : kScatters                 ? "values"
                                       : kKind == RowOpKind::kPull ? "input"
                                                                   : "rows";

  static absl::Status ReadNumRows(const Tensor& tensor, int64_t* num_rows) {
    if (tensor.NumElements() != 1) {
      return absl::InvalidArgumentError(
          StrCat("num_rows: got shape ", tensor.shape().DebugString(),
                 " but expected a scalar. Pass one number."));
    }
    *num_rows = tensor.flat<int32_t>()(0);
    if (*num_rows >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("num_rows: got ", *num_rows,
               " but expected at least 0. Pass the number of vertices."));
  }

  static absl::Status Allocate(OpKernelContext* context, int64_t num_rows,
                               Tensor** output) {
    const auto sizes = context->input(0).shape().dim_sizes();
    const std::vector<int64_t> row(sizes.begin() + 1, sizes.end());
    TensorShape shape;
    TF_RETURN_IF_ERROR(
        ShapeOfRows(kName, num_rows, PartialTensorShape(row), &shape));
    return AllocateOutput(context, kName, 0, shape, output);
  }
};

template <RowOpKind kKind>
class RowOp {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
    RowArguments<kKind> own;
    TF_RETURN_IF_ERROR(own.Read(context));
    const std::shared_ptr<Team> team = TeamOf(context);
    const CpuBackend backend(team.get());
    if (kKind == RowOpKind::kScatter && IsNarrow(own.dtype)) {
      return AddAndRound(context, backend, own.dtype, own.rows, own.output);
    }
    Move(backend, own.dtype, ToBlock(context->input(0)), own.rows,
         ToBlock(*own.output));
    return absl::OkStatus();
  }

 private:
  // Adds rows of a narrow type in float32, and rounds the sums.
  static absl::Status AddAndRound(OpKernelContext* context,
                                  const CpuBackend& backend, DType dtype,
                                  Span<int32_t> rows, Tensor* output) {
    Tensor sums;
    TF_RETURN_IF_ERROR(
        context->allocate_temp(tensorflow::DT_FLOAT, output->shape(), &sums));
    backend.Zero(SumType(dtype), ToBlock(sums));
    backend.ScatterAddRows(dtype, ToBlock(context->input(0)), rows.data(),
                           ToBlock(sums));
    backend.RoundSums(dtype, sums.NumElements(), sums.data());
    Block rounded = ToBlock(*output);
    rounded.data = sums.data();
    backend.Copy(dtype, rounded, ToBlock(*output));
    return absl::OkStatus();
  }

  static void TakeMaximum(const CpuBackend& backend, DType dtype,
                          const Block& input, Span<int32_t> rows,
                          const Block& output) {
    backend.Zero(dtype, output);
    std::vector<bool> begun(output.rows, false);
    const auto row_of = [&](const Block& block, int64_t row) {
      return Block{static_cast<char*>(block.data) +
                       row * block.pitch * static_cast<int64_t>(SizeOf(dtype)),
                   1, block.cols, block.pitch};
    };
    for (int64_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < 0) continue;
      const Block from = row_of(input, i), to = row_of(output, rows[i]);
      if (begun[rows[i]]) {
        backend.Binary(Elementwise::kMaximum, dtype, from, to, to);
      } else {
        backend.Copy(dtype, from, to);
      }
      begun[rows[i]] = true;
    }
  }

  static void Move(const CpuBackend& backend, DType dtype, const Block& input,
                   Span<int32_t> rows, const Block& output) {
    if (kKind == RowOpKind::kScatter) {
      backend.Zero(dtype, output);
      backend.ScatterAddRows(dtype, input, rows.data(), output);
    } else if (kKind == RowOpKind::kScatterMax) {
      TakeMaximum(backend, dtype, input, rows, output);
    } else if (kKind == RowOpKind::kPush) {
      backend.ScatterRows(dtype, input, rows.data(), output);
    } else {
      backend.GatherRows(dtype, input, rows.data(), output);
    }
  }
};

// Returns the numbers of rows in the order of their targets, which are in
// [0, num_targets) or negative, and where those of each target begin.
std::pair<std::vector<int32_t>, std::vector<int32_t>> SortByTarget(
    Span<int32_t> targets, int64_t num_targets) {
  std::vector<int32_t> splits(num_targets + 1, 0);
  for (const int32_t target : targets) {
    if (target >= 0) ++splits[target + 1];
  }
  std::partial_sum(splits.begin(), splits.end(), splits.begin());
  std::vector<int32_t> order(splits.back());
  std::vector<int32_t> next(splits.begin(), splits.end() - 1);
  for (int64_t i = 0; i < targets.size(); ++i) {
    if (targets[i] >= 0) order[next[targets[i]]++] = static_cast<int32_t>(i);
  }
  return {std::move(order), std::move(splits)};
}

// The same on a GPU: the host checks the indices and copies them there.
template <RowOpKind kKind>
class RowOpOnGpu : public OpOnGpu {
 public:
  absl::Status Compute(OpKernelContext* context) const {
    RowArguments<kKind> own;
    TF_RETURN_IF_ERROR(own.Read(context));
    if (own.output->NumElements() == 0) return absl::OkStatus();
    const Block to = ToBlock(*own.output);
    ConstBlock from = ToBlock(context->input(0));
    std::vector<int32_t> order, splits;
    std::vector<Span<int32_t>> lists = {own.rows};
    if (kAdds) {
      std::tie(order, splits) = SortByTarget(own.rows, to.rows);
      lists = {order, splits};
    }
    return device().Enqueue(
        context, lists, [&](const CudaOpDevice::Work& work) {
          if (kKind != RowOpKind::kPush) from.index = work.lists[0];
          if (kAdds) {
            return work.kernels.ReduceEdges(
                own.dtype, kKind == RowOpKind::kScatterMax, from, work.lists[1],
                /*first_edge=*/0, to, work.stream->queue());
          }
          return work.kernels.Move(
              {{SizeOf(own.dtype), from, to,
                kKind == RowOpKind::kPush ? work.lists[0] : nullptr}},
              work.stream->queue());
        });
  }

 private:
  static constexpr bool kAdds =
      kKind == RowOpKind::kScatter || kKind == RowOpKind::kScatterMax;
};

// Numbers that TensorFlow keeps in memory of the host, int32, stay there.
template <RowOpKind kKind, typename... Types>
bool RegisterRowOpOnGpu(const char* op,
                        std::initializer_list<const char*> on_host,
                        Types... moved) {
  return RegisterOnGpu<GuardedOp<RowOpOnGpu<kKind>>>(
      op, on_host,
      {tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE, tensorflow::DT_BFLOAT16,
       tensorflow::DT_HALF, moved...});
}

[[maybe_unused]] const bool kOnGpu[] = {
    RegisterRowOpOnGpu<RowOpKind::kGather>("CavsGather", {"child_row"},
                                           tensorflow::DT_INT64),
    RegisterRowOpOnGpu<RowOpKind::kScatter>("CavsScatter",
                                            {"child_row", "num_rows"}),
    RegisterRowOpOnGpu<RowOpKind::kScatterMax>("CavsScatterMax",
                                               {"child_row", "num_rows"}),
    RegisterRowOpOnGpu<RowOpKind::kPull>(
        "CavsPull", {"order"}, tensorflow::DT_INT64, tensorflow::DT_BOOL),
    RegisterRowOpOnGpu<RowOpKind::kPush>(
        "CavsPush", {"order"}, tensorflow::DT_INT64, tensorflow::DT_BOOL)};

REGISTER_KERNEL_BUILDER(Name("CavsGather").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<RowOp<RowOpKind::kGather>>);
REGISTER_KERNEL_BUILDER(Name("CavsScatter").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<RowOp<RowOpKind::kScatter>>);
REGISTER_KERNEL_BUILDER(Name("CavsScatterMax").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<RowOp<RowOpKind::kScatterMax>>);
REGISTER_KERNEL_BUILDER(Name("CavsPull").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<RowOp<RowOpKind::kPull>>);
REGISTER_KERNEL_BUILDER(Name("CavsPush").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<RowOp<RowOpKind::kPush>>);

}  // namespace
}  // namespace cavs
