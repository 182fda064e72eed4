// A GPU that fails in the middle of a step: the step has an error, and what
// comes after it is as if nothing had happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/test_device.h"
#include "tests/cc/exec/tree_lstm_cell.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

class CudaFaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (TheGpu() == nullptr) GTEST_SKIP() << "no GPU";
    CAVS_SKIP_WITHOUT_FAKE_CUDA();
    cuda_ = std::make_unique<FakeCuda>();
    cuda_->Reset();
    MakeExperiment(TreeLstmCell(DType::kFloat32, 8, 8));
  }
  void MakeExperiment(const Cell& cell) {
    std::mt19937 random(3);
    cell_ = cell;
    experiment_ = std::make_unique<Experiment>(
        cell_, RandomTree(19, 2, &random), /*seed=*/1);
    schedule_ = MakeSchedule(experiment_->graph(), cell_);
  }
  void TearDown() override {
    if (cuda_ != nullptr) cuda_->Reset();
  }

  // The first error of both directions.
  Status Step(const CellExecutor& executor, Results* results) const {
    Tape tape;
    const Status status =
        executor.Forward(*experiment_, schedule_, Setting(), &tape, results);
    if (!status.ok()) return status;
    return executor.Backward(*experiment_, tape, Setting(), results);
  }

  struct Fault {
    const char* function;
    int error;
    std::string message;  // How that of the step begins.
  };

  // Lets a call fail in a step, and takes another step. Returns whether there
  // was such a call.
  bool Fail(const CellExecutor& executor, const Fault& fault, int calls_before,
            const Results& want) const {
    SCOPED_TRACE(testing::Message()
                 << fault.function << ", call " << calls_before);
    cuda_->Reset();
    cuda_->Fail(fault.function, calls_before, fault.error);
    Results spoiled, got;
    const Status status = Step(executor, &spoiled);
    const bool failed = cuda_->Calls(fault.function) > calls_before;
    EXPECT_EQ(status.ok(), !failed);
    if (failed) {
      EXPECT_THAT(status.message(), StartsWith(fault.message));
    }
    cuda_->Reset();
    const Status after = Step(executor, &got);
    EXPECT_TRUE(after.ok()) << after.message();
    EXPECT_EQ(got, want);
    return failed;
  }

  // Lets one call after another of a function fail, until a step makes so few
  // of them that none does. Returns how many steps have failed.
  int FailEach(const Fault& fault) const {
    return FailEach(fault, CellExecutor(cell_, PassOptions(), TheGpu()));
  }
  int FailEach(const Fault& fault, const CellExecutor& executor) const {
    Results want;
    EXPECT_TRUE(Step(executor, &want).ok());
    int calls = 0;
    while (Fail(executor, fault, calls, want) && !HasFailure()) ++calls;
    return calls;
  }

  // The same in the first step on a GPU, which loads kernels and takes memory.
  // In the end all memory is given back.
  int FailEachInFirstStep(const Fault& fault, bool walks) const {
    Results want;
    EXPECT_TRUE(Step(CellExecutor(cell_, PassOptions(), TheGpu()), &want).ok());
    for (int calls = 0;; ++calls) {
      const FakeCounts before = cuda_->Counts();
      bool failed;
      {
        const CudaTestDevice fresh(TestGpu::Open(), walks);
        const CellExecutor executor(cell_, PassOptions(), &fresh);
        failed = Fail(executor, fault, calls, want);
      }
      const FakeCounts after = cuda_->Counts();
      EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
      EXPECT_EQ(after.pinned_bytes_in_use, before.pinned_bytes_in_use);
      if (!failed || HasFailure()) return calls;
    }
  }

  std::unique_ptr<FakeCuda> cuda_;
  Cell cell_;
  std::unique_ptr<Experiment> experiment_;
  Schedule schedule_;
};

TEST_F(CudaFaultsTest, LaunchesFail) {
  EXPECT_GT(FailEach({"cuLaunchKernel", 701,
                      "GPU: got CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ("}),
            15);
}

// Kernels are compiled in the midst of a step, when they are first launched.
TEST_F(CudaFaultsTest, KernelsDoNotCompile) {
  EXPECT_GT(FailEachInFirstStep(
                {"nvrtcCompileProgram", 6, "NVRTC 12.9: got error 6 for"},
                /*walks=*/false),
            3);
}

TEST_F(CudaFaultsTest, AGpuIsLost) {
  EXPECT_GT(
      FailEach({"cuLaunchKernel", 719, "GPU: got CUDA_ERROR_LAUNCH_FAILED ("}),
      15);
}

TEST_F(CudaFaultsTest, CopiesFail) {
  EXPECT_GE(
      FailEach({"cuMemcpyHtoDAsync_v2", 999, "GPU: got CUDA_ERROR_UNKNOWN ("}),
      1);
}

// Rows of an input that not all vertices have are copied before anything is
// computed, and so are gradients of outputs of chosen vertices.
TEST_F(CudaFaultsTest, CopiesOfInputsFail) {
  Cell cell = cell_;
  cell.partial_pulls = {0};
  MakeExperiment(cell);
  PassOptions options;
  options.specialize = false;  // Else vertices without a row read none.
  CellExecutor executor(cell, options, TheGpu());
  executor.PushOnly({0, 3});
  const int failed =
      FailEach({"cuMemcpyDtoDAsync_v2", 999,
                "GPU: got CUDA_ERROR_UNKNOWN (CUDA_ERROR_UNKNOWN) from copying "
                "memory but expected success."},
               executor);
  EXPECT_EQ(failed, 2);
}

