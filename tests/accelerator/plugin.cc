// "CAVS_TEST": a device that TensorFlow loads as it loads the one of a vendor.
// The host cannot touch its memory, and its streams run behind the host.
//
// Read from the environment when the device is made:
//   CAVS_TEST_SLOW  microseconds by which each item of work lags;
//   CAVS_TEST_BFC   if set, TensorFlow's allocator shares out the memory, as on
//                   a GPU; else each tensor is an allocation of its own, and
//                   use after it was freed ends the process.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/c/experimental/stream_executor/stream_executor.h"
#include "tensorflow/c/tf_status.h"
#include "tests/accelerator/memory.h"
#include "tests/accelerator/stream.h"
#include "tests/accelerator/work.h"

struct SP_Timer_st {};

namespace cavs_test {
namespace {

constexpr std::int64_t kCapacity = std::int64_t{1} << 32;

class Device {
 public:
  Device() {
    const char* const slow = std::getenv("CAVS_TEST_SLOW");
    lag_ = std::chrono::microseconds(slow == nullptr ? 0 : std::atoi(slow));
  }

  WalledMemory& memory() { return memory_; }

  SP_Stream AddStream() {
    std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(std::make_unique<SP_Stream_st>(lag_));
    return streams_.back().get();
  }

  void RemoveStream(SP_Stream stream) {
    std::unique_ptr<SP_Stream_st> removed;
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(
        streams_.begin(), streams_.end(),
        [stream](const auto& owned) { return owned.get() == stream; });
    removed = std::move(*found);
    streams_.erase(found);
  }

  // Frees memory after all work that was enqueued before, as a GPU does.
  void FreeAfterWork(void* address) {
    std::shared_ptr<void> freed(
        address, [this](void* address) { memory_.Free(address); });
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& stream : streams_) stream->EnqueueMark([freed] {});
  }

