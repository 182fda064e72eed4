#include "cc/kernels/sums_on_gpu.h"

#include <algorithm>
#include <limits>

#include "cc/base/status.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/program_builder.h"

namespace cavs {

absl::Status MakeList(const std::vector<int64_t>& numbers,
                      std::vector<int32_t>* list) {
  const auto most = std::max_element(numbers.begin(), numbers.end());
  if (most != numbers.end() && *most > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(
        StrCat("variable, gradient: got row ", *most,
               " but expected fewer than 2^31 rows on a GPU. Put the variable "
               "on the CPU."));
  }
  list->assign(numbers.begin(), numbers.end());
  return absl::OkStatus();
}

absl::Status SumGroupsOnGpu(const CudaOpDevice& device,
                            tensorflow::OpKernelContext* context,
                            const tensorflow::Tensor& gradient, int64_t columns,
                            const SortedRows& sorted,
                            tensorflow::Tensor* sums) {
  std::vector<int32_t> order, splits;
  TF_RETURN_IF_ERROR(MakeList(sorted.order, &order));
  TF_RETURN_IF_ERROR(MakeList(sorted.splits, &splits));
  const DType dtype = ToDType(gradient.dtype());
  return device.Enqueue(
      context, {order, splits}, [&](const CudaOpDevice::Work& work) {
        ConstBlock from = {gradient.data(), sorted.splits.back(), columns,
                           columns};
        from.index = work.lists[0];
        return work.kernels.ReduceEdges(
            dtype, /*maximum=*/false, from, work.lists[1], /*first_edge=*/0,
            {sums->data(), sorted.groups().count, columns, columns},
            work.stream->queue());
      });
}

}  // namespace cavs
