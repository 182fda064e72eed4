// Tests of the fake driver and of the emulated kernels: what they find, and
// what they compute.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/narrow_float.h"
#include "tests/cc/cuda/fake_cuda.h"

namespace cavs {
namespace {

using ::testing::HasSubstr;

using Address = unsigned long long;
using i64 = long long;
using u32 = uint32_t;
using u16 = uint16_t;

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

// Compiles kernels with races and bounds looked for.
class WithRaces {
 public:
  WithRaces() { setenv("CAVS_FAKE_RACES", "1", 1); }
  ~WithRaces() { unsetenv("CAVS_FAKE_RACES"); }
};

TEST_F(FakeDriverTest, AMissingBarrierBetweenTilesIsARace) {
  const WithRaces races;
  const int m = 64, n = 64, k = 48;
  const MatMulArgs args = {Upload(Numbers(m * k, 1)),
                           Upload(Numbers(k * n, 2)),
                           Allocate(m * n * 4),
                           m,
                           n,
                           k};
  void* right =
      Load(std::string("#define TILE_BARRIER barrier();\n") + kMatMul);
  ASSERT_EQ(Launch(right, 1, 256, args, 2 * 16 * 64 * 4), 0);
  ASSERT_EQ(Wait(), 0) << Cuda().Fault();
  void* wrong = Load(std::string("#define TILE_BARRIER\n") + kMatMul);
  ASSERT_EQ(Launch(wrong, 1, 256, args, 2 * 16 * 64 * 4), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("test, block 0, thread"));
  EXPECT_THAT(Cuda().Fault(), HasSubstr("RACE: it writes what block 0"));
}

struct VectorArgs {
  Address x;
  i64 n;
};
const char kVector[] = "struct Args { Global<float> x; i64 n; };\n";

TEST_F(FakeDriverTest, ThreadsThatMissABarrierAreNamed) {
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 64) {
        if (block_x() != 1 || thread_index() != 3) barrier();
      })");
  ASSERT_EQ(Launch(kernel, 2, 64, VectorArgs{}), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("block 1, thread 3 ends without a "
                                        "barrier at which others wait"));
}

TEST_F(FakeDriverTest, LanesThatMissAnOperationOfTheirWarpAreNamed) {
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 64) {
        if (thread_index() != 40) shuffle_xor(1, 1);
      })");
  ASSERT_EQ(Launch(kernel, 1, 64, VectorArgs{}), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(),
              HasSubstr("block 0, thread 40 ends while its warp does "
                        "shuffle_xor"));
}

TEST_F(FakeDriverTest, LanesDoTheSame) {
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 64) {
        float d[4] = {};
        u32 a_[4] = {}, b[2] = {};
        if (lane() < 16) shuffle_xor(1, 1);
        else mma_bf16(d, a_, b);
      })");
  ASSERT_EQ(Launch(kernel, 1, 64, VectorArgs{}), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("while another lane of its warp does"));
  Cuda().Reset();
  ASSERT_EQ(Launch(kernel, 1, 48, VectorArgs{}), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("full warps"));
}

TEST_F(FakeDriverTest, WaitsThatNeverEndAreReported) {
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 32) {
        if (thread_index() < 16) {
          barrier();
        } else {
          shuffle_xor(1, 1);
        }
      })");
  ASSERT_EQ(Launch(kernel, 1, 32, VectorArgs{0, 1}), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("no thread can go on"));
  EXPECT_THAT(Cuda().Fault(), HasSubstr("waits in barrier"));
}

TEST_F(FakeDriverTest, MemoryOutOfBoundsIsReported) {
  const WithRaces races;
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 32) { a.x[thread_index()] = 1; })");
  const Address x = Allocate(31 * 4);
  ASSERT_EQ(Launch(kernel, 1, 32, VectorArgs{x, 0}), 0);
  EXPECT_EQ(Wait(), 700);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("thread 31: touches memory out of"));
}

TEST_F(FakeDriverTest, SharedMemoryOutOfBoundsIsReported) {
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 32) {
        SHARED_MEMORY(memory);
        cast<float>(memory)[thread_index()] = 1;
      })");
  ASSERT_EQ(Launch(kernel, 1, 32, VectorArgs{}, 31 * 4), 0);
  EXPECT_EQ(Wait(), 700);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("thread 31: touches out of shared"));
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(FakeDriverTest, AddressSanitizerSeesKernels) {
  setenv("CAVS_FAKE_FLAGS", "-fsanitize=address -g1", 1);
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 32) { a.x[thread_index()] = 1; barrier(); })");
  unsetenv("CAVS_FAKE_FLAGS");
  ASSERT_EQ(Launch(kernel, 1, 32, VectorArgs{Allocate(32 * 4), 0}), 0);
  EXPECT_EQ(Wait(), 0);
  EXPECT_DEATH(
      {
        Launch(kernel, 1, 32, VectorArgs{Allocate(31 * 4), 0});
        Wait();
      },
      "AddressSanitizer.*cavs_kernel_test");
}
#endif

