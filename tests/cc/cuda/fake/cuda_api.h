// The parts of CUDA's interfaces that the fake library has, declared anew.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_CUDA_API_H_
#define CAVS_TESTS_CC_CUDA_FAKE_CUDA_API_H_

#include <cstddef>
#include <cstdint>

namespace cavs_fake {

enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
};

const char* NameOf(int result);

// Numbers of cuDeviceGetAttribute.
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxBlockY = 3,
  kMaxBlockZ = 4,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kMaxSharedPerBlock = 8,
  kWarpSize = 10,
  kMaxRegistersPerBlock = 12,
  kClockRate = 13,
  kProcessors = 16,
  kIntegrated = 18,
  kCanMapHostMemory = 19,
  kComputeMode = 20,
  kConcurrentKernels = 31,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kMemoryClockRate = 36,
  kMemoryBusWidth = 37,
  kL2Bytes = 38,
  kMaxThreadsPerProcessor = 39,
  kAsyncEngines = 40,
  kUnifiedAddressing = 41,
  kMajor = 75,
  kMinor = 76,
  kStreamPriorities = 78,
  kMaxSharedPerProcessor = 81,
  kMaxRegistersPerProcessor = 82,
  kManagedMemory = 83,
  kPageableMemory = 88,
  kConcurrentManaged = 89,
  kCooperativeLaunch = 95,
  kMaxSharedPerBlockOptIn = 97,
  kMaxBlocksPerProcessor = 106,
  kReservedSharedPerBlock = 111,
  kMemoryPools = 115,
};

// Numbers of cuFuncGetAttribute.
enum FunctionAttribute : int {
  kFunctionThreads = 0,
  kFunctionShared = 1,
  kFunctionConst = 2,
  kFunctionLocal = 3,
  kFunctionRegisters = 4,
  kFunctionPtx = 5,
  kFunctionBinary = 6,
  kFunctionDynamicShared = 8,
};

enum NvrtcResult : int {
  kNvrtcSuccess = 0,
  kNvrtcCreationFailure = 2,
  kNvrtcInvalidInput = 3,
  kNvrtcInvalidProgram = 4,
  kNvrtcInvalidOption = 5,
  kNvrtcCompilation = 6,
};

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;

}  // namespace cavs_fake

#endif  // CAVS_TESTS_CC_CUDA_FAKE_CUDA_API_H_
