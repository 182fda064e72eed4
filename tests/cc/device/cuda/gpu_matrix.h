// What tests of the GPU's kernels have in common: the first GPU, or what stands
// in for one, and matrices in its memory.
#ifndef CAVS_TESTS_CC_DEVICE_CUDA_GPU_MATRIX_H_
#define CAVS_TESTS_CC_DEVICE_CUDA_GPU_MATRIX_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/narrow_float.h"
#include "cc/device/block.h"
#include "cc/device/cuda/cuda_context.h"
#include "cc/device/cuda/cuda_kernels.h"

namespace cavs {

// A test without a GPU is skipped; one with a driver that CAVS_LIBCUDA names
// needs it.
class GpuTest : public ::testing::Test {
 protected:
  // Null, with the reason, if there is none.
  static std::shared_ptr<const CudaKernels> Kernels(Status* status) {
    struct Opened {
      Status status;
      std::shared_ptr<const CudaKernels> kernels;
    };
    static const auto* opened = [] {
      auto* own = new Opened();
      std::shared_ptr<const CudaContext> context;
      own->status = CudaContext::Open(0, {}, &context);
      if (own->status.ok()) own->kernels.reset(new CudaKernels(context));
      return own;
    }();
    *status = opened->status;
    return opened->kernels;
  }

  void SetUp() override {
    Status status;
    kernels = Kernels(&status);
    if (kernels == nullptr) {
      ASSERT_EQ(std::getenv("CAVS_LIBCUDA"), nullptr) << status.message();
      GTEST_SKIP() << status.message();
    }
    current = std::make_unique<CudaContext::Current>(kernels->context());
    ASSERT_EQ(driver().StreamCreate(&stream, kCudaStreamNonBlocking), 0);
  }
  void TearDown() override {
    if (stream != nullptr) driver().StreamDestroy(stream);
    current = nullptr;
  }
  const CudaDriver& driver() const { return kernels->context().driver(); }
  // Expects that all work succeeds.
  void Wait() {
    const Status done =
        driver().Check(driver().StreamSynchronize(stream), "waiting");
    ASSERT_TRUE(done.ok()) << done.message();
  }

  std::shared_ptr<const CudaKernels> kernels;
  std::unique_ptr<CudaContext::Current> current;
  CudaStreamHandle stream = nullptr;
};

// Memory of the GPU, as large as it has to be.
class GpuMemory {
 public:
  GpuMemory(const CudaDriver& driver, size_t bytes) : driver_(driver) {
    if (bytes == 0) return;
    EXPECT_EQ(driver_.MemAlloc(&data_, bytes), 0);
  }
  GpuMemory(const CudaDriver& driver, const void* from, size_t bytes)
      : GpuMemory(driver, bytes) {
    if (bytes == 0) return;
    EXPECT_EQ(driver_.MemcpyHtoD(data_, from, bytes), 0);
    // The copy may return before it is done, and streams do not wait for it.
    EXPECT_EQ(driver_.CtxSynchronize(), 0);
  }
  template <typename T>
  GpuMemory(const CudaDriver& driver, const std::vector<T>& from)
      : GpuMemory(driver, from.data(), from.size() * sizeof(T)) {}
  ~GpuMemory() { driver_.MemFree(data_); }
  GpuMemory(const GpuMemory&) = delete;

  void* data() const { return reinterpret_cast<void*>(data_); }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  void Read(void* to, size_t bytes) const {
    if (bytes == 0) return;
    EXPECT_EQ(driver_.MemcpyDtoH(to, data_, bytes), 0);
  }

 private:
  const CudaDriver& driver_;
  CudaAddress data_ = 0;
};

// A matrix of the host. Rows are `padding` elements apart, which are NaN; a row
// of zeros stands before the first one.
template <typename T>
struct HostMatrix {
  HostMatrix(int64_t rows, int64_t cols, int64_t padding = 0)
      : rows(rows),
        cols(cols),
        pitch(cols + padding),
        all((rows + 1) * pitch, FromWide<T>(std::nan(""))) {
    for (int64_t j = 0; j < cols; ++j) at(-1, j) = FromWide<T>(0);
  }
  T& at(int64_t i, int64_t j) { return all[(i + 1) * pitch + j]; }
  const T& at(int64_t i, int64_t j) const { return all[(i + 1) * pitch + j]; }
  Wide<T> wide(int64_t i, int64_t j) const { return ToWide<T>(at(i, j)); }