TEST_F(FakeDriverTest, OnlyMemoryThatTheDriverKnowsIsReached) {
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 32) { a.x[thread_index()] = thread_index(); })");
  std::vector<float> plain(32);
  void* pinned = nullptr;
  Address managed = 0;
  ASSERT_EQ(Cuda()("cuMemHostAlloc", &pinned, size_t{128}, 0u), 0);
  ASSERT_EQ(Cuda()("cuMemAllocManaged", &managed, size_t{128}, 1u), 0);
  for (const Address x : {reinterpret_cast<Address>(pinned), managed}) {
    ASSERT_EQ(Launch(kernel, 1, 32, VectorArgs{x, 0}), 0);
    ASSERT_EQ(Wait(), 0) << Cuda().Fault();
    EXPECT_EQ(reinterpret_cast<float*>(x)[31], 31);
  }
  for (const Address x : {reinterpret_cast<Address>(plain.data()), Address{}}) {
    ASSERT_EQ(Launch(kernel, 1, 32, VectorArgs{x, 0}), 0);
    EXPECT_EQ(Wait(), 700);
    EXPECT_THAT(Cuda().Fault(), HasSubstr("no memory of the device"));
    Cuda().Reset();
  }
  EXPECT_EQ(Cuda()("cuMemFreeHost", pinned), 0);
  EXPECT_EQ(Cuda()("cuMemFree_v2", managed), 0);
}

TEST_F(FakeDriverTest, TheHostCannotTouchMemoryOfTheDevice) {
  const Address x = Allocate(4);
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(x) = 1, "");
}

TEST_F(FakeDriverTest, MemoryIsNanUntilItIsWritten) {
  for (const float x : Download<float>(Allocate(40), 10)) {
    EXPECT_TRUE(std::isnan(x));
  }
}

TEST_F(FakeDriverTest, MisalignedVectorsAreReported) {
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 1) { a.x[0] = load4(a.x, a.n).x[0]; })");
  const Address x = Upload(Numbers(8, 1));
  ASSERT_EQ(Launch(kernel, 1, 1, VectorArgs{x, 4}), 0);
  ASSERT_EQ(Wait(), 0) << Cuda().Fault();
  ASSERT_EQ(Launch(kernel, 1, 1, VectorArgs{x, 2}), 0);
  EXPECT_EQ(Wait(), 716);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("misaligned"));
}

TEST_F(FakeDriverTest, FaultsStay) {
  void* kernel =
      Load(std::string(kVector) + "KERNEL(test, Args, 1) { a.x[0] = 1; }");
  ASSERT_EQ(Launch(kernel, 1, 1, VectorArgs{}), 0);
  EXPECT_EQ(Wait(), 700);
  Address address;
  EXPECT_EQ(Launch(kernel, 1, 1, VectorArgs{}), 700);
  EXPECT_EQ(Cuda()("cuMemAllocAsync", &address, size_t{4}, stream_), 700);
  EXPECT_EQ(Cuda().Counts().faults, 1);
  Cuda().Reset();
  EXPECT_EQ(Cuda()("cuMemAllocAsync", &address, size_t{4}, stream_), 0);
}

// Each level reads what other blocks wrote in the one before.
const char kLevels[] = R"(
struct Args { Global<float> x; Global<unsigned> counter; i64 n; int levels; };
KERNEL(test, Args, 64) {
  unsigned round = grid_begin(a.counter);
  for (int level = 1; level < a.levels; ++level) {
    for (i64 i = block_x() * 64 + thread_index(); i < a.n; i += grid_x() * 64) {
      const float before = a.x[(level - 1) * a.n + a.n - 1 - i];
      a.x[level * a.n + i] = before + 1;
    }
    GRID_BARRIER
  }
}
)";
const char kGridBarrier[] =
    "#define GRID_BARRIER grid_barrier(a.counter, &round);\n";

struct LevelsArgs {
  Address x, counter;
  i64 n;
  int levels;
};

