#include "cc/kernels/cuda_op_device.h"

#include <dlfcn.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cc/device/cuda/cuda_context.h"
#include "cc/kernels/framework_memory.h"
#include "cc/kernels/status_util.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tsl/platform/tensor_float_32_utils.h"
#include "xla/stream_executor/stream.h"
#include "xla/stream_executor/stream_executor.h"

namespace cavs {
namespace {

// Returns the files in which `pip install 'tensorflow[and-cuda]'` puts NVIDIA's
// libraries, next to the folder of TensorFlow.
CudaContext::Libraries LibrariesBesideFramework() {
  Dl_info framework;
  if (dladdr(reinterpret_cast<void*>(&TF_NewStatus), &framework) == 0) {
    return {};
  }
  const std::string path = framework.dli_fname;
  const std::string folder = path.substr(0, path.rfind('/')) + "/../nvidia/";
  return {{folder + "cuda_nvrtc/lib/libnvrtc.so.12",
           folder + "cu13/lib/libnvrtc.so.13"},
          {folder + "cublas/lib/libcublasLt.so.12",
           folder + "cu13/lib/libcublasLt.so.13"}};
}

// Returns the driver's number of the op's GPU. TensorFlow's number differs if
// not all GPUs are visible, but it is the only number that a plug-in has.
int OrdinalOf(tensorflow::OpKernelConstruction* context) {
  const auto* info = context->device()->tensorflow_accelerator_device_info();
  const int ordinal = info->stream->parent()->device_ordinal();
  return ordinal >= 0 ? ordinal : info->gpu_id;
}

// Returns the driver's handle of the stream in which TensorFlow puts the op's
// work.
CudaStreamHandle StreamOf(tensorflow::OpKernelContext* context) {
  tensorflow::DeviceContext* const own = context->op_device_context();
  if (!own->IsPluggableDevice()) {
    return static_cast<CudaStreamHandle>(
        own->stream()->platform_specific_handle().stream);
  }
  // The stream of a plug-in begins with the driver's handle.
  const std::unique_ptr<TF_Status, void (*)(TF_Status*)> status(
      TF_NewStatus(), TF_DeleteStatus);
  return *reinterpret_cast<CudaStreamHandle*>(TF_GetStream(
      reinterpret_cast<TF_OpKernelContext*>(context), status.get()));
}

}  // namespace

class CudaOpDevice::Resource : public tensorflow::ResourceBase {
 public:
  explicit Resource(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}

  const std::shared_ptr<const Gpu>& gpu() const { return gpu_; }
  std::string DebugString() const override { return "GPU of cavs_tf"; }

 private:
  const std::shared_ptr<const Gpu> gpu_;
};

absl::Status CudaOpDevice::Make(tensorflow::OpKernelConstruction* context,
                                bool two_streams,
                                std::unique_ptr<const CudaOpDevice>* device) {
  tensorflow::ResourceMgr* const manager = context->resource_manager();
  Resource* found = nullptr;
  TF_RETURN_IF_ERROR(manager->LookupOrCreate<Resource>(
      manager->default_container(), "cavs_gpu", &found,
      [context](Resource** created) {
        auto gpu = std::make_shared<Gpu>();
        TF_RETURN_IF_ERROR(Open(context, gpu.get()));
        *created = new Resource(std::move(gpu));
        return absl::OkStatus();
      }));
  const tensorflow::core::ScopedUnref unref(found);
  auto memory = std::make_shared<FrameworkMemory>(
      context->device()->GetAllocator(tensorflow::AllocatorAttributes()));
  device->reset(new CudaOpDevice(found->gpu(), std::move(memory), two_streams));
  return absl::OkStatus();
}

std::vector<std::string> CudaOpDevice::Report() {
  return CudaContext::Report(LibrariesBesideFramework());
}

absl::Status CudaOpDevice::Open(tensorflow::OpKernelConstruction* context,
                                Gpu* gpu) {
  std::shared_ptr<const CudaContext> opened;
  TF_RETURN_IF_ERROR(ToAbsl(CudaContext::Open(
      OrdinalOf(context), LibrariesBesideFramework(), &opened)));
  gpu->kernels = std::make_shared<CudaKernels>(std::move(opened));
  gpu->training = std::make_unique<CudaTraining>(gpu->kernels);
  return ToAbsl(CudaStream::New(gpu->kernels, &gpu->second));
}

CudaOpDevice::CudaOpDevice(std::shared_ptr<const Gpu> gpu,
                           std::shared_ptr<Memory> memory, bool two_streams)
    : gpu_(std::move(gpu)),
      device_(gpu_->kernels,
              [&] {
                CudaDevice::Options options;
                options.memory = std::move(memory);
                return options;
              }()),
      two_streams_(two_streams) {}

absl::Status CudaOpDevice::Enqueue(
    tensorflow::OpKernelContext* context,
    const std::vector<Span<int32_t>>& lists,
    absl::FunctionRef<Status(const Work&)> work) const {
  tensorflow::Tensor memory;
  if (!lists.empty()) {
    const auto bytes = static_cast<int64_t>(device_.BytesOfLists(lists));
    TF_RETURN_IF_ERROR(context->allocate_temp(
        tensorflow::DT_UINT8, tensorflow::TensorShape({bytes}), &memory));
  }
  CudaStream stream(gpu_->kernels, StreamOf(context));
  Work own = {*gpu_->kernels, *gpu_->training, &stream, {}};
  if (!lists.empty()) {
    TF_RETURN_IF_ERROR(
        ToAbsl(device_.Upload(lists, memory.data(), &stream, &own.lists)));
  }
  return ToAbsl(work(own));
}

// All steps share the second stream. TensorFlow's stream waits for the work in
// the second one. TensorFlow can therefore give memory to later work, and the
// host waits for neither stream.
absl::Status CudaOpDevice::RunInStreams(tensorflow::OpKernelContext* context,
                                        bool one_stream, StepContext* own,
                                        Step step) const {
  const bool tf32 = tsl::tensor_float_32_execution_enabled();
  CudaStream stream(gpu_->kernels, StreamOf(context));
  stream.set_tf32(tf32);
  std::optional<CudaStream> other;
  own->stream = &stream;
  if (two_streams_ && !one_stream) {
    own->other = &other.emplace(gpu_->kernels, gpu_->second->handle());
    other->set_tf32(tf32);
  }
  return ToAbsl(step(*own));
}

}  // namespace cavs
