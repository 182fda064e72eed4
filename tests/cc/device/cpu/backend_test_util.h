// What tests of kernels have in common: matrices with guards, workers with
// threads, and the instruction sets of the machine.
#ifndef CAVS_TESTS_CC_DEVICE_CPU_BACKEND_TEST_UTIL_H_
#define CAVS_TESTS_CC_DEVICE_CPU_BACKEND_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/isa.h"
#include "cc/device/cpu/workers.h"
#include "cc/ir/print.h"

namespace cavs {

// Workers with threads of their own, so that sanitizers see jobs that write to
// the same memory. There may be more of them than the machine has processors.
// One thread at a time may call Run().
class ThreadedWorkers : public Workers {
 public:
  explicit ThreadedWorkers(int count) : count_(count) {}
  ~ThreadedWorkers() override {
    if (!threads_.empty()) Call(0, nullptr);
    for (std::thread& thread : threads_) thread.join();
  }
  int count() const override { return count_; }
  void Run(int jobs, const std::function<void(int)>& job) override {
    for (int i = static_cast<int>(threads_.size()); i < count_; ++i) {
      threads_.emplace_back([this, i] { Serve(i); });
    }
    Call(jobs, &job);
  }

 private:
  // Returns when every thread has run its jobs. A null `job` ends the threads.
  void Call(int jobs, const std::function<void(int)>* job) {
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_ = jobs;
    job_ = job;
    running_ = count_;
    ++call_;
    called_.notify_all();
    done_.wait(lock, [this] { return running_ == 0; });
  }

  void Serve(int first) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (int64_t call = 1;; ++call) {
      called_.wait(lock, [&] { return call_ == call; });
      const int jobs = jobs_;
      const std::function<void(int)>* const job = job_;
      lock.unlock();
      for (int i = first; i < jobs; i += count_) (*job)(i);
      lock.lock();
      if (--running_ == 0) done_.notify_one();
      if (job == nullptr) return;
    }
  }

  const int count_;
  std::mutex mutex_;
  std::condition_variable called_, done_;
  int jobs_ = 0, running_ = 0;
  const std::function<void(int)>* job_ = nullptr;
  int64_t call_ = 0;
  std::vector<std::thread> threads_;
};

// A narrow number that tests can compute with, as a float.
template <typename Narrow>
class TestNarrow {
 public:
  TestNarrow() = default;
  template <typename Number>
  explicit TestNarrow(Number x)
      : value_(FromWide<Narrow>(static_cast<float>(x))) {}
  TestNarrow& operator=(float x) { return *this = TestNarrow(x); }
  operator float() const { return ToWide(value_); }

 private:
  Narrow value_ = {0};
};

// The type that the library has for T: Narrow for TestNarrow<Narrow>.
template <typename T>
struct PlainOf {
  using Type = T;
};
template <typename Narrow>
struct PlainOf<TestNarrow<Narrow>> {
  using Type = Narrow;
};
template <typename T>
using Plain = typename PlainOf<T>::Type;

// The type of sums over rows of T.
template <typename T>
using SumOf = Wide<Plain<T>>;

template <typename T>
constexpr DType DTypeOf() {
  if (std::is_same_v<T, int32_t>) return DType::kInt32;
  if (std::is_same_v<T, int64_t>) return DType::kInt64;
  if (std::is_same_v<T, uint8_t>) return DType::kUInt8;
  if (std::is_same_v<T, int16_t>) return DType::kInt16;
  return kDTypeOf<Plain<T>>;
}

}  // namespace cavs

template <typename Narrow>
class std::numeric_limits<cavs::TestNarrow<Narrow>> {
 public:
  using T = cavs::TestNarrow<Narrow>;
  static constexpr bool is_specialized = true;
  static constexpr bool has_quiet_NaN = true;
  static T quiet_NaN() { return T(std::numeric_limits<float>::quiet_NaN()); }
  static T max() {
    return T(Narrow{static_cast<uint16_t>(Narrow::kInfinity - 1)}.Widen());
  }
  static T epsilon() { return T(std::ldexp(1.0f, -Narrow::kFractionBits)); }
};