TEST_F(FakeDriverTest, BarriersOfTheGrid) {
  const int n = 300, levels = 5;
  std::vector<float> x(n * levels, 0);
  const LevelsArgs args = {Upload(x), Upload(std::vector<unsigned>{0}), n,
                           levels};
  void* kernel = Load(kGridBarrier + std::string(kLevels));
  ASSERT_EQ(Launch(kernel, 5, 64, args, 0, true), 0);
  EXPECT_EQ(Download<float>(args.x, n * levels).back(), levels - 1);
  EXPECT_EQ(Cuda().Counts().cooperative, 1);

  ASSERT_EQ(Launch(kernel, 5, 64, args), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("not cooperative"));
  Cuda().Reset();

  const LevelsArgs unset = {args.x, Allocate(4), n, levels};
  ASSERT_EQ(Launch(kernel, 5, 64, unset, 0, true), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("not set to zero"));
}

TEST_F(FakeDriverTest, AMissingBarrierOfTheGridIsARace) {
  const WithRaces races;
  const int n = 300, levels = 5;
  const LevelsArgs args = {Upload(std::vector<float>(n * levels, 0)),
                           Upload(std::vector<unsigned>{0}), n, levels};
  void* right = Load(kGridBarrier + std::string(kLevels));
  ASSERT_EQ(Launch(right, 5, 64, args, 0, true), 0);
  ASSERT_EQ(Wait(), 0) << Cuda().Fault();
  void* wrong =
      Load("#define GRID_BARRIER barrier();\n" + std::string(kLevels));
  ASSERT_EQ(Launch(wrong, 5, 64, args, 0, true), 0);
  EXPECT_EQ(Wait(), 719);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("RACE"));
}

TEST_F(FakeDriverTest, NeighboursOf16BitsDoNotRace) {
  const WithRaces races;
  void* kernel = Load(R"(
      struct Args { Global<Bf16> x; i64 n; };
      KERNEL(test, Args, 64) {
        a.x[block_x() * 64 + thread_index()] = from_wide<Bf16>(1);
      })");
  ASSERT_EQ(Launch(kernel, 2, 64, VectorArgs{Allocate(256), 0}), 0);
  EXPECT_EQ(Wait(), 0) << Cuda().Fault();
}

// The block that comes last adds up what the others wrote.
TEST_F(FakeDriverTest, CountersOrderBlocks) {
  const WithRaces races;
  void* kernel = Load(R"(
      struct Args { Global<float> x; Global<unsigned> counter; i64 n; int levels; };
      KERNEL(test, Args, 32) {
        SHARED_MEMORY(memory);
        a.x[block_x() * 32 + thread_index()] = 1;
        barrier();
        if (thread_index() == 0) {
          cast<unsigned>(memory)[0] = atomic_add(a.counter, 1);
        }
        barrier();
        const unsigned before = cast<unsigned>(memory)[0];
        if (before != grid_x() - 1 || thread_index() != 0) return;
        float sum = 0;
        for (int i = 0; i < 32 * grid_x(); ++i) sum = sum + a.x[i];
        a.x[0] = sum;
      })");
  const LevelsArgs args = {Allocate(128 * 4), Upload(std::vector<unsigned>{0}),
                           0, 0};
  ASSERT_EQ(Launch(kernel, 4, 32, args, 4), 0);
  EXPECT_EQ(Download<float>(args.x, 1)[0], 128) << Cuda().Fault();
}

TEST_F(FakeDriverTest, SharedMemoryOfBlocksIsNotTheSame) {
  const WithRaces races;
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 32) {
        SHARED_MEMORY(memory);
        cast<float>(memory)[thread_index()] = block_x();
      })");
  ASSERT_EQ(Launch(kernel, 7, 32, VectorArgs{}, 128), 0);
  EXPECT_EQ(Wait(), 0) << Cuda().Fault();
}

TEST_F(FakeDriverTest, StreamsLag) {
  void* kernel = Load(std::string(kVector) + R"(
      KERNEL(test, Args, 1) { a.x[0] = a.x[0] + 1; })");
  void* pinned = nullptr;
  ASSERT_EQ(Cuda()("cuMemHostAlloc", &pinned, size_t{4}, 0u), 0);
  float* x = static_cast<float*>(pinned);
  *x = 1;
  const VectorArgs args = {reinterpret_cast<Address>(pinned), 0};
  ASSERT_EQ(Launch(kernel, 1, 1, args), 0);
  EXPECT_EQ(*x, 1);
  EXPECT_EQ(Cuda()("cuStreamQuery", stream_), 600);
  EXPECT_EQ(Cuda()("cuStreamQuery", stream_), 0);
  EXPECT_EQ(*x, 2);
  Cuda().Set("lag", 0);
  ASSERT_EQ(Launch(kernel, 1, 1, args), 0);
  EXPECT_EQ(*x, 3);
  EXPECT_EQ(Cuda().Counts().host_waits, 0);
  EXPECT_EQ(Cuda().Counts().launches, 2);
  EXPECT_EQ(Cuda().Launches("test"), 2);
  Cuda()("cuMemFreeHost", pinned);
}

