// The texts of the kernels that do not depend on a program.
#ifndef CAVS_CC_DEVICE_CUDA_SOURCE_KERNELS_H_
#define CAVS_CC_DEVICE_CUDA_SOURCE_KERNELS_H_

#include <memory>

#include "cc/base/dtype.h"
#include "cc/device/cuda/source/text.h"

namespace cavs {

// The most products of a launch, and of one with a group behind them.
constexpr int kCudaMostProducts = 16;
constexpr int kCudaMostProductsOfGroup = 8;
// The most terms of a sum of rows that products read.
constexpr int kCudaMostSummed = 4;

// The name of a native type in kernels, and its number among FloatTypes.
const char* CudaTypeName(DType dtype);
int CudaTypeNumber(DType dtype);

// Moves of rows in units of 1, 2, 4, 8 and 16 bytes.
std::shared_ptr<const CudaText> TextOfMoves();
// Products, sums and reductions of a native type, in this order.
enum class CudaKernel : int {
  kProductsFew,
  kProductsFewVector,
  kProductsOfSum,  // As the one before; some of them read a sum of rows.
  kProductsMany,
  kProductsManyVector,
  kProductsLarge,  // In tiles of 128 by 128; for float64, of 64 by 64.
  kSums,
  kSumsLarge,
  kAddParts,
  kAddRows,
  kRoundRows,
  kSumColumns,
  kSumEdges,
  kMaxEdges,
  kToMask,
  kAdd,
  kRoundAll,
  kDrawMask,
  kCast,  // From the first of FloatTypes; further kernels are from the others.
};
// With `tf32`, the operands of large products of float32 are rounded to TF32,
// for tensor cores.
std::shared_ptr<const CudaText> TextOfKernels(DType dtype, bool tf32 = false);
// One kernel: products of few rows, which are read four elements at a time, and
// then a group (see TextOfGroup) over the rows and columns that each block has
// computed. If `summed` is set, some of the products may read a sum of rows.
std::shared_ptr<const CudaText> TextOfProductsThenGroup(const CudaText& group,
                                                        DType dtype,
                                                        bool summed = false);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_SOURCE_KERNELS_H_
