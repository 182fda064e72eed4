// Tests of the fake driver and of the emulated kernels: what they find, and
// what they compute.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "tests/cc/cuda/fake_cuda.h"

namespace cavs {
namespace {

using Address = unsigned long long;

const FakeCuda& Cuda() {
  static const auto* cuda = new FakeCuda();
  return *cuda;
}

const char kInclude[] = "#include \"cavs_device.h\"\n";

class FakeDriverTest : public ::testing::Test {
 protected:
  FakeDriverTest() {
    Cuda().Reset();
    Cuda()("cuInit", 0u);
    Cuda()("cuDevicePrimaryCtxRetain", &context_, 0);
    Cuda()("cuCtxPushCurrent_v2", context_);
    Cuda()("cuStreamCreate", &stream_, 1u);
  }
  ~FakeDriverTest() override {
    Cuda().Reset();
    Cuda()("cuStreamDestroy_v2", stream_);
    Cuda()("cuCtxPopCurrent_v2", &context_);
  }

  // Compiles a text; the image, or the log if it has errors.
  static int Compile(const std::string& text, std::string* image,
                     const char* architecture = "sm_90") {
    void* program = nullptr;
    const std::string all = kInclude + text;
    const char *header = "real", *name = "cavs_device.h";
    EXPECT_EQ(Cuda()("nvrtcCreateProgram", &program, all.c_str(), "text.cu", 1,
                     static_cast<const char* const*>(&header),
                     static_cast<const char* const*>(&name)),
              0);
    const std::string option =
        std::string("--gpu-architecture=") + architecture;
    const char* options[] = {option.c_str(), "--std=c++17", "--fmad=false"};
    const int status = Cuda()("nvrtcCompileProgram", program, 3,
                              static_cast<const char* const*>(options));
    size_t bytes = 0;
    if (status != 0) {
      Cuda()("nvrtcGetProgramLogSize", program, &bytes);
      image->resize(bytes);
      Cuda()("nvrtcGetProgramLog", program, image->data());
    } else {
      Cuda()("nvrtcGetCUBINSize", program, &bytes);
      image->resize(bytes);
      Cuda()("nvrtcGetCUBIN", program, image->data());
    }
    Cuda()("nvrtcDestroyProgram", &program);
    return status;
  }

  // Loads `name` from a text.
  static void* Load(const std::string& text, const char* name = "test") {
    std::string image;
    void *module = nullptr, *kernel = nullptr;
    EXPECT_EQ(Compile(text, &image), 0) << image;
    EXPECT_EQ(Cuda()("cuModuleLoadData", &module,
                     static_cast<const void*>(image.data())),
              0)
        << Cuda().Fault();
    EXPECT_EQ(Cuda()("cuModuleGetFunction", &kernel, module, name), 0);
    return kernel;
  }

  template <typename Args>
  int Launch(void* kernel, unsigned blocks, unsigned threads, Args args,
             unsigned shared = 0, bool cooperative = false,
             unsigned blocks_y = 1) {
    void* arguments[] = {&args};
    if (cooperative) {
      return Cuda()("cuLaunchCooperativeKernel", kernel, blocks, blocks_y, 1u,
                    threads, 1u, 1u, shared, stream_,
                    static_cast<void**>(arguments));
    }
    return Cuda()("cuLaunchKernel", kernel, blocks, blocks_y, 1u, threads, 1u,
                  1u, shared, stream_, static_cast<void**>(arguments),
                  static_cast<void**>(nullptr));
  }
  int Wait() { return Cuda()("cuStreamSynchronize", stream_); }

  Address Allocate(size_t bytes) {
    Address at = 0;
    EXPECT_EQ(Cuda()("cuMemAllocAsync", &at, bytes, stream_), 0);
    return at;
  }
  template <typename T>
  Address Upload(const std::vector<T>& values) {
    const Address at = Allocate(values.size() * sizeof(T));
    EXPECT_EQ(Cuda()("cuMemcpyHtoDAsync_v2", at,
                     static_cast<const void*>(values.data()),
                     values.size() * sizeof(T), stream_),
              0);
    EXPECT_EQ(Wait(), 0);
    return at;
  }
  template <typename T>
  std::vector<T> Download(Address from, size_t n) {
    std::vector<T> values(n);
    EXPECT_EQ(Cuda()("cuMemcpyDtoHAsync_v2", static_cast<void*>(values.data()),
                     from, n * sizeof(T), stream_),
              0);
    EXPECT_EQ(Wait(), 0) << Cuda().Fault();
    return values;
  }

  void* context_ = nullptr;
  void* stream_ = nullptr;
};

std::vector<float> Numbers(size_t n, unsigned seed) {
  std::vector<float> numbers(n);
  for (float& x : numbers) {
    seed = seed * 1664525 + 1013904223;
    x = static_cast<float>(static_cast<int>(seed)) * 0x1p-31f;
  }
  return numbers;
}

// A product by tiles in shared memory. TILE_BARRIER is the barrier behind the
// use of a tile.
const char kMatMul[] = R"(
struct Args { Global<const float> a, b; Global<float> c; int m, n, k; };
KERNEL(test, Args, 256) {
  SHARED_MEMORY(memory);
  const Shared<float> as = cast<float>(memory), bs = as + 16 * 64;
  const int t = thread_index(), row = block_y() * 64, col = block_x() * 64;
  float acc[4][4] = {};
  for (int k0 = 0; k0 < a.k; k0 += 16) {
    for (int e = t; e < 64 * 16; e += 256) {
      const int i = row + e / 16, ka = k0 + e % 16;
      as[e % 16 * 64 + e / 16] =
          i < a.m && ka < a.k ? (float)a.a[(i64)i * a.k + ka] : 0.0f;
      const int j = col + e % 64, kb = k0 + e / 64;
      bs[e] = j < a.n && kb < a.k ? (float)a.b[(i64)kb * a.n + j] : 0.0f;
    }
    barrier();
    for (int kk = 0; kk < 16; ++kk) {
      const Four<float> x = load4(as, kk * 64 + t / 16 * 4);
      const Four<float> y = load4(bs, kk * 64 + t % 16 * 4);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] = fma(x.x[i], y.x[j], acc[i][j]);
    }
    TILE_BARRIER
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int r = row + t / 16 * 4 + i, c = col + t % 16 * 4 + j;
      if (r < a.m && c < a.n) a.c[(i64)r * a.n + c] = acc[i][j];
    }
}
)";

struct MatMulArgs {
  Address a, b, c;
  int m, n, k;
};

TEST_F(FakeDriverTest, ProductsAreThoseOfALoopToTheBit) {
  const int m = 70, n = 129, k = 37;
  const auto a = Numbers(m * k, 1), b = Numbers(k * n, 2);
  void* kernel =
      Load(std::string("#define TILE_BARRIER barrier();\n") + kMatMul);
  std::vector<float> expected(m * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int p = 0; p < k; ++p) {
        sum = std::fma(a[i * k + p], b[p * n + j], sum);
      }
      expected[i * n + j] = sum;
    }
  }
  const MatMulArgs args = {Upload(a), Upload(b), Allocate(m * n * 4), m, n, k};
  for (int seed : {0, 1, 2, 3}) {
    Cuda().Set("seed", seed);
    ASSERT_EQ(Launch(kernel, 3, 256, args, 2 * 16 * 64 * 4, false, 2), 0)
        << Cuda().Fault();
    const auto got = Download<float>(args.c, m * n);
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), m * n * 4), 0);
  }
}

}  // namespace
}  // namespace cavs
