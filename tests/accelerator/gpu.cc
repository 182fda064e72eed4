// "CAVS_TEST" as GPUs: their memory and their streams are those of the driver
// that the environment variable CAVS_LIBCUDA names. TensorFlow's allocator
// shares out the memory, as it does on a GPU.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "tensorflow/c/experimental/stream_executor/stream_executor.h"
#include "tensorflow/c/tf_status.h"
#include "tests/accelerator/work.h"
#include "tests/cc/cuda/fake_cuda.h"

namespace cavs_test {

class Gpu;

}  // namespace cavs_test

// A stream begins with the driver's handle, by which operators find it.
struct SP_Stream_st {
  void* handle;
  const cavs_test::Gpu* gpu;
};
struct SP_Event_st {
  void* handle;
};
struct SP_Timer_st {};

namespace cavs_test {
namespace {

// The fake driver's addresses differ from those behind them from this bit on.
constexpr int kWallShift = 48;
constexpr int kNotReady = 600;
constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;

using Address = unsigned long long;

Address AddressOf(const SP_DeviceMemoryBase* memory) {
  return reinterpret_cast<Address>(memory->opaque);
}

void RunAndForget(void* argument) {
  const auto* const work = static_cast<std::function<void()>*>(argument);
  (*work)();
  delete work;
}

}  // namespace

// Calls the driver in the primary context of a GPU, as the product does.
class Gpu {
 public:
  explicit Gpu(int ordinal) {
    int device = 0;
    driver_("cuInit", 0u);
    driver_("cuDeviceGet", &device, ordinal);
    driver_("cuDevicePrimaryCtxRetain", &context_, device);
  }

  template <typename... Arguments>
  int operator()(const char* function, Arguments... arguments) const {
    driver_("cuCtxPushCurrent_v2", context_);
    const int result = driver_(function, arguments...);
    void* before = nullptr;
    driver_("cuCtxPopCurrent_v2", &before);
    return result;
  }

  // The same, for a caller that wants a status.
  template <typename... Arguments>
  void Call(TF_Status* status, const char* function,
            Arguments... arguments) const {
    const int result = (*this)(function, arguments...);
    const std::string text =
        std::string(function) + ": " + std::to_string(result);
    TF_SetStatus(status, result == 0 ? TF_OK : TF_INTERNAL, text.c_str());
  }

  // Lets work that is put into a stream from now on wait for another stream.
  void Order(TF_Status* status, void* stream, void* other) const {
    void* event = nullptr;
    (*this)("cuEventCreate", &event, kDisableTiming);
    (*this)("cuEventRecord", event, other);
    Call(status, "cuStreamWaitEvent", stream, event, 0u);
    (*this)("cuEventDestroy_v2", event);
  }

  // TensorFlow's stream of operators, which it makes first.
  mutable void* of_operators = nullptr;

 private:
  cavs::FakeCuda driver_;
  void* context_ = nullptr;
};

void* RealAddress(void* address) {
  constexpr std::uintptr_t kBehind = (std::uintptr_t{1} << kWallShift) - 1;
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) &
                                 kBehind);
}

void Enqueue(SP_Stream stream, std::function<void()> work) {
  (*stream->gpu)(
      "cuLaunchHostFunc", stream->handle, &RunAndForget,
      static_cast<void*>(new std::function<void()>(std::move(work))));
}