TEST_F(FakeDriverTest, EventsOrderStreams) {
  void* other = nullptr;
  void* event = nullptr;
  ASSERT_EQ(Cuda()("cuStreamCreate", &other, 1u), 0);
  ASSERT_EQ(Cuda()("cuEventCreate", &event, 2u), 0);
  for (const bool ordered : {true, false}) {
    const Address x = Allocate(4);
    float got = 0;
    ASSERT_EQ(Cuda()("cuMemsetD8Async", x, static_cast<unsigned char>(0),
                     size_t{4}, stream_),
              0);
    ASSERT_EQ(Cuda()("cuEventRecord", event, stream_), 0);
    if (ordered) {
      ASSERT_EQ(Cuda()("cuStreamWaitEvent", other, event, 0u), 0);
    }
    ASSERT_EQ(Cuda()("cuMemcpyDtoHAsync_v2", static_cast<void*>(&got), x,
                     size_t{4}, other),
              0);
    ASSERT_EQ(Cuda()("cuStreamSynchronize", other), 0);
    EXPECT_EQ(std::isnan(got), !ordered);
    EXPECT_EQ(Cuda()("cuEventQuery", event), ordered ? 0 : 600);
    ASSERT_EQ(Cuda()("cuEventSynchronize", event), 0);
  }
  Cuda()("cuEventDestroy_v2", event);
  Cuda()("cuStreamDestroy_v2", other);
}

TEST_F(FakeDriverTest, CopiesReadTheHostWhenTheyAreDone) {
  void* pinned = nullptr;
  ASSERT_EQ(Cuda()("cuMemHostAlloc", &pinned, size_t{4}, 0u), 0);
  const Address x = Allocate(4);
  *static_cast<float*>(pinned) = 1;
  ASSERT_EQ(Cuda()("cuMemcpyHtoDAsync_v2", x, static_cast<const void*>(pinned),
                   size_t{4}, stream_),
            0);
  *static_cast<float*>(pinned) = 2;
  EXPECT_EQ(Download<float>(x, 1)[0], 2);

  ASSERT_EQ(Cuda()("cuMemcpyHtoDAsync_v2", x, static_cast<const void*>(pinned),
                   size_t{4}, stream_),
            0);
  ASSERT_EQ(Cuda()("cuMemFreeHost", pinned), 0);
  EXPECT_EQ(Wait(), 700);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("freed before the copy was done"));
}

TEST_F(FakeDriverTest, AStreamMayBeEarlierThanACopyThatHasReturned) {
  float value = 1, got = 0;
  const Address x = Allocate(4);
  ASSERT_EQ(Wait(), 0);
  for (const bool waits : {false, true}) {
    ASSERT_EQ(Cuda()("cuMemcpyHtoD_v2", x, static_cast<const void*>(&value),
                     size_t{4}),
              0);
    value = 2;
    if (waits) {
      ASSERT_EQ(Cuda()("cuCtxSynchronize"), 0);
    }
    EXPECT_EQ(std::isnan(Download<float>(x, 1)[0]), !waits);
  }
  ASSERT_EQ(Cuda()("cuMemcpyDtoH_v2", static_cast<void*>(&got), x, size_t{4}),
            0);
  EXPECT_EQ(got, 2);
}

TEST_F(FakeDriverTest, CopiesStayInTheirMemory) {
  const float value = 1;
  ASSERT_EQ(Cuda()("cuMemcpyHtoDAsync_v2", Allocate(3),
                   static_cast<const void*>(&value), size_t{4}, stream_),
            0);
  EXPECT_EQ(Wait(), 700);
  EXPECT_THAT(Cuda().Fault(), HasSubstr("are not in memory of the device"));
}

TEST_F(FakeDriverTest, FunctionsOfAStreamCallNoDriver) {
  int error = -1;
  void (*call)(void*) = [](void* result) {
    void* stream = nullptr;
    *static_cast<int*>(result) = Cuda()("cuStreamCreate", &stream, 0u);
  };
  ASSERT_EQ(
      Cuda()("cuLaunchHostFunc", stream_, call, static_cast<void*>(&error)), 0);
  EXPECT_EQ(error, -1);
  EXPECT_EQ(Wait(), 0);
  EXPECT_EQ(error, 800);
}

