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

// What CavsForward or CavsBackward would take, without running it.
class MemoryOp : public OpKernel {
 public:
  explicit MemoryOp(OpKernelConstruction* context) : OpKernel(context) {
    bool gradient, keep_tape;
    int streams;
    OP_REQUIRES_OK(context, context->GetAttr("gradient", &gradient));
    OP_REQUIRES_OK(context, context->GetAttr("keep_tape", &keep_tape));
    OP_REQUIRES_OK(context, context->GetAttr("streams", &streams));
    pass_ = gradient    ? Pass::kBackward
            : keep_tape ? Pass::kForward
                        : Pass::kInference;
    two_streams_ = streams == 2;
    OP_REQUIRES_OK(
        context, Compile(context, "vertex", gradient || keep_tape, &compiled_));
  }

  void Compute(OpKernelContext* context) override {
    ScheduleView schedule;
    OP_REQUIRES_OK(context, ReadSchedule(context, compiled_.model, &schedule));
    SerialWorkers workers;
    const CpuBackend backend(&workers);
    engine::Engine engine(engine::Naive());  // Nothing runs.
    Environment environment;
    environment.backend = &backend;
    environment.cache_bytes = CacheBytes();
    if (two_streams_) environment.engine = &engine;
    const MemoryNeed need =
        PredictMemory(compiled_.model, schedule, pass_, environment);
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({4}), &output));
    auto bytes = output->vec<int64_t>();
    bytes(0) = static_cast<int64_t>(need.state);
    bytes(1) = static_cast<int64_t>(need.tape);
    bytes(2) = static_cast<int64_t>(need.temporaries);
    bytes(3) = static_cast<int64_t>(need.packed_weights);
  }

 private:
  Pass pass_ = Pass::kInference;
  bool two_streams_ = false;
  CompiledModel compiled_;
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
