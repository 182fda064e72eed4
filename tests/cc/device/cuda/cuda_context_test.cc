// What is said where there is no driver, no compiler, no GPU, or one that
// fails.
#include "cc/device/cuda/cuda_context.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cc/device/cuda/cuda_kernels.h"
#include "cc/device/cuda/cuda_stream.h"
#include "tests/cc/cuda/fake_cuda.h"

namespace cavs {
namespace {

namespace fs = std::filesystem;

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Sets a variable of the environment for a while.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (had_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* const name_;
  bool had_;
  std::string before_;
};

class CudaContextTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("CAVS_LIBCUDA") == nullptr) GTEST_SKIP() << "no GPU";
    if (FakeCuda::IsDriver()) cuda_.emplace().Reset();
  }
  void TearDown() override {
    if (cuda_.has_value()) cuda_->Reset();
  }
  const FakeCuda& cuda() const { return *cuda_; }
  Status Open(int ordinal = 0) {
    return CudaContext::Open(ordinal, {}, &context);
  }

  std::shared_ptr<const CudaContext> context;

 private:
  std::optional<FakeCuda> cuda_;
};

TEST_F(CudaContextTest, OpensTheFirstGpu) {
  const Status status = Open();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(context->num_processors(), 0);
  EXPECT_NE(context->name(), "");
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  EXPECT_EQ(context->num_processors(), 8);
  EXPECT_EQ(context->name(), "Emulated device 0");
}

TEST_F(CudaContextTest, WithoutADriver) {
  const Variable variable("CAVS_LIBCUDA", "/no/such/libcuda.so");
  const Status status = Open();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), StartsWith("NVIDIA driver: got `"));
  EXPECT_THAT(status.message(),
              HasSubstr("but expected the library /no/such/libcuda.so. Install "
                        "NVIDIA's driver, or use the CPU."));
}

TEST_F(CudaContextTest, WithADriverThatIsTooOld) {
  const Variable variable("CAVS_LIBCUDA", "libm.so.6");
  const Status status = Open();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "NVIDIA driver: got libm.so.6 without cuInit but expected that of "
            "CUDA 12 or newer. Update NVIDIA's driver, or use the CPU.");
}

// It has every function, but loads no kernel of a newer compiler.
TEST_F(CudaContextTest, WithADriverOfCuda11) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  cuda().Set("driver", 11080);
  const Status status = Open();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), StartsWith("NVIDIA driver: got "));
  EXPECT_THAT(
      status.message(),
      EndsWith("libfake_cuda.so of CUDA 11.8 but expected that of CUDA 12 or "
               "newer. Update NVIDIA's driver, or use the CPU."));
  cuda().Set("driver", 12000);
  EXPECT_TRUE(Open().ok());
}

TEST_F(CudaContextTest, WithADriverThatDoesNotStart) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  cuda().Fail("cuInit", 0, 999);
  const Status status = Open();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(),
              StartsWith("GPU: got CUDA_ERROR_UNKNOWN (CUDA_ERROR_UNKNOWN) "
                         "from starting the driver but expected success."));
}

TEST_F(CudaContextTest, WithADriverThatSeesNoGpu) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  cuda().Fail("cuInit", 0, 100);
  const Status status = Open();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), StartsWith("GPU: got none from "));
  EXPECT_THAT(
      status.message(),
      EndsWith("libfake_cuda.so of CUDA 13.0 but expected one. Look at "
               "`nvidia-smi` and at CUDA_VISIBLE_DEVICES, or use the CPU."));
}

TEST_F(CudaContextTest, AReportSaysWhatIsFound) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const std::string fake = std::getenv("CAVS_LIBCUDA");
  EXPECT_THAT(CudaContext::Report({}),
              ElementsAre("NVIDIA driver: " + fake + " of CUDA 13.0",
                          "GPU 0: Emulated device 0, compute capability 9.0",
                          "NVRTC: 12.9, " + fake, "cuBLASLt: " + fake));
}

