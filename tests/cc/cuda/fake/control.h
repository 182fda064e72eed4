// What tests ask of the fake library, and tell it. These functions stand in
// the library beside those of the driver: found by dlsym.
//
// The environment sets the same before the first call:
//   CAVS_FAKE_CACHE=<folder>    where compiled kernels lie, with their texts
//   CAVS_FAKE_FLAGS=<flags>     more flags for kernels: -fsanitize=address -g1
//   CAVS_FAKE_RACES=1           kernels report races and memory out of bounds
//   CAVS_FAKE_OPTIONS=lag=0,seed=7,memory=1000000,...
//   CAVS_FAKE_FAIL=<function>:<calls before>:<error>
// Programs with a mistake, which tests have to find:
//   CAVS_FAKE_IGNORE=<function>    its calls do nothing and succeed
//   CAVS_FAKE_REPLACE=<regular expression>, CAVS_FAKE_BY=<text>    in texts of
//                                  kernels
#ifndef CAVS_TESTS_CC_CUDA_FAKE_CONTROL_H_
#define CAVS_TESTS_CC_CUDA_FAKE_CONTROL_H_

#include <cstdint>

// What was done since the last fake_reset().
struct FakeCounts {
  int64_t launches;     // All kinds.
  int64_t cooperative;  // Those of them for the whole grid.
  int64_t compiles;     // Calls of nvrtcCompileProgram.
  int64_t compiled;     // Those of them that ran the host's compiler.
  int64_t modules;      // Loaded.
  int64_t host_waits;   // Calls in which the host waits for the device.
  int64_t uploads, downloads, copies;  // Of host and device, on the device.
  int64_t bytes_up, bytes_down, bytes_copied;
  int64_t memsets;
  int64_t allocations, frees;  // Of device memory.
  int64_t bytes_in_use, most_bytes_in_use;
  int64_t pinned_bytes_in_use;  // Of the host.
  int64_t events, event_waits;
  int64_t faults;
};

extern "C" {
void fake_counts(FakeCounts* counts);
// How often a kernel of this name was launched.
int64_t fake_launches(const char* kernel);
// How often a function of the driver, or nvrtcCompileProgram, was called; all
// of them together if it is null.
int64_t fake_calls(const char* function);
void fake_each_kernel(void (*call)(void* data, const char* kernel,
                                   int64_t launches),
                      void* data);
// Sets counts to zero and forgets faults, what should fail, and options.
void fake_reset();
// Options:
//   lag          0: work is done at once; 1: when the host waits for it (the
//                default); 2: at times that are drawn
//   seed         of the order of threads, blocks and streams; 0: as numbered
//   architecture 90 (the default), 80, ...
//   processors   8 by default
//   grid_y       the most blocks of a grid in that direction, 65535 by default
//   memory       bytes of the device
//   devices      1 by default
//   driver       13000 by default
//   compute      0: kernels, copies and fills do nothing, which leaves the
//                host's part of the time. Kernels may be those of NVRTC
// Returns false if there is no such option.
bool fake_set(const char* option, int64_t value);
// The call of `function` after so many others returns `error`.
void fake_fail(const char* function, int64_t calls_before, int error);
// What the last fault was, with kernel and thread; empty if there was none.
const char* fake_fault();
}

#endif  // CAVS_TESTS_CC_CUDA_FAKE_CONTROL_H_
