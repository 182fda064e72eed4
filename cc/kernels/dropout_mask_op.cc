#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/workers.h"
#include "cc/ir/foreign_op.h"
#include "cc/kernels/cuda_op_device.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/register_on_gpu.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// MaskArguments are the attributes of the op, and the output of a call.
class MaskArguments {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("rate", &mask_.rate));
    TF_RETURN_IF_ERROR(context->GetAttr("shape", &shape_));
    columns_ = shape_.num_elements();
    int number = 0;
    TF_RETURN_IF_ERROR(context->GetAttr("number", &number));
    mask_.number = static_cast<uint32_t>(number);
    if (mask_.rate >= 0 && mask_.rate < 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("rate: got ", mask_.rate,
               " but expected one in [0, 1), the share that is dropped."));
  }

  // Checks the shapes of the inputs and allocates the output.
  absl::Status Allocate(OpKernelContext* context, Tensor** output) const {
    const Tensor& rows = context->input(0);
    const Tensor& seed = context->input(1);
    if (rows.dims() != 1 || seed.dims() != 1 || seed.NumElements() != 2) {
      return absl::InvalidArgumentError(
          StrCat("rows, seed: got shapes ", rows.shape().DebugString(), " and ",
                 seed.shape().DebugString(), " but expected [rows] and [2]."));
    }
    tensorflow::TensorShape shape({rows.dim_size(0)});
    TF_RETURN_IF_ERROR(shape.AppendShapeWithStatus(shape_));
    return context->allocate_output(0, shape, output);
  }

  const DrawnMask& mask() const { return mask_; }
  // The numbers of rows, which are in the memory of the host.
  static Span<int32_t> RowsOf(OpKernelContext* context) {
    const auto rows = context->input(0).vec<int32_t>();
    return {rows.data(), rows.size()};
  }
  Block BlockOf(const Tensor& output) const {
    return {output.data(), output.dim_size(0), columns_, columns_};
  }

 private:
  DrawnMask mask_;
  tensorflow::TensorShape shape_;  // The shape of a row.
  int64_t columns_ = 0;
};

// DropoutMaskOp draws a mask of dropout on the CPU (see DrawnMask).
class DropoutMaskOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    return own_.Init(context);
  }

  absl::Status Compute(OpKernelContext* context) const {
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(own_.Allocate(context, &output));
    const auto keys = context->input(1).vec<int64_t>();
    const RandomMask drawn = {
        {static_cast<uint32_t>(keys(0)), static_cast<uint32_t>(keys(1))},
        own_.mask().number,
        own_.mask().threshold()};
    SerialWorkers workers;
    CpuBackend(&workers).DrawMasks(ToDType(output->dtype()), drawn,
                                   MaskArguments::RowsOf(context).data(),
                                   own_.mask().kept(), own_.BlockOf(*output));
    return absl::OkStatus();
  }

 private:
  MaskArguments own_;
};

// The same on a GPU, where the seed is too; the host copies the numbers of rows
// there.
class DropoutMaskOnGpuOp : public OpOnGpu {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(own_.Init(context));
    return OpOnGpu::Init(context);
  }

  absl::Status Compute(OpKernelContext* context) const {
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(own_.Allocate(context, &output));
    if (output->NumElements() == 0) return absl::OkStatus();
    const Block to = own_.BlockOf(*output);
    const Span<int32_t> rows = MaskArguments::RowsOf(context);
    return device().Enqueue(
        context, {rows}, [&](const CudaOpDevice::Work& work) {
          return work.kernels.DrawMask(ToDType(output->dtype()), own_.mask(),
                                       ConstBlock(work.lists[0], to.rows, 1, 1),
                                       context->input(1).data(), to,
                                       work.stream->queue());
        });
  }

 private:
  MaskArguments own_;
};

REGISTER_KERNEL_BUILDER(Name("CavsDropoutMask").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<DropoutMaskOp>);

[[maybe_unused]] const bool kOnGpu =
    RegisterOnGpu<GuardedOp<DropoutMaskOnGpuOp>>("CavsDropoutMask", {"rows"});

}  // namespace
}  // namespace cavs