TEST_F(FakeDriverTest, LaunchesHaveLimits) {
  void* kernel = Load(std::string(kVector) + R"(
      struct Large { char x[4100]; };
      KERNEL(large, Large, 32) {}
      KERNEL(test, Args, 1024) {})");
  const auto refused = [&](int error, const std::string& why) {
    EXPECT_EQ(error, 1);
    EXPECT_THAT(Cuda().Fault(), HasSubstr(why));
  };
  const VectorArgs args = {};
  refused(Launch(kernel, 1, 1025, args), "test: threads 1025, at most 1024");
  refused(Launch(kernel, 0, 1, args), "an empty grid");
  refused(Launch(kernel, 1, 1, args, 0, false, 65536),
          "grid.y 65536, at most 65535");
  refused(Launch(kernel, 1, 1, args, 49153), "memory 49153, at most 49152");
  EXPECT_EQ(Cuda()("cuFuncSetAttribute", kernel, 8, 227 * 1024 + 1), 1);
  EXPECT_EQ(Cuda()("cuFuncSetAttribute", kernel, 8, 227 * 1024), 0);
  EXPECT_EQ(Launch(kernel, 1, 1, args, 227 * 1024), 0);
  EXPECT_EQ(Launch(kernel, 17, 1024, args, 0, true), 720);
  EXPECT_EQ(Launch(kernel, 16, 1024, args, 0, true), 0);
  int blocks = 0;
  EXPECT_EQ(Cuda()("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks,
                   kernel, 1024, size_t{0}),
            0);
  EXPECT_EQ(blocks, 2);
  struct Large {
    char x[4100];
  };
  std::string image;
  void *module = nullptr, *large = nullptr;
  ASSERT_EQ(Compile("struct Large { char x[4100]; };\n"
                    "KERNEL(large, Large, 32) {}",
                    &image),
            0);
  Cuda()("cuModuleLoadData", &module, static_cast<const void*>(image.data()));
  ASSERT_EQ(Cuda()("cuModuleGetFunction", &large, module, "large"), 0);
  refused(Launch(large, 1, 1, Large{}),
          "bytes of arguments 4100, at most 4096");
}

TEST_F(FakeDriverTest, CallsNeedAContext) {
  void* context = nullptr;
  Address x = 0;
  ASSERT_EQ(Cuda()("cuCtxPopCurrent_v2", &context), 0);
  EXPECT_EQ(Cuda()("cuMemAllocAsync", &x, size_t{4}, stream_), 201);
  void* of_stream = nullptr;
  ASSERT_EQ(Cuda()("cuStreamGetCtx", stream_, &of_stream), 0);
  EXPECT_EQ(of_stream, context);
  ASSERT_EQ(Cuda()("cuCtxPushCurrent_v2", context), 0);
}

TEST_F(FakeDriverTest, MemoryEnds) {
  const int64_t in_use = Cuda().Counts().bytes_in_use;
  Cuda().Set("memory", in_use + 1000);
  Address x = 0;
  EXPECT_EQ(Cuda()("cuMemAlloc_v2", &x, size_t{1001}), 2);
  EXPECT_EQ(Cuda()("cuMemAlloc_v2", &x, size_t{1000}), 0);
  size_t free = 1, total = 0;
  Cuda()("cuMemGetInfo_v2", &free, &total);
  EXPECT_EQ(free, 0u);
  EXPECT_EQ(Cuda()("cuMemFree_v2", x), 0);
  EXPECT_EQ(Cuda().Counts().bytes_in_use, in_use);
  EXPECT_EQ(Cuda()("cuMemFree_v2", x), 1);
}

TEST_F(FakeDriverTest, CallsFailWhenTheyAreTold) {
  Cuda().Fail("cuMemAllocAsync", 1, 2);
  Address x = 0;
  EXPECT_EQ(Cuda()("cuMemAllocAsync", &x, size_t{4}, stream_), 0);
  EXPECT_EQ(Cuda()("cuMemAllocAsync", &x, size_t{4}, stream_), 2);
  EXPECT_EQ(Cuda()("cuMemAllocAsync", &x, size_t{4}, stream_), 0);
  Cuda().Fail("cuStreamSynchronize", 0, 719);
  EXPECT_EQ(Wait(), 719);
  EXPECT_EQ(Wait(), 719);
}

// A mistake that the environment makes.
class WithMistake {
 public:
  WithMistake(std::initializer_list<std::pair<const char*, const char*>> set)
      : set_(set) {
    for (const auto& [name, value] : set_) setenv(name, value, 1);
    Cuda().Reset();
  }
  ~WithMistake() {
    for (const auto& [name, value] : set_) unsetenv(name);
    Cuda().Reset();
  }