namespace {

const Gpu& Of(const SP_Device* device) {
  return *static_cast<const Gpu*>(device->device_handle);
}

void Succeed(TF_Status* status) { TF_SetStatus(status, TF_OK, ""); }

void SetMemoryFunctions(SP_StreamExecutor* made) {
  made->allocate = [](const SP_Device* device, std::uint64_t size, std::int64_t,
                      SP_DeviceMemoryBase* memory) {
    Address address = 0;
    const int result =
        Of(device)("cuMemAlloc_v2", &address, static_cast<std::size_t>(size));
    memory->opaque = result == 0 ? reinterpret_cast<void*>(address) : nullptr;
    memory->size = result == 0 ? size : 0;
  };
  made->deallocate = [](const SP_Device* device, SP_DeviceMemoryBase* memory) {
    Of(device)("cuMemFree_v2", AddressOf(memory));
    memory->opaque = nullptr;
    memory->size = 0;
  };
  made->host_memory_allocate = [](const SP_Device* device, std::uint64_t size) {
    void* memory = nullptr;
    Of(device)("cuMemHostAlloc", &memory, static_cast<std::size_t>(size), 0u);
    return memory;
  };
  made->host_memory_deallocate = [](const SP_Device* device, void* memory) {
    Of(device)("cuMemFreeHost", memory);
  };
  made->get_allocator_stats =
      [](const SP_Device*, SP_AllocatorStats*) -> TF_Bool { return false; };
  made->device_memory_usage = [](const SP_Device* device, std::int64_t* free,
                                 std::int64_t* total) -> TF_Bool {
    std::size_t own_free = 0, own_total = 0;
    Of(device)("cuMemGetInfo_v2", &own_free, &own_total);
    *free = static_cast<std::int64_t>(own_free);
    *total = static_cast<std::int64_t>(own_total);
    return true;
  };
}

void SetStreamFunctions(SP_StreamExecutor* made) {
  made->create_stream = [](const SP_Device* device, SP_Stream* stream,
                           TF_Status* status) {
    *stream = new SP_Stream_st{nullptr, &Of(device)};
    Of(device).Call(status, "cuStreamCreate", &(*stream)->handle, kNonBlocking);
    if (Of(device).of_operators == nullptr) {
      Of(device).of_operators = (*stream)->handle;
    }
  };
  made->destroy_stream = [](const SP_Device* device, SP_Stream stream) {
    Of(device)("cuStreamDestroy_v2", stream->handle);
    delete stream;
  };
  made->create_stream_dependency = [](const SP_Device* device,
                                      SP_Stream dependent, SP_Stream other,
                                      TF_Status* status) {
    Of(device).Order(status, dependent->handle, other->handle);
  };
  made->get_stream_status = [](const SP_Device*, SP_Stream, TF_Status* status) {
    Succeed(status);
  };
  made->block_host_until_done = [](const SP_Device* device, SP_Stream stream,
                                   TF_Status* status) {
    Of(device).Call(status, "cuStreamSynchronize", stream->handle);
  };
  made->synchronize_all_activity = [](const SP_Device* device,
                                      TF_Status* status) {
    Of(device).Call(status, "cuCtxSynchronize");
  };
  made->host_callback = [](const SP_Device*, SP_Stream stream,
                           SE_StatusCallbackFn function,
                           void* argument) -> TF_Bool {
    Enqueue(stream, [function, argument] {
      TF_Status* const status = TF_NewStatus();
      function(argument, status);
      TF_DeleteStatus(status);
    });
    return true;
  };
}

void SetEventFunctions(SP_StreamExecutor* made) {
  made->create_event = [](const SP_Device* device, SP_Event* event,
                          TF_Status* status) {
    *event = new SP_Event_st{nullptr};
    Of(device).Call(status, "cuEventCreate", &(*event)->handle, kDisableTiming);
  };
  made->destroy_event = [](const SP_Device* device, SP_Event event) {
    Of(device)("cuEventDestroy_v2", event->handle);
    delete event;
  };
  made->get_event_status = [](const SP_Device* device, SP_Event event) {
    const int result = Of(device)("cuEventQuery", event->handle);
    if (result == kNotReady) return SE_EVENT_PENDING;
    return result == 0 ? SE_EVENT_COMPLETE : SE_EVENT_ERROR;
  };
  made->record_event = [](const SP_Device* device, SP_Stream stream,
                          SP_Event event, TF_Status* status) {
    Of(device).Call(status, "cuEventRecord", event->handle, stream->handle);
  };
  made->wait_for_event = [](const SP_Device* device, SP_Stream stream,
                            SP_Event event, TF_Status* status) {
    Of(device).Call(status, "cuStreamWaitEvent", stream->handle, event->handle,
                    0u);
  };
  made->block_host_for_event = [](const SP_Device* device, SP_Event event,
                                  TF_Status* status) {
    Of(device).Call(status, "cuEventSynchronize", event->handle);
  };
  made->create_timer = [](const SP_Device*, SP_Timer* timer,
                          TF_Status* status) {
    *timer = new SP_Timer_st;
    Succeed(status);
  };
  made->destroy_timer = [](const SP_Device*, SP_Timer timer) { delete timer; };
  made->start_timer =
      made->stop_timer = [](const SP_Device*, SP_Stream, SP_Timer,
                            TF_Status* status) { Succeed(status); };
}

void SetCopyFunctions(SP_StreamExecutor* made) {
  made->memcpy_dtoh = [](const SP_Device* device, SP_Stream stream, void* to,
                         const SP_DeviceMemoryBase* from, std::uint64_t size,
                         TF_Status* status) {
    Of(device).Call(status, "cuMemcpyDtoHAsync_v2", to, AddressOf(from),
                    static_cast<std::size_t>(size), stream->handle);
  };
  made->memcpy_htod = [](const SP_Device* device, SP_Stream stream,
                         SP_DeviceMemoryBase* to, const void* from,
                         std::uint64_t size, TF_Status* status) {
    // Constants may be copied to memory that operators still use: TensorFlow
    // lets its own GPUs wait for these, but not those of plug-ins.
    Of(device).Order(status, stream->handle, Of(device).of_operators);
    Of(device).Call(status, "cuMemcpyHtoDAsync_v2", AddressOf(to), from,
                    static_cast<std::size_t>(size), stream->handle);
  };
  made->memcpy_dtod = [](const SP_Device* device, SP_Stream stream,
                         SP_DeviceMemoryBase* to,
                         const SP_DeviceMemoryBase* from, std::uint64_t size,
                         TF_Status* status) {
    Of(device).Call(status, "cuMemcpyDtoDAsync_v2", AddressOf(to),
                    AddressOf(from), static_cast<std::size_t>(size),
                    stream->handle);
  };
  made->sync_memcpy_dtoh = [](const SP_Device* device, void* to,
                              const SP_DeviceMemoryBase* from,
                              std::uint64_t size, TF_Status* status) {
    Of(device).Call(status, "cuMemcpyDtoH_v2", to, AddressOf(from),
                    static_cast<std::size_t>(size));
  };
  made->sync_memcpy_htod = [](const SP_Device* device, SP_DeviceMemoryBase* to,
                              const void* from, std::uint64_t size,
                              TF_Status* status) {
    Of(device).Call(status, "cuMemcpyHtoD_v2", AddressOf(to), from,
                    static_cast<std::size_t>(size));
  };
  made->sync_memcpy_dtod = [](const SP_Device* device, SP_DeviceMemoryBase* to,
                              const SP_DeviceMemoryBase* from,
                              std::uint64_t size, TF_Status* status) {
    void* const first = nullptr;
    Of(device)("cuMemcpyDtoDAsync_v2", AddressOf(to), AddressOf(from),
               static_cast<std::size_t>(size), first);
    Of(device).Call(status, "cuCtxSynchronize");
  };
}

void SetFillFunctions(SP_StreamExecutor* made) {
  made->mem_zero = [](const SP_Device* device, SP_Stream stream,
                      SP_DeviceMemoryBase* memory, std::uint64_t size,
                      TF_Status* status) {
    Of(device).Call(status, "cuMemsetD8Async", AddressOf(memory),
                    static_cast<unsigned char>(0),
                    static_cast<std::size_t>(size), stream->handle);
  };
  made->memset = [](const SP_Device* device, SP_Stream stream,
                    SP_DeviceMemoryBase* memory, std::uint8_t pattern,
                    std::uint64_t size, TF_Status* status) {
    Of(device).Call(status, "cuMemsetD8Async", AddressOf(memory),
                    static_cast<unsigned char>(pattern),
                    static_cast<std::size_t>(size), stream->handle);
  };
  made->memset32 = [](const SP_Device*, SP_Stream stream,
                      SP_DeviceMemoryBase* memory, std::uint32_t pattern,
                      std::uint64_t size, TF_Status* status) {
    auto* const words =
        static_cast<std::uint32_t*>(RealAddress(memory->opaque));
    Enqueue(stream, [=] {
      for (std::uint64_t i = 0; i < size / 4; ++i) words[i] = pattern;
    });
    Succeed(status);
  };
}

void SetPlatformFunctions(SP_PlatformFns* made) {
  made->get_device_count = [](const SP_Platform*, int* count,
                              TF_Status* status) {
    const cavs::FakeCuda driver;
    driver("cuInit", 0u);
    driver("cuDeviceGetCount", count);
    Succeed(status);
  };
  made->create_device = [](const SP_Platform*, SE_CreateDeviceParams* params,
                           TF_Status* status) {
    SP_Device* const device = params->device;
    device->struct_size = SP_DEVICE_STRUCT_SIZE;
    device->ordinal = params->ordinal;
    device->device_handle = new Gpu(params->ordinal);
    device->hardware_name = "a GPU that is emulated";
    device->device_vendor = "cavs_tf";
    device->pci_bus_id = "0000:00:00.0";
    Succeed(status);
  };
  made->destroy_device = [](const SP_Platform*, SP_Device* device) {
    delete &Of(device);
  };
  made->create_device_fns = [](const SP_Platform*,
                               SE_CreateDeviceFnsParams* params,
                               TF_Status* status) {
    *params->device_fns = {};
    params->device_fns->struct_size = SP_DEVICE_FNS_STRUCT_SIZE;
    Succeed(status);
  };
  made->destroy_device_fns = [](const SP_Platform*, SP_DeviceFns*) {};
  made->create_stream_executor = [](const SP_Platform*,
                                    SE_CreateStreamExecutorParams* params,
                                    TF_Status* status) {
    SP_StreamExecutor* const executor = params->stream_executor;
    *executor = {};
    executor->struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE;
    SetMemoryFunctions(executor);
    SetStreamFunctions(executor);
    SetEventFunctions(executor);
    SetCopyFunctions(executor);
    SetFillFunctions(executor);
    Succeed(status);
  };
  made->destroy_stream_executor = [](const SP_Platform*, SP_StreamExecutor*) {};
  made->create_timer_fns = [](const SP_Platform*, SP_TimerFns* timer,
                              TF_Status* status) {
    timer->nanoseconds = [](SP_Timer) { return std::uint64_t{0}; };
    Succeed(status);
  };
  made->destroy_timer_fns = [](const SP_Platform*, SP_TimerFns*) {};
}

}  // namespace
}  // namespace cavs_test

extern "C" void SE_InitPlugin(SE_PlatformRegistrationParams* params,
                              TF_Status* status) {
  SP_Platform* const platform = params->platform;
  platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
  platform->name = "CAVS_TEST_PLATFORM";
  // Not "GPU": the kernels of TensorFlow's wheel, which are CUDA's, would run.
  platform->type = "CAVS_TEST";
  platform->use_bfc_allocator = true;
  platform->force_memory_growth = true;
  cavs_test::SetPlatformFunctions(params->platform_fns);
  params->destroy_platform = [](SP_Platform*) {};
  params->destroy_platform_fns = [](SP_PlatformFns*) {};
  TF_SetStatus(status, TF_OK, "");
}
