#include "cc/device/cuda/cuda_training.h"

#include <cstddef>
#include <utility>

#include "cc/base/ceil_div.h"
#include "cc/device/cuda/source/kernels.h"

namespace cavs {
namespace {

// The arguments of kernels, as their text declares them.
struct CrossEntropyArgs {
  const void* logits;
  const int32_t* labels;
  void *loss, *gradient;
  int64_t rows;
  int classes;
};
struct ScaleArgs {
  const void *from, *factors;
  void* to;
  int64_t rows, columns;
};

}  // namespace

struct CudaTraining::UpdateArgs {
  CudaUpdateRule rule;
  int64_t count = 0;
  struct Updated {
    void *var, *m, *v;
    const void* gradient;
    const int32_t* rows;
    int64_t size, columns;
    int first_block;
  } variables[kCudaMostUpdated];
};

CudaTraining::CudaTraining(std::shared_ptr<const CudaKernels> kernels)
    : kernels_(std::move(kernels)) {
  for (size_t i = 0; i < of_types_.size(); ++i) {
    of_types_[i] = KernelsOf(TextOfTraining(FloatTypes::kDTypes[i]));
  }
}

Status CudaTraining::LaunchOf(DType dtype, CudaTrainingKernel kernel,
                              const CudaGrid& grid, const CudaQueue& queue,
                              const void* arguments, size_t bytes) const {
  return kernels_->Launch(
      *of_types_[CudaTypeNumber(dtype)][static_cast<int>(kernel)], grid, queue,
      arguments, bytes);
}

Status CudaTraining::LaunchOf(DType dtype, const UpdateArgs& arguments,
                              int64_t blocks, const CudaQueue& queue) const {
  static_assert(sizeof(UpdateArgs) <= 4096);
  CudaGrid grid;
  grid.x = static_cast<unsigned>(blocks);
  grid.shared_bytes = 4 * sizeof(double);  // The numbers of the rule.
  return LaunchOf(dtype, CudaTrainingKernel::kUpdate, grid, queue, &arguments,
                  sizeof(arguments));
}

Status CudaTraining::Update(DType dtype, const CudaUpdateRule& rule,
                            const std::vector<UpdatedVariable>& variables,
                            const CudaQueue& queue) const {
  UpdateArgs arguments;
  arguments.rule = rule;
  int64_t blocks = 0;
  for (size_t i = 0; i < variables.size(); ++i) {
    const UpdatedVariable& own = variables[i];
    if (own.size > 0) {
      arguments.variables[arguments.count++] = {
          own.var, own.m,    own.v, own.gradient,
          nullptr, own.size, 1,     static_cast<int>(blocks)};
      blocks += CeilDiv(own.size, kCudaUpdatedOfBlock);
    }
    if (arguments.count < kCudaMostUpdated && i + 1 < variables.size()) {
      continue;
    }
    CAVS_RETURN_IF_ERROR(LaunchOf(dtype, arguments, blocks, queue));
    arguments.count = blocks = 0;
  }
  return Status();
}

Status CudaTraining::UpdateRows(DType dtype, const CudaUpdateRule& rule,
                                const UpdatedVariable& table, int64_t columns,
                                const int32_t* rows, int64_t num_rows,
                                const CudaQueue& queue) const {
  UpdateArgs arguments;
  arguments.rule = rule;
  arguments.count = 1;
  arguments.variables[0] = {table.var,      table.m, table.v,
                            table.gradient, rows,    num_rows * columns,
                            columns,        0};
  return LaunchOf(dtype, arguments,
                  CeilDiv(num_rows * columns, kCudaUpdatedOfBlock), queue);
}

Status CudaTraining::CrossEntropy(DType dtype, const ConstBlock& logits,
                                  const int32_t* labels, void* loss,
                                  void* gradient,
                                  const CudaQueue& queue) const {
  const CrossEntropyArgs arguments = {
      logits.data, labels,      loss,
      gradient,    logits.rows, static_cast<int>(logits.cols)};
  return LaunchOf(dtype, CudaTrainingKernel::kCrossEntropy,
                  CudaGridOf(logits.rows), queue, &arguments,
                  sizeof(arguments));
}

Status CudaTraining::ScaleRows(DType dtype, const ConstBlock& from,
                               const void* factors, void* to,
                               const CudaQueue& queue) const {
  const ScaleArgs arguments = {from.data, factors, to, from.rows, from.cols};
  return LaunchOf(dtype, CudaTrainingKernel::kScaleRows,
                  CudaGridOf(from.rows * from.cols), queue, &arguments,
                  sizeof(arguments));
}

}  // namespace cavs
