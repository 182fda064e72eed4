// How a function of the driver begins.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_ENTRY_H_
#define CAVS_TESTS_CC_CUDA_FAKE_ENTRY_H_

#include "tests/cc/cuda/fake/machine.h"

// Its declaration: the library exports it.
#define CAVS_FAKE(name, ...) \
  extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__)

// Returns the error of the call if it has one, or if it is to be ignored; else
// `call` holds the lock of machine `m`.
#define BEGIN(needs)                                              \
  static int64_t* const calls = Machine::Get().CallsOf(__func__); \
  Call call(__func__, calls, needs);                              \
  if (call.error != 0 || call.ignored) return call.error;         \
  [[maybe_unused]] Machine& m = call.machine

#endif  // CAVS_TESTS_CC_CUDA_FAKE_ENTRY_H_