  // Numbers in [-1, 1], of which sums do not overflow.
  HostMatrix& Fill(uint32_t seed) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        seed = seed * 1664525 + 1013904223;
        at(i, j) = FromWide<T>(
            static_cast<Wide<T>>(static_cast<int>(seed >> 16) % 257 - 128) /
            128);
      }
    }
    return *this;
  }

  // Numbers whose sums are rounded, so that their order shows.
  HostMatrix& FillUnevenly(uint32_t seed) {
    Fill(seed);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        at(i, j) = FromWide<T>(wide(i, j) / (3 + (i + j) % 5));
      }
    }
    return *this;
  }

  int64_t rows, cols, pitch;
  std::vector<T> all;
};

// The same on the GPU.
template <typename T>
class GpuMatrix {
 public:
  GpuMatrix(const CudaDriver& driver, const HostMatrix<T>& host)
      : host_(host), memory_(driver, host.all) {}

  T* data() const { return static_cast<T*>(memory_.data()) + host_.pitch; }
  Block block() const { return {data(), host_.rows, host_.cols, host_.pitch}; }
  // Rows by an index, which is on the GPU.
  ConstBlock rows(const int32_t* index, int64_t n) const {
    ConstBlock block(data(), n, host_.cols, host_.pitch);
    block.index = index;
    return block;
  }
  // What it holds now. Whatever lies between rows has to be as it was.
  HostMatrix<T> Read() const {
    HostMatrix<T> now = host_;
    memory_.Read(now.all.data(), now.all.size() * sizeof(T));
    for (int64_t i = -1; i < host_.rows; ++i) {
      const int64_t begin = i < 0 ? 0 : host_.cols;
      for (int64_t j = begin; j < host_.pitch; ++j) {
        EXPECT_EQ(std::memcmp(&now.at(i, j), &host_.at(i, j), sizeof(T)), 0)
            << "row " << i << ", column " << j;
      }
    }
    return now;
  }

 private:
  const HostMatrix<T> host_;
  const GpuMemory memory_;
};

// The difference between one and the next number of type T.
template <typename T>
double EpsilonOf() {
  if constexpr (kIsNarrow<T>) {
    return std::ldexp(1.0, -T::kFractionBits);
  } else {
    return std::numeric_limits<T>::epsilon();
  }
}
// The smallest number of type T.
template <typename T>
double TinyOf() {
  if constexpr (kIsNarrow<T>) {
    return T{1}.Widen();
  } else {
    return std::numeric_limits<T>::denorm_min();
  }
}

// Expects NaN where `want` is, the same infinity or zero, and else a number
// that differs by a few units of the last place.
template <typename T>
void ExpectClose(T got_number, Wide<T> want_number, double units = 4) {
  const double got = ToWide<T>(got_number);
  const double want = ToWide<T>(FromWide<T>(want_number));
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << got << " is not NaN";
  } else if (std::isinf(want) || want == 0) {
    EXPECT_EQ(got, want);
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << got << " for " << want;
  } else {
    const double tolerance =
        units * std::max(EpsilonOf<T>() * std::abs(want), TinyOf<T>());
    EXPECT_LE(std::abs(got - want), tolerance) << got << " for " << want;
  }
}

// Calls fn(T()) for every type that rows are computed with, up to one that
// fails: kernels of the others take long to compile.
template <typename Fn>
void ForGpuTypes(const Fn& fn) {
  const auto call = [&](auto zero) {
    if (!testing::Test::HasFailure()) fn(zero);
  };
  call(float());
  call(double());
  call(BFloat16());
  call(Float16());
}

}  // namespace cavs

#endif  // CAVS_TESTS_CC_DEVICE_CUDA_GPU_MATRIX_H_