 private:
  const std::vector<std::pair<const char*, const char*>> set_;
};

TEST_F(FakeDriverTest, CallsAndTextsAreMutated) {
  const std::string text =
      std::string(kVector) + "KERNEL(test, Args, 1) { a.x[0] = 1.5f; }";
  const VectorArgs args = {Upload(std::vector<float>{0}), 0};
  {
    const WithMistake wrong{{"CAVS_FAKE_REPLACE", "= 1.5f"},
                            {"CAVS_FAKE_BY", "= 2.5f"}};
    ASSERT_EQ(Launch(Load(text), 1, 1, args), 0);
    EXPECT_EQ(Download<float>(args.x, 1)[0], 2.5f);
  }
  const WithMistake wrong{{"CAVS_FAKE_IGNORE", "cuLaunchKernel"}};
  ASSERT_EQ(Launch(Load(text), 1, 1, args), 0);
  EXPECT_EQ(Cuda().Calls("cuLaunchKernel"), 1);
  EXPECT_EQ(Download<float>(args.x, 1)[0], 2.5f);
}

TEST_F(FakeDriverTest, WithoutComputingTheHostIsLeft) {
  void* kernel =
      Load(std::string(kVector) + "KERNEL(test, Args, 1) { a.x[0] = 1; }");
  const VectorArgs args = {Upload(std::vector<float>{5}), 0};
  Cuda().Set("compute", 0);
  ASSERT_EQ(Launch(kernel, 1, 1, args), 0);
  ASSERT_EQ(Wait(), 0);
  EXPECT_EQ(Cuda().Counts().launches, 1);
  Cuda().Set("compute", 1);
  EXPECT_EQ(Download<float>(args.x, 1)[0], 5);
}

TEST_F(FakeDriverTest, KernelsOfAGpuLoadWhereNothingIsComputed) {
  Elf64_Ehdr image = {};
  std::memcpy(image.e_ident, ELFMAG, SELFMAG);
  image.e_machine = EM_CUDA;
  void *module = nullptr, *kernel = nullptr;
  const auto load = [&] {
    return Cuda()("cuModuleLoadData", &module,
                  static_cast<const void*>(&image));
  };
  EXPECT_EQ(load(), 200);
  Cuda().Set("compute", 0);
  ASSERT_EQ(load(), 0) << Cuda().Fault();
  ASSERT_EQ(Cuda()("cuModuleGetFunction", &kernel, module, "any"), 0);
  EXPECT_EQ(Launch(kernel, 1, 256, VectorArgs{}), 0);
  EXPECT_EQ(Wait(), 0);
  EXPECT_EQ(Cuda().Launches("any"), 1);
  EXPECT_EQ(Cuda()("cuModuleUnload", module), 0);
  image.e_machine = EM_X86_64;
  EXPECT_EQ(load(), 200);
}

TEST_F(FakeDriverTest, CompilersSayWhatIsWrong) {
  std::string log;
  EXPECT_EQ(Compile("KERNEL(test, Missing, 1) {}", &log), 6);
  EXPECT_THAT(log, HasSubstr("Missing"));
  EXPECT_EQ(Compile("", &log, "sm"), 5);
  std::string image;
  ASSERT_EQ(
      Compile("struct Args {}; KERNEL(test, Args, 1) {}", &image, "sm_80"), 0);
  void* module = nullptr;
  EXPECT_EQ(Cuda()("cuModuleLoadData", &module,
                   static_cast<const void*>(image.data())),
            209);
  Cuda().Set("architecture", 86);
  EXPECT_EQ(Cuda()("cuModuleLoadData", &module,
                   static_cast<const void*>(image.data())),
            0);
  void* kernel = nullptr;
  EXPECT_EQ(Cuda()("cuModuleGetFunction", &kernel, module, "other"), 500);
}

