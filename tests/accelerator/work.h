// What the operators of a test device ask of it.

#ifndef CAVS_TESTS_ACCELERATOR_WORK_H_
#define CAVS_TESTS_ACCELERATOR_WORK_H_

#include <functional>

#include "tensorflow/c/experimental/stream_executor/stream_executor.h"

namespace cavs_test {

// The bytes behind an address of the device, for code that runs on it.
void* RealAddress(void* address);

template <typename T>
T* Real(T* address) {
  return static_cast<T*>(RealAddress(address));
}

// Runs `work` on the device after all that was enqueued before.
void Enqueue(SP_Stream stream, std::function<void()> work);

}  // namespace cavs_test

#endif  // CAVS_TESTS_ACCELERATOR_WORK_H_
