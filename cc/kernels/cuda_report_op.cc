#include <string>
#include <vector>

#include "cc/kernels/cuda_op_device.h"
#include "cc/kernels/guarded_op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

class CudaReportOp {
 public:
  absl::Status Init(tensorflow::OpKernelConstruction*) {
    return absl::OkStatus();
  }

  absl::Status Compute(tensorflow::OpKernelContext* context) const {
    const std::vector<std::string> found = CudaOpDevice::Report();
    tensorflow::Tensor* lines = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(
        0, {static_cast<int64_t>(found.size())}, &lines));
    for (size_t i = 0; i < found.size(); ++i) {
      lines->vec<tensorflow::tstring>()(i) = found[i];
    }
    return absl::OkStatus();
  }
};

REGISTER_KERNEL_BUILDER(Name("CavsCudaReport").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<CudaReportOp>);

}  // namespace
}  // namespace cavs
