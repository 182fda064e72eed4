// NVIDIA's driver, found when the program runs.
#ifndef CAVS_CC_DEVICE_CUDA_DRIVER_H_
#define CAVS_CC_DEVICE_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cc/base/status.h"

// The driver's own names for what its handles point to.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;

namespace cavs {

using CudaResult = int;  // 0: success.
using CudaAddress = uint64_t;
using CudaContextHandle = CUctx_st*;
using CudaModuleHandle = CUmod_st*;
using CudaFunction = CUfunc_st*;
using CudaStreamHandle = CUstream_st*;
using CudaEventHandle = CUevent_st*;

// Numbers of the driver's enumerations.
enum CudaAttribute : int {  // Attributes of a device.
  kCudaMostGridY = 6,
  kCudaProcessors = 16,
  kCudaMajor = 75,
  kCudaMinor = 76,
  kCudaCooperativeLaunch = 95,
  kCudaSharedBytesPerBlock = 97,  // The most that a kernel may ask for.
};
enum CudaFunctionAttribute : int { kCudaMostDynamicSharedBytes = 8 };
enum CudaStreamFlags : unsigned { kCudaStreamNonBlocking = 1 };
enum CudaEventFlags : unsigned { kCudaEventDisableTiming = 2 };
enum CudaMemoryFlags : unsigned { kCudaAttachGlobal = 1 };
constexpr CudaResult kCudaOutOfMemory = 2;
constexpr CudaResult kCudaNoDevice = 100;
constexpr CudaResult kCudaNotReady = 600;
constexpr CudaResult kCudaCooperativeLaunchTooLarge = 720;

// The functions that the device uses: the name of a member, the name in the
// library, and the type. NVIDIA's headers are not needed to build this.
#define CAVS_CUDA_FUNCTIONS(F)                                                 \
  F(Init, "cuInit", (unsigned flags))                                          \
  F(DriverGetVersion, "cuDriverGetVersion", (int* version))                    \
  F(DeviceGetCount, "cuDeviceGetCount", (int* count))                          \
  F(DeviceGet, "cuDeviceGet", (int* device, int ordinal))                      \
  F(DeviceGetName, "cuDeviceGetName", (char* name, int size, int device))      \
  F(DeviceGetAttribute, "cuDeviceGetAttribute",                                \
    (int* value, int attribute, int device))                                   \
  F(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                        \
    (CudaContextHandle * context, int device))                                 \
  F(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device))     \
  F(CtxPushCurrent, "cuCtxPushCurrent_v2", (CudaContextHandle context))        \
  F(CtxPopCurrent, "cuCtxPopCurrent_v2", (CudaContextHandle * context))        \
  F(CtxSynchronize, "cuCtxSynchronize", ())                                    \
  F(GetErrorName, "cuGetErrorName", (CudaResult result, const char** name))    \
  F(GetErrorString, "cuGetErrorString",                                        \
    (CudaResult result, const char** text))                                    \
  F(ModuleLoadData, "cuModuleLoadData",                                        \
    (CudaModuleHandle * module, const void* image))                            \
  F(ModuleUnload, "cuModuleUnload", (CudaModuleHandle module))                 \
  F(ModuleGetFunction, "cuModuleGetFunction",                                  \
    (CudaFunction * function, CudaModuleHandle module, const char* name))      \
  F(FuncSetAttribute, "cuFuncSetAttribute",                                    \
    (CudaFunction function, int attribute, int value))                         \
  F(OccupancyMaxActiveBlocksPerMultiprocessor,                                 \
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",                             \
    (int* blocks, CudaFunction function, int threads, size_t shared))          \
  F(LaunchKernel, "cuLaunchKernel",                                            \
    (CudaFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,    \
     CudaStreamHandle stream, void** arguments, void** extra))                 \
  F(LaunchCooperativeKernel, "cuLaunchCooperativeKernel",                      \
    (CudaFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,    \
     CudaStreamHandle stream, void** arguments))                               \
  F(MemAlloc, "cuMemAlloc_v2", (CudaAddress * data, size_t bytes))             \
  F(MemFree, "cuMemFree_v2", (CudaAddress data))                               \
  F(MemAllocManaged, "cuMemAllocManaged",                                      \
    (CudaAddress * data, size_t bytes, unsigned flags))                        \
  F(MemGetInfo, "cuMemGetInfo_v2", (size_t* free, size_t* total))              \
  F(MemHostAlloc, "cuMemHostAlloc",                                            \
    (void** data, size_t bytes, unsigned flags))                               \
  F(MemFreeHost, "cuMemFreeHost", (void* data))                                \
  F(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                   \
    (CudaAddress to, const void* from, size_t bytes, CudaStreamHandle stream)) \
  F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                   \
    (CudaAddress to, CudaAddress from, size_t bytes, CudaStreamHandle stream)) \
  F(MemcpyHtoD, "cuMemcpyHtoD_v2",                                             \
    (CudaAddress to, const void* from, size_t bytes))                          \
  F(MemcpyDtoH, "cuMemcpyDtoH_v2", (void* to, CudaAddress from, size_t bytes)) \
  F(MemsetD8Async, "cuMemsetD8Async",                                          \
    (CudaAddress to, unsigned char value, size_t n, CudaStreamHandle stream))  \
  F(StreamCreate, "cuStreamCreate",                                            \
    (CudaStreamHandle * stream, unsigned flags))                               \
  F(StreamDestroy, "cuStreamDestroy_v2", (CudaStreamHandle stream))            \
  F(StreamSynchronize, "cuStreamSynchronize", (CudaStreamHandle stream))       \
  F(StreamWaitEvent, "cuStreamWaitEvent",                                      \
    (CudaStreamHandle stream, CudaEventHandle event, unsigned flags))          \
  F(EventCreate, "cuEventCreate", (CudaEventHandle * event, unsigned flags))   \
  F(EventRecord, "cuEventRecord",                                              \
    (CudaEventHandle event, CudaStreamHandle stream))                          \
  F(EventSynchronize, "cuEventSynchronize", (CudaEventHandle event))           \
  F(EventQuery, "cuEventQuery", (CudaEventHandle event))                       \
  F(EventElapsedTime, "cuEventElapsedTime",                                    \
    (float* milliseconds, CudaEventHandle begin, CudaEventHandle end))         \
  F(EventDestroy, "cuEventDestroy_v2", (CudaEventHandle event))

// Thread safety: any thread may call any function at any time, in a context
// that is current on that thread.
class CudaDriver {
 public:
  // Loads and initialises libcuda.so.1, or the library that the environment
  // variable CAVS_LIBCUDA names. kUnimplemented if this machine has no driver,
  // one older than CUDA 12, or no GPU.
  static Status Load(std::shared_ptr<const CudaDriver>* driver);

#define CAVS_CUDA_MEMBER(member, name, arguments) \
  CudaResult(*member) arguments = nullptr;
  CAVS_CUDA_FUNCTIONS(CAVS_CUDA_MEMBER)
#undef CAVS_CUDA_MEMBER

  // Where it was found, and its version.
  const std::string& title() const { return title_; }

  // The outcome of a call, as a sentence with the driver's own words.
  Status Check(CudaResult result, const char* what) const {
    return result == 0 ? Status() : Failure(result, what);
  }

 private:
  CudaDriver() = default;
  Status Failure(CudaResult result, const char* what) const;

  std::string title_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_DRIVER_H_