// One missing thing does not hide the others.
TEST_F(CudaContextTest, AReportSaysAllThatIsMissing) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const std::string fake = std::getenv("CAVS_LIBCUDA");
  cuda().Set("architecture", 75);
  const Variable variable("CAVS_LIBNVRTC", "/no/such/libnvrtc.so");
  EXPECT_THAT(
      CudaContext::Report({}),
      ElementsAre(
          "NVIDIA driver: " + fake + " of CUDA 13.0",
          "GPU 0: got a Emulated device 0 of compute capability 7.5 but "
          "expected 8.0 or newer. Use the CPU.",
          StartsWith("NVRTC: got no library of the name /no/such/libnvrtc.so "),
          "cuBLASLt: " + fake));
  const Variable driver("CAVS_LIBCUDA", "/no/such/libcuda.so");
  EXPECT_THAT(CudaContext::Report({}),
              ElementsAre(StartsWith("NVIDIA driver: got `"),
                          StartsWith("NVRTC: got no library of the name "),
                          "cuBLASLt: " + fake));
}

TEST_F(CudaContextTest, WithoutACompilerAnywhere) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const std::string before = std::getenv("CAVS_LIBNVRTC");
  unsetenv("CAVS_LIBNVRTC");
  std::shared_ptr<const CudaCompiler> compiler;
  const Status status =
      CudaCompiler::Load({"/a/libnvrtc.so.12", "/b/libnvrtc.so.13"}, &compiler);
  setenv("CAVS_LIBNVRTC", before.c_str(), 1);
  if (status.ok()) GTEST_SKIP() << "NVRTC is installed";
  EXPECT_THAT(
      status.message(),
      StartsWith("NVRTC: got no library of the name /a/libnvrtc.so.12, "
                 "/b/libnvrtc.so.13, libnvrtc.so.13, libnvrtc.so.12, "
                 "libnvrtc.so or /usr/local/cuda/lib64/libnvrtc.so but "));
}

TEST_F(CudaContextTest, WithoutACompiler) {
  const Variable variable("CAVS_LIBNVRTC", "/no/such/libnvrtc.so");
  const Status status = Open();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(
      status.message(),
      "NVRTC: got no library of the name /no/such/libnvrtc.so but expected "
      "NVIDIA's run-time compiler. Run `pip install 'tensorflow[and-cuda]'`, "
      "or set CAVS_LIBNVRTC to the path of libnvrtc.so.");
}

// A wheel's folder is none that the system looks into.
TEST_F(CudaContextTest, TheCompilerFindsWhatLiesBesideIt) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  std::string folder = testing::TempDir() + "/wheel_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string builtins = folder + "/libnvrtc-builtins.so.12.9";
  fs::copy_file(std::getenv("CAVS_LIBCUDA"), builtins);
  const std::string path = folder + "/libnvrtc.so.12";
  fs::create_symlink(std::getenv("CAVS_LIBCUDA"), path);
  const auto is_loaded = [&] {
    return dlopen(builtins.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr;
  };
  EXPECT_FALSE(is_loaded());
  const Variable variable("CAVS_LIBNVRTC", path);
  EXPECT_TRUE(Open().ok());
  EXPECT_TRUE(is_loaded());
  fs::remove_all(folder);
}

TEST_F(CudaContextTest, WithFewerGpus) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const Status status = Open(1);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "GPU 1: got 1 GPUs but expected more. Look at `nvidia-smi` and at "
            "CUDA_VISIBLE_DEVICES, or use the CPU.");
}

TEST_F(CudaContextTest, WithAGpuThatIsTooOld) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  cuda().Set("architecture", 75);
  const Status status = Open();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "GPU 0: got a Emulated device 0 of compute capability 7.5 but "
            "expected 8.0 or newer. Use the CPU.");
}

// The compiler knows 12.1, but not this one.
TEST_F(CudaContextTest, WithAGpuThatIsNewerThanTheCompiler) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const auto text = std::make_shared<CudaText>(
      CudaText{"struct Args {};\n", {{"test", "Args", "(void)at"}}});
  for (const int architecture : {90, 88, 130}) {
    cuda().Set("architecture", architecture);
    ASSERT_TRUE(Open().ok());
    const CudaContext::Current current(*context);
    CudaFunction function;
    const Status status = context->Find({text, 0}, &function);
    EXPECT_TRUE(status.ok()) << architecture << ": " << status.message();
  }
}

