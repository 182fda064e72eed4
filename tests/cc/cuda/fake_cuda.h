// The fake library, for tests: its functions by name, kernels from texts.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_CUDA_H_
#define CAVS_TESTS_CC_CUDA_FAKE_CUDA_H_

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cc/cuda/fake/control.h"

namespace cavs {

// Skips a test that tells the driver what to do, or asks what it has done.
#define CAVS_SKIP_WITHOUT_FAKE_CUDA() \
  if (!FakeCuda::IsDriver())          \
  GTEST_SKIP() << "a driver that tests cannot control"

// The library that CAVS_LIBCUDA names. It is loaded once and stays.
class FakeCuda {
 public:
  // Whether the driver is the fake one, not NVIDIA's.
  static bool IsDriver() {
    const char* path = std::getenv("CAVS_LIBCUDA");
    void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
    return library != nullptr && dlsym(library, "fake_counts") != nullptr;
  }

  FakeCuda() {
    const char* path = std::getenv("CAVS_LIBCUDA");
    library_ = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
    if (library_ == nullptr) {
      std::fprintf(stderr, "CAVS_LIBCUDA: %s\n",
                   path == nullptr ? "not set" : dlerror());
      std::abort();
    }
  }

  // Calls a function that returns a code.
  template <typename... Arguments>
  int operator()(const char* name, Arguments... arguments) const {
    return Find<int (*)(Arguments...)>(name)(arguments...);
  }

  FakeCounts Counts() const {
    FakeCounts counts;
    Find<void (*)(FakeCounts*)>("fake_counts")(&counts);
    return counts;
  }
  int64_t Launches(const char* kernel) const {
    return Find<int64_t (*)(const char*)>("fake_launches")(kernel);
  }
  int64_t Calls(const char* function) const {
    return Find<int64_t (*)(const char*)>("fake_calls")(function);
  }
  void Reset() const { Find<void (*)()>("fake_reset")(); }
  bool Set(const char* option, int64_t value) const {
    return Find<bool (*)(const char*, int64_t)>("fake_set")(option, value);
  }
  void Fail(const char* function, int64_t calls_before, int error) const {
    Find<void (*)(const char*, int64_t, int)>("fake_fail")(function,
                                                           calls_before, error);
  }
  std::string Fault() const { return Find<const char* (*)()>("fake_fault")(); }

 private:
  template <typename Function>
  Function Find(const char* name) const {
    void* found = dlsym(library_, name);
    if (found == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<Function>(found);
  }

  void* library_;
};

// Lets the fake driver, if it is the driver, have so many processors as long as
// the object lives.
class ProcessorsOfFakeCuda {
 public:
  explicit ProcessorsOfFakeCuda(int processors) { Set(processors); }
  ~ProcessorsOfFakeCuda() { Set(kUsual); }

 private:
  static constexpr int kUsual = 8;
  static void Set(int processors) {
    if (FakeCuda::IsDriver()) FakeCuda().Set("processors", processors);
  }
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_CUDA_FAKE_CUDA_H_
