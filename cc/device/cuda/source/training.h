// The text of the kernels of losses and of updates of variables.
#ifndef CAVS_CC_DEVICE_CUDA_SOURCE_TRAINING_H_
#define CAVS_CC_DEVICE_CUDA_SOURCE_TRAINING_H_

#include <memory>

#include "cc/base/dtype.h"
#include "cc/device/cuda/source/text.h"

namespace cavs {

// The most variables of a launch, whose arguments take at most 4096 bytes.
constexpr int kCudaMostUpdated = 60;
// The elements of a variable that a block updates.
constexpr int kCudaUpdatedOfBlock = 4 * kCudaThreads;

// The kernels of a native type, in this order.
enum class CudaTrainingKernel : int { kUpdate, kCrossEntropy, kScaleRows };
std::shared_ptr<const CudaText> TextOfTraining(DType dtype);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_SOURCE_TRAINING_H_