TEST_F(CudaContextTest, KernelsThatDoNotCompile) {
  ASSERT_TRUE(Open().ok());
  CudaFunction function;
  const auto text = std::make_shared<CudaText>(
      CudaText{"", {{"test", "Missing", "nothing(a, at)"}}});
  const Status status = context->Find({text, 0}, &function);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(),
              ContainsRegex("^NVRTC [0-9.]+: got error 6 for a kernel but "
                            "expected it to compile for --gpu-architecture=sm_"
                            "[0-9]+. Update the package nvidia-cuda-nvrtc, or "
                            "use the CPU."));
  EXPECT_THAT(status.message(), HasSubstr("Missing"));
}

// In processes of their own: finds a kernel, which takes as many compilations
// as the environment says, if it does.
TEST_F(CudaContextTest, DISABLED_FindsAKernel) {
  ASSERT_TRUE(Open().ok());
  const auto text = std::make_shared<CudaText>(
      CudaText{"struct Args {};\n", {{"test", "Args", "(void)at"}}});
  const CudaContext::Current current(*context);
  CudaFunction function;
  for (int i = 0; i < 2; ++i) {
    const Status status = context->Find({text, 0}, &function);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(cuda().Counts().modules, 1);
  if (const char* compiles = std::getenv("COMPILES")) {
    EXPECT_EQ(std::to_string(cuda().Counts().compiles), compiles);
  }
}

TEST_F(CudaContextTest, ImagesOnDiskAreNotCompiledAgain) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  std::string folder = testing::TempDir() + "/images_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const Variable variable("CAVS_CUDA_CACHE", folder.c_str());
  const std::string process =
      "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX " +
      fs::read_symlink("/proc/self/exe").string() +
      " --gtest_also_run_disabled_tests --gtest_filter=*DISABLED_FindsAKernel"
      " > /dev/null";
  // Two at once compile it both, or one of them.
  const std::string two =
      "(" + process + " & a=$!; " + process + "; b=$?; wait $a && [ $b = 0 ])";
  EXPECT_EQ(std::system(two.c_str()), 0);
  EXPECT_EQ(std::system(("COMPILES=0 " + process).c_str()), 0);
  EXPECT_NE(std::system(("COMPILES=1 " + process).c_str()), 0);
  fs::remove_all(folder);
  EXPECT_EQ(std::system(("COMPILES=1 " + process).c_str()), 0);
  EXPECT_EQ(std::system(("COMPILES=0 " + process).c_str()), 0);
  fs::remove_all(folder);
}

TEST_F(CudaContextTest, WithoutMemory) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  ASSERT_TRUE(Open().ok());
  const auto kernels = std::make_shared<CudaKernels>(context);
  cuda().Set("memory", 1000);
  CudaMemory memory(context);
  EXPECT_EQ(memory.Allocate(2000), nullptr);
  EXPECT_FALSE(memory.MayProvide(2000));
  EXPECT_TRUE(memory.MayProvide(500));
  cuda().Fail("cuStreamCreate", 0, 2);
  std::unique_ptr<CudaStream> stream;
  const Status status = CudaStream::New(kernels, &stream);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "GPU: got CUDA_ERROR_OUT_OF_MEMORY (CUDA_ERROR_OUT_OF_MEMORY) from "
            "making a stream but expected enough memory. Use a smaller "
            "minibatch, or free memory of the GPU.");
}

TEST_F(CudaContextTest, AGpuThatIsLost) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  ASSERT_TRUE(Open().ok());
  const auto kernels = std::make_shared<CudaKernels>(context);
  std::unique_ptr<CudaStream> stream;
  ASSERT_TRUE(CudaStream::New(kernels, &stream).ok());
  cuda().Fail("cuStreamSynchronize", 0, 719);
  const Status status = stream->Synchronize();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(),
            "GPU: got CUDA_ERROR_LAUNCH_FAILED (CUDA_ERROR_LAUNCH_FAILED) from "
            "the work of a step but expected success. After a fault of the GPU "
            "the process has to be started again; until then the CPU can be "
            "used.");
  EXPECT_FALSE(stream->Zero(nullptr, 8).ok());
}

}  // namespace
}  // namespace cavs