TEST_F(CudaFaultsTest, WalksAndWhatTheFirstStepTakesFail) {
  const auto fault = [](const char* function, const std::string& what) {
    return Fault{function, 999,
                 "GPU: got CUDA_ERROR_UNKNOWN (CUDA_ERROR_UNKNOWN) from " +
                     what + " but expected success."};
  };
  for (const Fault& own :
       {fault("cuLaunchCooperativeKernel", "a cooperative launch"),
        fault("cuMemHostAlloc", "taking pinned memory"),
        fault("cuModuleLoadData", "loading kernels"),
        fault("cuMemsetD8Async", "setting memory to zero"),
        fault("cuEventRecord", "recording an event"),
        Fault{"cuMemAlloc_v2", 2, /*message=*/""},
        Fault{"cuEventCreate", 999, "GPU: got CUDA_ERROR_UNKNOWN ("}}) {
    const int failed = FailEachInFirstStep(own, /*walks=*/true);
    EXPECT_GE(failed, 1) << own.function;
  }
}

// A step itself waits for nothing.
TEST_F(CudaFaultsTest, WaitsFail) {
  std::unique_ptr<CudaStream> stream;
  ASSERT_TRUE(CudaStream::New(TheGpu()->gpu()->kernels(), &stream).ok());
  cuda_->Fail("cuStreamSynchronize", 0, 999);
  const Status status = stream->Synchronize();
  EXPECT_THAT(status.message(), StartsWith("GPU: got CUDA_ERROR_UNKNOWN ("));
  cuda_->Reset();
  EXPECT_TRUE(stream->Synchronize().ok());
}

// A buffer that the stream still reads is not lent again.
TEST_F(CudaFaultsTest, BuffersCannotBeMarkedAsFree) {
  const TestGpu& gpu = *TheGpu()->gpu();
  const auto kernels =
      std::make_shared<CudaKernels>(gpu.kernels()->shared_context());
  std::unique_ptr<CudaStream> stream;
  ASSERT_TRUE(CudaStream::New(kernels, &stream).ok());
  CudaMemory memory(kernels->shared_context());
  void* const to = memory.Allocate(2 * sizeof(int));
  cuda_->Fail("cuEventRecord", 0, 999);
  const int first = 1, second = 2;
  const Status status = stream->CopyIn(to, &first, sizeof(int));
  EXPECT_THAT(status.message(), StartsWith("GPU: got CUDA_ERROR_UNKNOWN ("));
  EXPECT_TRUE(
      stream->CopyIn(static_cast<int*>(to) + 1, &second, sizeof(int)).ok());
  EXPECT_TRUE(stream->Synchronize().ok());
  int got[2];
  gpu.CopyOut(got, to, sizeof(got));
  EXPECT_THAT(got, ElementsAre(first, second));
  memory.Free(to, 2 * sizeof(int));
}

// In the first step of a model, which takes memory.
TEST_F(CudaFaultsTest, MemoryEnds) {
  int failed = 0;
  for (const int calls : {0, 1, 2}) {
    const CellExecutor executor(cell_, PassOptions(), TheGpu());
    cuda_->Reset();
    cuda_->Fail("cuMemAlloc_v2", calls, 2);
    Results spoiled, got;
    const Status status = Step(executor, &spoiled);
    if (!status.ok()) {
      ++failed;
      EXPECT_EQ(status.code(), StatusCode::kResourceExhausted)
          << status.message();
    }
    cuda_->Reset();
    const Status after = Step(executor, &got);
    EXPECT_TRUE(after.ok()) << after.message();
  }
  EXPECT_GE(failed, 1);
}

// Constants are copied to the GPU once, in the first step of a model.
TEST_F(CudaFaultsTest, MemoryEndsWhenConstantsAreMade) {
  Sketch f;
  f.Push(0, f.Call(Elementwise::kAdd, f.Pull(0, 3), f.ScalarZero()));
  Cell cell;
  cell.pulls = cell.pushes = {3};
  cell.captures = {{}};
  cell.forward = {f.program};
  cell.backward = {Program()};
  const Experiment experiment(cell, Chain(2), 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  std::string message;
  for (int calls = 0; calls < 4; ++calls) {
    const CellExecutor executor(cell, PassOptions(), TheGpu());
    const auto step = [&] {
      Results results;
      return executor.Forward(experiment, schedule, Setting(), nullptr,
                              &results);
    };
    cuda_->Reset();
    cuda_->Fail("cuMemAlloc_v2", calls, 2);
    const std::string own = step().message();
    if (own.find("constants") != std::string::npos) message = own;
    cuda_->Reset();
    EXPECT_TRUE(step().ok()) << "after a fault of call " << calls;
  }
  EXPECT_EQ(message,
            "GPU: got CUDA_ERROR_OUT_OF_MEMORY "
            "(CUDA_ERROR_OUT_OF_MEMORY) from taking "
            "memory for constants but expected enough memory. Use a smaller "
            "minibatch, or free memory of the GPU.");
}

}  // namespace
}  // namespace cavs
