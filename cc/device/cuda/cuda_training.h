// Launches of the kernels of losses and of updates of variables.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_TRAINING_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_TRAINING_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/status.h"
#include "cc/device/block.h"
#include "cc/device/cuda/cuda_context.h"
#include "cc/device/cuda/cuda_kernels.h"
#include "cc/device/cuda/source/training.h"
#include "cc/device/updated_variable.h"

namespace cavs {

// A step of Adam behind `steps` others, or, if `steps` is null, of gradient
// descent at the rate alone. All of them point to a number in memory of the
// GPU.
struct CudaUpdateRule {
  const double* rate = nullptr;  // Without the correction of Adam's bias.
  const int64_t* steps = nullptr;
  const double *beta1 = nullptr, *beta2 = nullptr, *epsilon = nullptr;
};

// All functions enqueue their work and return; the context must be current.
//
// Thread safety: any thread may call any method at any time.
class CudaTraining {
 public:
  explicit CudaTraining(std::shared_ptr<const CudaKernels> kernels);

  // Updates all elements of the variables, which are distinct.
  Status Update(DType dtype, const CudaUpdateRule& rule,
                const std::vector<UpdatedVariable>& variables,
                const CudaQueue& queue) const;
  // Updates the rows of a table of `columns` columns that have these numbers,
  // which are distinct, each by a row of the gradient. The list is in memory of
  // the GPU.
  Status UpdateRows(DType dtype, const CudaUpdateRule& rule,
                    const UpdatedVariable& table, int64_t columns,
                    const int32_t* rows, int64_t num_rows,
                    const CudaQueue& queue) const;
  // loss[r] = -log softmax(logits[r, :])[labels[r]], and its gradient. Rows
  // follow each other, and labels are columns.
  Status CrossEntropy(DType dtype, const ConstBlock& logits,
                      const int32_t* labels, void* loss, void* gradient,
                      const CudaQueue& queue) const;
  // to[r, :] = from[r, :] * factors[r]. Rows follow each other.
  Status ScaleRows(DType dtype, const ConstBlock& from, const void* factors,
                   void* to, const CudaQueue& queue) const;

 private:
  struct UpdateArgs;

  Status LaunchOf(DType dtype, CudaTrainingKernel kernel, const CudaGrid& grid,
                  const CudaQueue& queue, const void* arguments,
                  size_t bytes) const;
  Status LaunchOf(DType dtype, const UpdateArgs& arguments, int64_t blocks,
                  const CudaQueue& queue) const;

  const std::shared_ptr<const CudaKernels> kernels_;
  std::array<CudaFoundKernels, FloatTypes::kSize> of_types_;  // By type.
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_TRAINING_H_