namespace cavs {

// A block with guards on all sides. Guards are NaN, which spoils every result
// that is computed from them, and GuardsHold() finds those that were
// overwritten.
template <typename T>
class Matrix {
 public:
  // There are `padding` elements between rows; the first row begins `shift`
  // elements behind an aligned address.
  Matrix(int64_t rows, int64_t cols, int64_t padding = 0, int64_t shift = 0)
      : rows_(rows),
        cols_(cols),
        pitch_(cols + padding),
        first_(kGuard + shift),
        data_(first_ + Extent() + kGuardAfter, Sentinel()) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) at(i, j) = T(0);
    }
  }

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  T& at(int64_t i, int64_t j) { return data_[first_ + i * pitch_ + j]; }
  T at(int64_t i, int64_t j) const { return data_[first_ + i * pitch_ + j]; }
  Block block() { return {data_.data() + first_, rows_, cols_, pitch_}; }
  ConstBlock view() const {
    return {data_.data() + first_, rows_, cols_, pitch_};
  }

  // Small numbers that are exact in every type.
  Matrix& Fill(uint32_t seed) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = 0; j < cols_; ++j) {
        at(i, j) = static_cast<T>(static_cast<int>(random() % 257) - 128) /
                   static_cast<T>(std::is_integral_v<T> ? 1 : 64);
      }
    }
    return *this;
  }

  bool SameBits(const Matrix& other) const {
    for (int64_t i = 0; i < rows_; ++i) {
      if (cols_ > 0 &&
          std::memcmp(&data_[first_ + i * pitch_],
                      &other.data_[other.first_ + i * other.pitch_],
                      cols_ * sizeof(T)) != 0) {
        return false;
      }
    }
    return true;
  }

  // Whether no element outside of the block has changed.
  bool GuardsHold() const {
    const T sentinel = Sentinel();
    for (int64_t i = 0; i < static_cast<int64_t>(data_.size()); ++i) {
      const int64_t place = i - first_;
      const bool inside =
          place >= 0 && place < rows_ * pitch_ && place % pitch_ < cols_;
      if (!inside && std::memcmp(&data_[i], &sentinel, sizeof(T)) != 0) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr int64_t kGuard = 64;
  // AddressSanitizer is the better guard behind the block: it also sees reads.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr int64_t kGuardAfter = 0;
#else
  static constexpr int64_t kGuardAfter = kGuard;
#endif

  // The number of elements from the first of the block to its last.
  int64_t Extent() const {
    return rows_ == 0 ? 0 : (rows_ - 1) * pitch_ + cols_;
  }
  static T Sentinel() {
    if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
      return std::numeric_limits<T>::quiet_NaN();
    } else {
      return static_cast<T>(0x5a5a5a5a5a5a5a5a);
    }
  }

  int64_t rows_, cols_, pitch_, first_;
  std::vector<T> data_;
};

// Of operators, layouts and broadcasts, sanitizers try one combination in this
// number, as most would show the faults that they look for; all run as shipped.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kTriedOneIn = 3;
#else
constexpr int kTriedOneIn = 1;
#endif

inline std::vector<Isa> SupportedIsas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (IsSupported(isa)) isas.push_back(isa);
  }
  return isas;
}

inline std::string IsaTestName(const testing::TestParamInfo<Isa>& info) {
  return IsaName(info.param);
}

#define CAVS_INSTANTIATE_ISA_TEST(Suite)                                    \
  INSTANTIATE_TEST_SUITE_P(Isas, Suite, testing::ValuesIn(SupportedIsas()), \
                           IsaTestName)

// Calls fn(float()) and fn(double()).
template <typename Fn>
void ForWideTypes(const Fn& fn) {
  {
    SCOPED_TRACE("float");
    fn(float());
  }
  {
    SCOPED_TRACE("double");
    fn(double());
  }
}

// Calls fn(TestNarrow<T>()) for every narrow type T.
template <typename Fn, typename... T>
void ForNarrowTypes(const Fn& fn, FloatTypeList<T...>) {
  const auto call = [&](auto zero) {
    using Narrow = decltype(zero);
    if constexpr (kIsNarrow<Narrow>) {
      SCOPED_TRACE(ToString(kDTypeOf<Narrow>));
      fn(TestNarrow<Narrow>());
    }
  };
  (call(T()), ...);
}
template <typename Fn>
void ForNarrowTypes(const Fn& fn) {
  ForNarrowTypes(fn, FloatTypes());
}

// Calls fn(T()) for every type T that rows are computed with.
template <typename Fn>
void ForFloatTypes(const Fn& fn) {
  ForWideTypes(fn);
  ForNarrowTypes(fn);
}

// Tests of all element types, run for every instruction set of this machine.
class IsaTest : public testing::TestWithParam<Isa> {
 protected:
  // Those types for which the instruction set has kernels of its own.
  template <typename Fn>
  static void ForFloatTypes(const Fn& fn) {
    if (GetParam() == Isa::kAvx512Bf16) return fn(TestNarrow<BFloat16>());
    cavs::ForFloatTypes(fn);
  }
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_DEVICE_CPU_BACKEND_TEST_UTIL_H_
