#include "cc/device/cuda/cuda_stream.h"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/device/cuda/gpu_matrix.h"

namespace cavs {
namespace {

class CudaStreamTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (kernels == nullptr) return;
    ASSERT_TRUE(CudaStream::New(kernels, &one).ok());
    ASSERT_TRUE(CudaStream::New(kernels, &other).ok());
  }
  void Synchronize(CudaStream* own) {
    const Status status = own->Synchronize();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::vector<float> Read(const GpuMemory& memory, size_t n) {
    std::vector<float> numbers(n);
    memory.Read(numbers.data(), n * sizeof(float));
    return numbers;
  }

  std::unique_ptr<CudaStream> one, other;
};

// Memory of the host is read before a call returns, though the copy may be done
// much later.
TEST_F(CudaStreamTest, WhatIsCopiedInMayChangeAtOnce) {
  std::vector<float> numbers(100);
  std::vector<std::unique_ptr<GpuMemory>> copies;
  for (int i = 0; i < 5; ++i) {
    std::fill(numbers.begin(), numbers.end(), i);
    copies.push_back(std::make_unique<GpuMemory>(driver(), 400));
    ASSERT_TRUE(one->CopyIn(copies[i]->data(), numbers.data(), 400).ok());
  }
  std::fill(numbers.begin(), numbers.end(), -1);
  Synchronize(one.get());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Read(*copies[i], 100), std::vector<float>(100, i));
  }
}

// Tasks that need more memory than was lent are several walks, one behind the
// other. One that does not fit leaves the rest to launches.
TEST_F(CudaStreamTest, ManyTasksAreSeveralWalks) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const FakeCuda cuda;
  const GpuMemory ones(driver(), std::vector<float>{1}), room(driver(), 1024);
  // How many walks and other launches 40 tasks are.
  const auto walks_and_others = [&](size_t bytes, bool fits) {
    const GpuMemory sum(driver(), std::vector<float>{0});
    one->LendToWalk(room.data(), bytes);
    cuda.Reset();
    if (!fits) cuda.Fail("cuLaunchCooperativeKernel", 1, 720);
    EXPECT_TRUE(one->BeginTasks().ok());
    for (int i = 0; i < 40; ++i) {
      const Status status = kernels->Add(DType::kFloat32, ones.data(), 1,
                                         sum.data(), one->queue());
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_TRUE(one->EndTasks().ok());
    Synchronize(one.get());
    EXPECT_TRUE(one->Retire().ok());
    EXPECT_EQ(Read(sum, 1), std::vector<float>{40});
    const FakeCounts counts = cuda.Counts();
    return std::pair(counts.cooperative, counts.launches - counts.cooperative);
  };
  EXPECT_EQ(walks_and_others(1024, true), std::pair(int64_t{3}, int64_t{0}));
  EXPECT_EQ(walks_and_others(1024, false), std::pair(int64_t{1}, int64_t{26}));
  // What was lent for one step is not there for the next.
  EXPECT_EQ(walks_and_others(0, true), std::pair(int64_t{0}, int64_t{40}));
}

TEST_F(CudaStreamTest, MemoryIsSetToZeroCopiedAndAddedUp) {
  const GpuMemory from(driver(), std::vector<float>{1, 2, 3});
  const GpuMemory to(driver(), 12);
  ASSERT_TRUE(one->Zero(to.data(), 12).ok());
  ASSERT_TRUE(one->Add(DType::kFloat32, from.data(), 3, to.data()).ok());
  ASSERT_TRUE(one->Add(DType::kFloat32, from.data(), 3, to.data()).ok());
  ASSERT_TRUE(one->Copy(from.data(), to.data(), 8).ok());
  Synchronize(one.get());
  EXPECT_EQ(Read(to, 3), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(Read(from, 3), (std::vector<float>{2, 4, 3}));
}

TEST_F(CudaStreamTest, SumsOfOtherTypesAreRefused) {
  const Status status = one->Add(DType::kInt32, nullptr, 1, nullptr);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "sums of this type cannot be added up");
}

TEST_F(CudaStreamTest, AStreamWaitsForAnEventOfAnother) {
  for (int i = 0; i < 3; ++i) {
    const GpuMemory from(driver(), 4), to(driver(), 4);
    const float number = i;
    ASSERT_TRUE(one->CopyIn(from.data(), &number, 4).ok());
    ASSERT_TRUE(other->Wait(one->Record()).ok());
    ASSERT_TRUE(other->Copy(to.data(), from.data(), 4).ok());
    Synchronize(other.get());
    EXPECT_EQ(Read(to, 1)[0], number);
  }
}

// Else each call of the stream would have to.
TEST_F(CudaStreamTest, AFrameworksStreamMakesTheContextCurrentOnce) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const FakeCuda cuda;
  const auto now = [&] {
    void* context = nullptr;
    EXPECT_EQ(cuda("cuCtxGetCurrent", &context), 0);
    return context;
  };
  const GpuMemory memory(driver(), 4);
  current = nullptr;
  EXPECT_EQ(now(), nullptr);
  cuda.Reset();
  {
    CudaStream stream(kernels, one->handle());
    EXPECT_NE(now(), nullptr);
    EXPECT_TRUE(stream.Zero(memory.data(), 4).ok());
    EXPECT_TRUE(stream.Synchronize().ok());
    EXPECT_EQ(cuda.Calls("cuCtxPushCurrent_v2"), 1);
  }
  EXPECT_EQ(now(), nullptr);
  EXPECT_TRUE(one->Zero(memory.data(), 4).ok());
  EXPECT_EQ(now(), nullptr);
  current = std::make_unique<CudaContext::Current>(kernels->context());
}

TEST_F(CudaStreamTest, NothingIsDoneWithNothing) {
  EXPECT_TRUE(one->Zero(nullptr, 0).ok());
  EXPECT_TRUE(one->Copy(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(one->CopyIn(nullptr, nullptr, 0).ok());
  Synchronize(one.get());
}

}  // namespace
}  // namespace cavs