TEST_F(FakeDriverTest, ThreadsCompileTheSameAtOnce) {
  const std::string text = "struct Args {}; KERNEL(test, Args, " +
                           std::to_string(getpid() % 1000 + 1) + ") {}";
  std::vector<std::thread> threads;
  std::vector<std::string> images(6);
  for (std::string& image : images) {
    threads.emplace_back([&] { EXPECT_EQ(Compile(text, &image), 0); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& image : images) EXPECT_EQ(image, images[0]);
  EXPECT_EQ(Cuda().Counts().compiles, 6);
}

TEST_F(FakeDriverTest, ImagesNeedNoCache) {
  std::string image;
  ASSERT_EQ(Compile("struct Args {}; KERNEL(test, Args, 1) {}", &image), 0);
  // The name under which it was kept: any other one.
  const size_t note = image.find(std::string("GNU\0", 4));
  ASSERT_NE(note, std::string::npos);
  image[note + 4] ^= 1;
  void* module = nullptr;
  EXPECT_EQ(Cuda()("cuModuleLoadData", &module,
                   static_cast<const void*>(image.data())),
            0)
      << Cuda().Fault();
  EXPECT_EQ(Cuda()("cuModuleUnload", module), 0);
  EXPECT_EQ(
      Cuda()("cuModuleLoadData", &module, static_cast<const void*>("no image")),
      200);
}

TEST_F(FakeDriverTest, OrdersAreDrawn) {
  void* kernel = Load(R"(
      struct Args { Global<unsigned> order, counter; };
      KERNEL(test, Args, 32) {
        a.order[block_x() * 32 + thread_index()] = atomic_add(a.counter, 1);
      })");
  struct {
    Address order, counter;
  } args = {Allocate(4 * 32 * 4), Upload(std::vector<unsigned>{0})};
  std::vector<std::vector<unsigned>> orders;
  for (int seed : {0, 1, 2, 3}) {
    Cuda().Set("seed", seed);
    Cuda()("cuMemsetD8Async", args.counter, static_cast<unsigned char>(0),
           size_t{4}, stream_);
    ASSERT_EQ(Launch(kernel, 4, 32, args), 0);
    orders.push_back(Download<unsigned>(args.order, 4 * 32));
  }
  EXPECT_EQ(orders[0][33], 33u);
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
  EXPECT_NE(orders[2], orders[3]);
}

// Kernels and memory belong to one device; copies go from one to another.
TEST_F(FakeDriverTest, DevicesAreApart) {
  const char kCopyOne[] = R"(
      struct Args { Global<const u32> x; Global<u32> y; };
      KERNEL(test, Args, 1) { a.y[0] = u32(a.x[0]); })";
  struct {
    Address x, y;
  } args = {Upload(std::vector<u32>{7}), 0};
  void* const first = Load(kCopyOne);
  ASSERT_TRUE(Cuda().Set("devices", 2));
  ASSERT_EQ(Cuda()("cuInit", 0u), 0);
  void *context = nullptr, *stream = nullptr;
  ASSERT_EQ(Cuda()("cuDevicePrimaryCtxRetain", &context, 1), 0);
  Cuda()("cuCtxPushCurrent_v2", context);
  Cuda()("cuStreamCreate", &stream, 1u);
  std::swap(stream, stream_);
  args.y = Allocate(sizeof(u32));
  EXPECT_EQ(Launch(first, 1, 1, args), 400);  // Of the other device.
  const Address copy = Allocate(sizeof(u32));
  EXPECT_EQ(Cuda()("cuMemcpyDtoDAsync_v2", copy, args.x, sizeof(u32), stream_),
            0);
  void* const second = Load(kCopyOne);
  auto own = args;
  own.x = copy;
  EXPECT_EQ(Launch(second, 1, 1, own), 0);
  EXPECT_EQ(Download<u32>(args.y, 1)[0], 7u);
  EXPECT_EQ(Launch(second, 1, 1, args), 0);
  EXPECT_EQ(Wait(), 700);
  EXPECT_NE(Cuda().Fault().find("no memory of the device"), std::string::npos)
      << Cuda().Fault();
  Cuda().Reset();
  Cuda()("cuStreamDestroy_v2", stream_);
  std::swap(stream, stream_);
  Cuda()("cuCtxPopCurrent_v2", &context);
}

TEST_F(FakeDriverTest, LanesExchange) {
  void* kernel = Load(R"(
      struct Args { Global<double> x; };
      KERNEL(test, Args, 64) {
        double sum = a.x[thread_index()];
        for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        a.x[thread_index()] = sum;
      })");
  std::vector<double> x(64, 1);
  x[40] = 5;
  const Address at = Upload(x);
  ASSERT_EQ(Launch(kernel, 1, 64, at), 0);
  const auto sums = Download<double>(at, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(sums[i], i < 32 ? 32 : 36);
}

// A product of 16 x depth and depth x 8 by each kind of mma, whose operands
// lie as PTX has them.
const char kMma[] = R"(
struct Args { Global<const float> a, b; Global<float> d; };
KERNEL(test, Args, 32) {
  const int g = lane() / 4, q = lane() % 4;
  float d[4] = {};
  u32 x[4], y[2];
  for (int e = 0; e < 4; ++e) {
    const int row = g + e % 2 * 8, k = (q + e / 2 * 4) * PER;
    READ_A
  }
  for (int e = 0; e < 2; ++e) {
    const int k = (q + e * 4) * PER;
    READ_B
  }
  MMA(d, x, y);
  for (int e = 0; e < 4; ++e) {
    a.d[(g + e / 2 * 8) * 8 + 2 * q + e % 2] = d[e];
  }
}
)";

TEST_F(FakeDriverTest, ProductsByWarps) {
  const std::string narrow =
      "FUNCTION u32 pair(TYPE x, TYPE y) {\n"
      "  return u32(x.bits) | u32(y.bits) << 16;\n"
      "}\n"
      "FUNCTION TYPE number(float x) { return from_wide<TYPE>(x); }\n"
      "#define PER 2\n"
      "#define READ_A x[e] = pair(number(a.a[row * 16 + k]), "
      "number(a.a[row * 16 + k + 1]));\n"
      "#define READ_B y[e] = pair(number(a.b[k * 8 + g]), "
      "number(a.b[(k + 1) * 8 + g]));\n";
  // The last bits of a number are not those of TF32.
  const char* const tf32 =
      "#define PER 1\n"
      "#define READ_A x[e] = __float_as_uint(a.a[row * 8 + k]) | 0x1fffu;\n"
      "#define READ_B y[e] = __float_as_uint(round_tf32(a.b[k * 8 + g])) | "
      "0x1fffu;\n"
      "#define MMA mma_tf32\n";
  const struct {
    std::string text;
    int depth;
  } kinds[] = {{"#define TYPE Bf16\n#define MMA mma_bf16\n" + narrow, 16},
               {"#define TYPE F16\n#define MMA mma_f16\n" + narrow, 16},
               {tf32, 8}};
  for (const auto& kind : kinds) {
    // Numbers that all types have.
    std::vector<float> a(16 * kind.depth), b(kind.depth * 8);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<int>(i * 7 % 31) - 15;
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = static_cast<int>(i * 5 % 29) - 14;
    struct {
      Address a, b, d;
    } args = {Upload(a), Upload(b), Allocate(16 * 8 * 4)};
    ASSERT_EQ(Launch(Load(kind.text + kMma), 1, 32, args), 0);
    const auto d = Download<float>(args.d, 16 * 8);
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 8; ++j) {
        float sum = 0;
        for (int k = 0; k < kind.depth; ++k) {
          sum += a[i * kind.depth + k] * b[k * 8 + j];
        }
        EXPECT_EQ(d[i * 8 + j], sum) << i << " " << j;
      }
    }
  }
}

