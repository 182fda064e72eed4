// Adds up rows of a gradient on a GPU.
#ifndef CAVS_CC_KERNELS_SUMS_ON_GPU_H_
#define CAVS_CC_KERNELS_SUMS_ON_GPU_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cc/kernels/cuda_op_device.h"
#include "cc/kernels/sorted_rows.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// Makes a list for a GPU. Returns kUnimplemented unless all numbers are less
// than 2^31.
absl::Status MakeList(const std::vector<int64_t>& numbers,
                      std::vector<int32_t>* list);

// sums[i, :] is the sum of the rows of group i of a gradient, which has rows of
// `columns` elements.
absl::Status SumGroupsOnGpu(const CudaOpDevice& device,
                            tensorflow::OpKernelContext* context,
                            const tensorflow::Tensor& gradient, int64_t columns,
                            const SortedRows& sorted, tensorflow::Tensor* sums);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_SUMS_ON_GPU_H_
