#include <algorithm>
#include <cstdint>

#include "cc/backend/cpu/cpu_backend.h"
#include "cc/core/executor.h"
#include "cc/engine/engine.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/read_schedule.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// What CavsForward and CavsBackward would take, without running them.
class MemoryOp : public OpKernel {
 public:
  explicit MemoryOp(OpKernelConstruction* context) : OpKernel(context) {
    int streams;
    OP_REQUIRES_OK(context, context->GetAttr("streams", &streams));
    two_streams_ = streams == 2;
    OP_REQUIRES_OK(
        context, Compile(context, "vertex", /*keep_results=*/true, &forward_));
    OP_REQUIRES_OK(context, Compile(context, "vertex", /*keep_results=*/false,
                                    &inference_));
    OP_REQUIRES_OK(context, Compile(context, "gradient", /*keep_results=*/true,
                                    &backward_));
    OP_REQUIRES(
        context,
        !has_backward() || MayBeDerivative(backward_.model, forward_.model),
        absl::InvalidArgumentError(
            "gradient_functions: got those of other vertex functions but "
            "expected none, or the derivatives of vertex_functions."));
  }

  void Compute(OpKernelContext* context) override {
    ScheduleView schedule;
    OP_REQUIRES_OK(context, ReadSchedule(context, forward_.model, &schedule));
    SerialWorkers workers;
    const CpuBackend backend(&workers);
    engine::Engine engine(engine::Naive());  // Nothing runs.
    Environment environment;
    environment.backend = &backend;
    environment.cache_bytes = CacheBytes();
    if (two_streams_) environment.engine = &engine;
    const MemoryNeed needs[] = {
        PredictMemory(forward_.model, schedule, /*keep_tape=*/true,
                      environment),
        has_backward() ? PredictBackwardMemory(backward_.model, forward_.model,
                                               schedule, environment)
                       : MemoryNeed(),
        PredictMemory(inference_.model, schedule, /*keep_tape=*/false,
                      environment)};
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({3, 4}), &output));
    auto bytes = output->matrix<int64_t>();
    for (int pass = 0; pass < 3; ++pass) {
      const MemoryNeed& need = needs[pass];
      bytes(pass, 0) = static_cast<int64_t>(need.state);
      bytes(pass, 1) = static_cast<int64_t>(need.tape);
      bytes(pass, 2) = static_cast<int64_t>(need.temporaries);
      bytes(pass, 3) = static_cast<int64_t>(need.packed_weights);
    }
  }

 private:
  bool has_backward() const { return !backward_.model.programs.empty(); }

  bool two_streams_ = false;
  CompiledModel forward_, inference_, backward_;
};

class AvailableMemoryOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &output));
    output->scalar<int64_t>()() = static_cast<int64_t>(
        std::min(AvailableMemory(), static_cast<size_t>(INT64_MAX)));
  }
};

REGISTER_KERNEL_BUILDER(
    Name("CavsAvailableMemory").Device(tensorflow::DEVICE_CPU),
    AvailableMemoryOp);
REGISTER_KERNEL_BUILDER(Name("CavsMemory").Device(tensorflow::DEVICE_CPU),
                        MemoryOp);

}  // namespace
}  // namespace cavs