// Numbers of 16 bits are converted as on the host.
template <typename Narrow>
void CheckConversions(
    std::function<std::vector<u16>(const char*, const std::vector<u32>&)>
        convert,
    const char* type) {
  std::vector<u32> wide;
  for (u32 i = 0; i < 65536; ++i) {
    const float x = Narrow{static_cast<u16>(i)}.Widen();
    u32 b;
    std::memcpy(&b, &x, 4);
    // Between this number and the next one.
    for (const u32 more :
         {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
      wide.push_back(b + more);
    }
  }
  const auto got = convert(type, wide);
  for (size_t i = 0; i < wide.size(); ++i) {
    float x;
    std::memcpy(&x, &wide[i], 4);
    const u16 expected = Narrow::Round(x).bits;
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(Narrow{got[i]}.Widen()));
    } else {
      ASSERT_EQ(got[i], expected) << x;
    }
  }
}

TEST_F(FakeDriverTest, ConversionsAreThoseOfTheHost) {
  const auto convert = [&](const char* type, const std::vector<u32>& wide) {
    void* kernel = Load("#define TYPE " + std::string(type) + R"(
        struct Args { Global<const float> x; Global<TYPE> y; i64 n; };
        KERNEL(test, Args, 256) {
          for (i64 i = thread_index(); i < a.n; i += 256) {
            // There and back again changes nothing.
            const TYPE once = from_wide<TYPE>(a.x[i]);
            a.y[i] = from_wide<TYPE>(to_wide(once));
          }
        })");
    struct {
      Address x, y;
      i64 n;
    } args = {Upload(wide), Allocate(wide.size() * 2),
              static_cast<i64>(wide.size())};
    EXPECT_EQ(Launch(kernel, 1, 256, args), 0);
    return Download<u16>(args.y, wide.size());
  };
  CheckConversions<BFloat16>(convert, "Bf16");
  CheckConversions<Float16>(convert, "F16");
}

}  // namespace
}  // namespace cavs