 private:
  WalledMemory memory_;
  std::chrono::microseconds lag_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SP_Stream_st>> streams_;  // Guarded by mutex_.
};

Device& Of(const SP_Device* device) {
  return *static_cast<Device*>(device->device_handle);
}

char* Bytes(const SP_DeviceMemoryBase* memory) {
  return Real(static_cast<char*>(memory->opaque));
}

void Succeed(TF_Status* status) { TF_SetStatus(status, TF_OK, ""); }

void SetMemoryFunctions(SP_StreamExecutor* made) {
  made->allocate = [](const SP_Device* device, std::uint64_t size, std::int64_t,
                      SP_DeviceMemoryBase* memory) {
    memory->opaque = Of(device).memory().Allocate(size);
    memory->size = memory->opaque == nullptr ? 0 : size;
  };
  made->deallocate = [](const SP_Device* device, SP_DeviceMemoryBase* memory) {
    if (memory->opaque != nullptr) Of(device).FreeAfterWork(memory->opaque);
    memory->opaque = nullptr;
    memory->size = 0;
  };
  made->host_memory_allocate = [](const SP_Device*, std::uint64_t size) {
    return std::aligned_alloc(
        64, (std::max<std::uint64_t>(size, 1) + 63) / 64 * 64);
  };
  made->host_memory_deallocate = [](const SP_Device*, void* memory) {
    std::free(memory);
  };
  made->get_allocator_stats = [](const SP_Device* device,
                                 SP_AllocatorStats* stats) -> TF_Bool {
    stats->bytes_in_use = Of(device).memory().bytes_in_use();
    return true;
  };
  made->device_memory_usage = [](const SP_Device* device, std::int64_t* free,
                                 std::int64_t* total) -> TF_Bool {
    *total = kCapacity;
    *free = kCapacity - Of(device).memory().bytes_in_use();
    return true;
  };
}

void SetStreamFunctions(SP_StreamExecutor* made) {
  made->create_stream = [](const SP_Device* device, SP_Stream* stream,
                           TF_Status* status) {
    *stream = Of(device).AddStream();
    Succeed(status);
  };
  made->destroy_stream = [](const SP_Device* device, SP_Stream stream) {
    Of(device).RemoveStream(stream);
  };
  made->create_stream_dependency = [](const SP_Device*, SP_Stream dependent,
                                      SP_Stream other, TF_Status* status) {
    SP_Event_st event;
    event.Record(other);
    dependent->EnqueueMark([mark = event.last()] { mark.Wait(); });
    Succeed(status);
  };
  made->get_stream_status = [](const SP_Device*, SP_Stream, TF_Status* status) {
    Succeed(status);
  };
  made->block_host_until_done = [](const SP_Device*, SP_Stream stream,
                                   TF_Status* status) {
    stream->Wait();
    Succeed(status);
  };
  made->synchronize_all_activity = [](const SP_Device*, TF_Status* status) {
    Succeed(status);
  };
  made->host_callback = [](const SP_Device*, SP_Stream stream,
                           SE_StatusCallbackFn function,
                           void* argument) -> TF_Bool {
    stream->Enqueue([function, argument] {
      TF_Status* const status = TF_NewStatus();
      function(argument, status);
      TF_DeleteStatus(status);
    });
    return true;
  };
}

void SetEventFunctions(SP_StreamExecutor* made) {
  made->create_event = [](const SP_Device*, SP_Event* event,
                          TF_Status* status) {
    *event = new SP_Event_st;
    Succeed(status);
  };
  made->destroy_event = [](const SP_Device*, SP_Event event) { delete event; };
  made->get_event_status = [](const SP_Device*, SP_Event event) {
    return event->last().Passed() ? SE_EVENT_COMPLETE : SE_EVENT_PENDING;
  };
  made->record_event = [](const SP_Device*, SP_Stream stream, SP_Event event,
                          TF_Status* status) {
    event->Record(stream);
    Succeed(status);
  };
  made->wait_for_event = [](const SP_Device*, SP_Stream stream, SP_Event event,
                            TF_Status* status) {
    stream->EnqueueMark([mark = event->last()] { mark.Wait(); });
    Succeed(status);
  };
  made->block_host_for_event = [](const SP_Device*, SP_Event event,
                                  TF_Status* status) {
    event->last().Wait();
    Succeed(status);
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
  made->memcpy_dtoh = [](const SP_Device*, SP_Stream stream, void* to,
                         const SP_DeviceMemoryBase* from, std::uint64_t size,
                         TF_Status* status) {
    stream->Enqueue([=, bytes = Bytes(from)] { std::memcpy(to, bytes, size); });
    Succeed(status);
  };
  made->memcpy_htod = [](const SP_Device*, SP_Stream stream,
                         SP_DeviceMemoryBase* to, const void* from,
                         std::uint64_t size, TF_Status* status) {
    stream->Enqueue([=, bytes = Bytes(to)] { std::memcpy(bytes, from, size); });
    Succeed(status);
  };
  made->memcpy_dtod = [](const SP_Device*, SP_Stream stream,
                         SP_DeviceMemoryBase* to,
                         const SP_DeviceMemoryBase* from, std::uint64_t size,
                         TF_Status* status) {
    stream->Enqueue([=, target = Bytes(to), bytes = Bytes(from)] {
      std::memmove(target, bytes, size);
    });
    Succeed(status);
  };
  made->sync_memcpy_dtoh = [](const SP_Device*, void* to,
                              const SP_DeviceMemoryBase* from,
                              std::uint64_t size, TF_Status* status) {
    std::memcpy(to, Bytes(from), size);
    Succeed(status);
  };
  made->sync_memcpy_htod = [](const SP_Device*, SP_DeviceMemoryBase* to,
                              const void* from, std::uint64_t size,
                              TF_Status* status) {
    std::memcpy(Bytes(to), from, size);
    Succeed(status);
  };
  made->sync_memcpy_dtod = [](const SP_Device*, SP_DeviceMemoryBase* to,
                              const SP_DeviceMemoryBase* from,
                              std::uint64_t size, TF_Status* status) {
    std::memmove(Bytes(to), Bytes(from), size);
    Succeed(status);
  };
}

void SetFillFunctions(SP_StreamExecutor* made) {
  made->mem_zero = [](const SP_Device*, SP_Stream stream,
                      SP_DeviceMemoryBase* memory, std::uint64_t size,
                      TF_Status* status) {
    stream->Enqueue(
        [=, bytes = Bytes(memory)] { std::memset(bytes, 0, size); });
    Succeed(status);
  };
  made->memset = [](const SP_Device*, SP_Stream stream,
                    SP_DeviceMemoryBase* memory, std::uint8_t pattern,
                    std::uint64_t size, TF_Status* status) {
    stream->Enqueue(
        [=, bytes = Bytes(memory)] { std::memset(bytes, pattern, size); });
    Succeed(status);
  };
  made->memset32 = [](const SP_Device*, SP_Stream stream,
                      SP_DeviceMemoryBase* memory, std::uint32_t pattern,
                      std::uint64_t size, TF_Status* status) {
    auto* const words = reinterpret_cast<std::uint32_t*>(Bytes(memory));
    stream->Enqueue([=] { std::fill_n(words, size / 4, pattern); });
    Succeed(status);
  };
}

void SetPlatformFunctions(SP_PlatformFns* made) {
  made->get_device_count = [](const SP_Platform*, int* count,
                              TF_Status* status) {
    *count = 1;
    Succeed(status);
  };
  made->create_device = [](const SP_Platform*, SE_CreateDeviceParams* params,
                           TF_Status* status) {
    SP_Device* const device = params->device;
    device->struct_size = SP_DEVICE_STRUCT_SIZE;
    device->ordinal = params->ordinal;
    device->device_handle = new Device;
    device->hardware_name = "memory behind a wall";
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

void Enqueue(SP_Stream stream, std::function<void()> work) {
  stream->Enqueue(std::move(work));
}

}  // namespace cavs_test

extern "C" void SE_InitPlugin(SE_PlatformRegistrationParams* params,
                              TF_Status* status) {
  SP_Platform* const platform = params->platform;
  platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
  platform->name = "CAVS_TEST_PLATFORM";
  // Not "GPU": the kernels of TensorFlow's wheel, which are CUDA's, would run.
  platform->type = "CAVS_TEST";
  platform->use_bfc_allocator = std::getenv("CAVS_TEST_BFC") != nullptr;
  platform->force_memory_growth = true;
  cavs_test::SetPlatformFunctions(params->platform_fns);
  params->destroy_platform = [](SP_Platform*) {};
  params->destroy_platform_fns = [](SP_PlatformFns*) {};
  TF_SetStatus(status, TF_OK, "");
}
