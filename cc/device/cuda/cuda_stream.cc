#include "cc/device/cuda/cuda_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cavs {
namespace {

class CudaEvent : public Event {
 public:
  // `before` is the outcome of what was put into the stream before.
  static std::shared_ptr<CudaEvent> RecordIn(const CudaContext& context,
                                             CudaStreamHandle stream,
                                             const Status& before) {
    CudaEventHandle handle = nullptr;
    const CudaDriver& driver = context.driver();
    CudaResult result = driver.EventCreate(&handle, kCudaEventDisableTiming);
    if (result == 0) result = driver.EventRecord(handle, stream);
    return std::make_shared<CudaEvent>(
        context, handle,
        before.ok() ? driver.Check(result, "recording an event") : before);
  }

  CudaEvent(const CudaContext& context, CudaEventHandle handle, Status status)
      : context_(context), handle_(handle), status_(std::move(status)) {}
  // The driver keeps what streams still wait for.
  ~CudaEvent() override {
    if (handle_ == nullptr) return;
    const CudaContext::Current current(context_);
    context_.driver().EventDestroy(handle_);
  }

  CudaEventHandle handle() const { return handle_; }
  const Status& status() const { return status_; }

 private:
  const CudaContext& context_;
  const CudaEventHandle handle_;
  const Status status_;
};

CudaAddress AddressOf(const void* data) {
  return reinterpret_cast<CudaAddress>(data);
}

}  // namespace

Status CudaStream::New(std::shared_ptr<const CudaKernels> kernels,
                       std::unique_ptr<CudaStream>* stream) {
  const CudaContext& context = kernels->context();
  const CudaContext::Current current(context);
  CudaStreamHandle handle = nullptr;
  CAVS_RETURN_IF_ERROR(context.driver().Check(
      context.driver().StreamCreate(&handle, kCudaStreamNonBlocking),
      "making a stream"));
  stream->reset(new CudaStream(std::move(kernels), handle, /*owns=*/true));
  return Status();
}

CudaStream::CudaStream(std::shared_ptr<const CudaKernels> kernels,
                       CudaStreamHandle handle)
    : CudaStream(std::move(kernels), handle, /*owns=*/false) {}

CudaStream::CudaStream(std::shared_ptr<const CudaKernels> kernels,
                       CudaStreamHandle handle, bool owns)
    : kernels_(std::move(kernels)),
      handle_(handle),
      owns_(owns),
      current_(owns ? nullptr : &context()) {}

CudaStream::~CudaStream() {
  if (!owns_) return;
  const CudaContext::Current current = Enter();
  driver().StreamSynchronize(handle_);
  driver().StreamDestroy(handle_);
}

Status CudaStream::BeginTasks() {
  CAVS_RETURN_IF_ERROR(Flush());
  collects_ = walks_;
  return Status();
}

Status CudaStream::EndTasks() { return Flush(); }

Status CudaStream::Flush() {
  if (!std::exchange(collects_, false)) return Status();
  const CudaContext::Current current = Enter();
  return walk_.Run(*kernels_, handle_, walk_memory_, walk_bytes_);
}

Status CudaStream::Zero(void* to, size_t bytes) {
  if (bytes == 0) return Status();
  CAVS_RETURN_IF_ERROR(Flush());
  const CudaContext::Current current = Enter();
  return driver().Check(
      driver().MemsetD8Async(AddressOf(to), 0, bytes, handle_),
      "setting memory to zero");
}

Status CudaStream::Copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0 || to == from) return Status();
  CAVS_RETURN_IF_ERROR(Flush());
  const CudaContext::Current current = Enter();
  return driver().Check(
      driver().MemcpyDtoDAsync(AddressOf(to), AddressOf(from), bytes, handle_),
      "copying memory");
}

Status CudaStream::CopyIn(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return Status();
  CAVS_RETURN_IF_ERROR(Flush());
  const CudaContext::Current current = Enter();
  std::unique_ptr<PinnedBuffers::Buffer> staging;
  CAVS_RETURN_IF_ERROR(kernels_->pinned().Take(bytes, &staging));
  std::memcpy(staging->data, from, bytes);
  const Status status = driver().Check(
      driver().MemcpyHtoDAsync(AddressOf(to), staging->data, bytes, handle_),
      "copying to the GPU");
  const Status returned =
      kernels_->pinned().GiveBack(std::move(staging), handle_);
  return status.ok() ? returned : status;
}

Status CudaStream::Add(DType dtype, const void* terms, int64_t n, void* sums) {
  if (!IsNative(dtype)) {
    return Status(StatusCode::kUnimplemented,
                  "sums of this type cannot be added up");
  }
  CAVS_RETURN_IF_ERROR(Flush());
  const CudaContext::Current current = Enter();
  return kernels_->Add(dtype, terms, n, sums, direct());
}

std::shared_ptr<Event> CudaStream::Record() {
  const Status ended = Flush();
  const CudaContext::Current current = Enter();
  return CudaEvent::RecordIn(context(), handle_, ended);
}

Status CudaStream::Wait(std::shared_ptr<Event> event) {
  const auto& own = static_cast<const CudaEvent&>(*event);
  CAVS_RETURN_IF_ERROR(own.status());
  CAVS_RETURN_IF_ERROR(Flush());
  const CudaContext::Current current = Enter();
  return driver().Check(driver().StreamWaitEvent(handle_, own.handle(), 0),
                        "waiting for another stream");
}

Status CudaStream::Synchronize() {
  const Status flushed = Flush();
  const CudaContext::Current current = Enter();
  const Status done =
      driver().Check(driver().StreamSynchronize(handle_), "the work of a step");
  return flushed.ok() ? done : flushed;
}

Status CudaStream::Retire() {
  const Status done = owns_ ? Synchronize() : Flush();
  walk_bytes_ = 0;
  walk_memory_ = nullptr;
  return done;
}

}  // namespace cavs
