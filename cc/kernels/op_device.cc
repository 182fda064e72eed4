#include "cc/kernels/op_device.h"

#include <utility>

#include "cc/base/status.h"
#include "cc/exec/guards.h"
#include "cc/kernels/cpu_op_device.h"
#include "cc/kernels/cuda_op_device.h"
#include "cc/kernels/profiler_tracer.h"
#include "tensorflow/core/framework/cancellation.h"

namespace cavs {

absl::Status ReadStreams(tensorflow::OpKernelConstruction* context,
                         int* count) {
  TF_RETURN_IF_ERROR(context->GetAttr("streams", count));
  if (*count == 1 || *count == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("streams: got ", *count, " but expected 1 or 2."));
}

absl::Status OpDevice::Make(tensorflow::OpKernelConstruction* context,
                            int streams,
                            std::unique_ptr<const OpDevice>* device) {
  const bool two_streams = streams == 2;
  if (context->device_type() != tensorflow::DEVICE_CPU) {
    std::unique_ptr<const CudaOpDevice> gpu;
    TF_RETURN_IF_ERROR(CudaOpDevice::Make(context, two_streams, &gpu));
    *device = std::move(gpu);
    return absl::OkStatus();
  }
  *device = std::make_unique<CpuOpDevice>(two_streams);
  return absl::OkStatus();
}

std::string OpDevice::NameOfMemory(tensorflow::OpKernelContext* context) const {
  return device().memory()->is_host() ? "" : context->device()->name();
}

std::shared_ptr<StoragePool> OpDevice::NewPool() const {
  const std::shared_ptr<Memory> memory = device().memory();
  return std::make_shared<StoragePool>(memory,
                                       GuardZonesWanted() && memory->is_host());
}

absl::Status OpDevice::Run(tensorflow::OpKernelContext* context,
                           StoragePool* pool, bool one_stream,
                           Step step) const {
  ProfilerTracer tracer;
  StepContext own;
  own.pool = pool;
  own.host = context;
  if (ProfilerTracer::IsActive()) {
    (ProfilerTracer::IsOutlineWanted() ? own.outline : own.tracer) = &tracer;
  }
  if (auto* manager = context->cancellation_manager()) {
    own.cancelled = [manager] { return manager->IsCancelled(); };
  }
  return RunInStreams(context, one_stream, &own, step);
}

}  // namespace cavs
