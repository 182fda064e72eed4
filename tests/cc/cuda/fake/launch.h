// What the emulated kernels and the fake driver know of each other.
//
// This header is compiled into the driver and, by cavs_device.h, into each
// kernel: it includes nothing.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_LAUNCH_H_
#define CAVS_TESTS_CC_CUDA_FAKE_LAUNCH_H_

namespace cavs_fake {

// Addresses of device memory have this bit flipped, so that the host faults
// when it touches them.
constexpr unsigned long long kWall = 1ull << 62;
// And, from this bit on, the number of the device.
constexpr int kDeviceShift = 48;
constexpr unsigned long long WallOf(int device) {
  return kWall | static_cast<unsigned long long>(device) << kDeviceShift;
}

// What a thread waits for.
enum Wait : int { kRuns = 0, kBlock, kWarp, kGrid, kEnded };

// How a thread touches memory.
enum Touch : int { kReads = 0, kWrites, kAdds };

// Errors of the driver that a kernel can cause.
enum KernelError : int {
  kIllegalAddress = 700,
  kMisaligned = 716,
  kLaunchFailed = 719,
};

constexpr int kLanes = 32;
constexpr int kMostExchanged = 48;  // Bytes that a lane gives to its warp.

// What the lanes of a warp give each other. There are two of them, used in
// turn: a lane that is ahead by one exchange overwrites nothing.
struct Exchange {
  alignas(16) char lanes[kLanes][kMostExchanged];
};

// A thread of the grid, as its kernel sees it.
struct Thread {
  int index;
  int block_x, block_y, block_z;
  char* shared;
  unsigned shared_bytes;
  Exchange* exchanges;  // Two.
  unsigned exchanged;   // How often.
};

// The launch that runs.
struct Launch {
  Thread* current;
  int threads;
  int grid_x, grid_y, grid_z;
  bool cooperative;
  unsigned long long wall;  // Of the device's memory.

  // Returns when the thread can go on. `what` says which operation of the warp
  // it is: all lanes have to name the same.
  void (*wait)(Launch*, Wait why, const char* what);
  // Ends the launch.
  void (*fail)(Launch*, KernelError error, const char* what, const void* at);
  // Whether memory of the host may be used by kernels.
  bool (*may_touch)(Launch*, const void* at);
  // Checks bounds and looks for races.
  void (*touch)(Launch*, const void* at, unsigned bytes, Touch how);
};

}  // namespace cavs_fake

#endif  // CAVS_TESTS_CC_CUDA_FAKE_LAUNCH_H_
