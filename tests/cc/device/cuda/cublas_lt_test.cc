// Products by cuBLASLt, of which the emulated driver has a library of its own.
#include "cc/device/cuda/cublas_lt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/device/cuda/gpu_matrix.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/test_device.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CublasLtTest : public GpuTest {
 protected:
  void SetUp() override {
    setenv("CAVS_CUBLASLT", "1", 1);
    if (FakeCuda::IsDriver()) {
      setenv("CAVS_LIBCUBLASLT", std::getenv("CAVS_LIBCUDA"), 1);
      cuda.emplace().Reset();
    }
    GpuTest::SetUp();
  }
  void TearDown() override {
    if (space.has_value()) ExpectUntouchedAroundTheWorkspace();
    if (cuda.has_value()) cuda->Reset();
    unsetenv("CAVS_CUBLASLT");
    GpuTest::TearDown();
  }
  const CublasLt& library() const { return *kernels->context().cublas_lt(); }
  // Expects that the library has formed so many products, which only the fake
  // one counts.
  void ExpectProducts(int64_t number) const {
    if (cuda.has_value()) {
      EXPECT_EQ(cuda->Calls("cublasLtMatmul"), number);
    }
  }

  // Has the library form a product or sum.
  template <typename Product>
  Status Form(DType dtype, const Product& product, const CudaQueue& queue,
              bool* done) {
    if (!space.has_value()) {
      space.emplace(driver(), std::vector<char>(2 * kSpace, '\xff'));
    }
    return library().Form(dtype, product, queue,
                          static_cast<char*>(space->data()) + kBefore, done);
  }

  void ExpectUntouchedAroundTheWorkspace() {
    std::vector<char> all(2 * kSpace);
    space->Read(all.data(), all.size());
    const auto is_new = [](char byte) { return byte == '\xff'; };
    const auto begin = all.begin() + kBefore;
    EXPECT_TRUE(std::all_of(all.begin(), begin, is_new));
    EXPECT_TRUE(std::all_of(begin + kSpace, all.end(), is_new));
  }

  static constexpr size_t kBefore = 64;  // No allocation begins there.

  static constexpr size_t kSpace = CublasLt::kWorkspaceBytes;
  std::optional<FakeCuda> cuda;
  std::optional<GpuMemory> space;
};

constexpr int64_t kRows = 300, kDepth = 224, kWidth = 512;

// The bits of a result are those of our kernels: sums of these numbers are
// exact.
template <typename T>
void ExpectSame(const GpuMatrix<T>& got, const GpuMatrix<T>& want) {
  const HostMatrix<T> a = got.Read(), b = want.Read();
  ASSERT_EQ(std::memcmp(a.all.data(), b.all.data(), a.all.size() * sizeof(T)),
            0);
}

// Bits: transposed, and added to what there is.
int WayOf(DType dtype, bool tf32) {
  return dtype == DType::kFloat32 && !tf32 ? 0 : 3;
}

TEST_F(CublasLtTest, ProductsAreThoseOfOurKernels) {
  const auto check = [&](auto zero, bool tf32) {
    using T = decltype(zero);
    const DType dtype = kDTypeOf<T>;
    const int way = WayOf(dtype, tf32);
    SCOPED_TRACE(testing::Message()
                 << static_cast<int>(dtype) << ", way " << way);
    const bool transpose = way & 1, accumulate = way & 2;
    // Narrow sums of several products are rounded once.
    const size_t terms = SumType(dtype) == dtype ? 1 + way % 2 : 1;
    HostMatrix<T> from(kRows, kDepth, 8), to(kRows, kWidth, 16);
    HostMatrix<T> weight(transpose ? kWidth : kDepth,
                         transpose ? kDepth : kWidth, 8);
    from.Fill(1), weight.Fill(2), to.Fill(3);
    const GpuMatrix<T> x(driver(), from), w(driver(), weight),
        got(driver(), to), want(driver(), to);
    CudaProduct product;
    for (size_t i = 0; i < terms; ++i) {
      product.terms.push_back(
          {x.rows(nullptr, kRows), w.data(), weight.pitch, transpose});
    }
    product.accumulate = accumulate;
    product.to = got.block();
    const CudaQueue queue(stream, nullptr, tf32);
    if (cuda.has_value()) cuda->Reset();
    bool done = false;
    const Status status = Form(dtype, product, queue, &done);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(done);
    ExpectProducts(static_cast<int64_t>(terms));
    product.to = want.block();
    ASSERT_TRUE(kernels->Multiply(dtype, {product}, queue).ok());
    Wait();
    ExpectSame(got, want);
  };
  ForGpuTypes([&](auto zero) { check(zero, false); });
  check(float(), true);
}

TEST_F(CublasLtTest, OperandsAreRoundedToTf32OnlyIfAskedFor) {
  HostMatrix<float> from(kRows, kDepth), weight(kDepth, kWidth),
      to(kRows, kWidth);
  from.FillUnevenly(1), weight.FillUnevenly(2);
  const GpuMatrix<float> x(driver(), from), w(driver(), weight);
  std::vector<HostMatrix<float>> got;
  for (const bool tf32 : {false, true}) {
    const GpuMatrix<float> y(driver(), to);
    CudaProduct product;
    product.terms = {{x.rows(nullptr, kRows), w.data(), kWidth}};
    product.to = y.block();
    bool done = false;
    ASSERT_TRUE(
        Form(DType::kFloat32, product, {stream, nullptr, tf32}, &done).ok());
    EXPECT_TRUE(done);
    Wait();
    got.push_back(y.Read());
  }
  float most = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kWidth; ++j) {
      most = std::max(most, std::abs(got[0].at(i, j) - got[1].at(i, j)));
    }
  }
  EXPECT_GT(most, 1e-4);
  EXPECT_LT(most, 1e-2);
}

TEST_F(CublasLtTest, SumsAreThoseOfOurKernels) {
  const auto check = [&](auto zero, bool tf32) {
    using T = decltype(zero);
    using Sum = Wide<T>;
    const DType dtype = kDTypeOf<T>;
    const int way = WayOf(dtype, tf32);
    const bool accumulate = way & 2;
    SCOPED_TRACE(testing::Message()
                 << static_cast<int>(dtype) << ", way " << way);
    HostMatrix<T> x(kRows, kDepth, 8), y(kRows, kWidth, 16);
    HostMatrix<Sum> to(kDepth, kWidth);
    x.Fill(1), y.Fill(2), to.Fill(3);
    const GpuMatrix<T> from_x(driver(), x), from_y(driver(), y);
    const GpuMatrix<Sum> got(driver(), to), want(driver(), to);
    CudaSum sum = {from_x.rows(nullptr, kRows), from_y.rows(nullptr, kRows),
                   got.data(), accumulate, /*zeros=*/0};
    const CudaQueue queue(stream, nullptr, tf32);
    bool done = false;
    const Status status = Form(dtype, sum, queue, &done);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(done);
    sum.to = want.data();
    const GpuMemory parts(
        driver(), kernels->BytesOfParts(dtype, kDepth, kWidth, kRows) + 64);
    ASSERT_TRUE(kernels->SumOverRows(dtype, {sum}, parts.data(), queue).ok());
    Wait();
    ExpectSame(got, want);
  };
  ForGpuTypes([&](auto zero) { check(zero, false); });
  check(float(), true);
}

// A large product, and ways in which it is none for the library.
TEST_F(CublasLtTest, OtherProductsAreLeftToOurKernels) {
  const GpuMemory memory(driver(), kRows * (kDepth + kWidth) * 8);
  const auto product_of = [&](int64_t rows) {
    CudaProduct product;
    char* const data = static_cast<char*>(memory.data());
    product.to = {data, rows, kWidth, kWidth};
    product.terms = {{ConstBlock(data, rows, kDepth, kDepth), data, kWidth}};
    return product;
  };
  const auto is_formed = [&](const auto& product,
                             DType dtype = DType::kFloat32) {
    bool done = true;
    const Status status = Form(dtype, product, stream, &done);
    EXPECT_TRUE(status.ok()) << status.message();
    return done;
  };
  CudaProduct own = product_of(kRows);
  EXPECT_FALSE(is_formed(product_of(kRows - 10)));  // Small.
  own.to.rows = 128;
  own.to.cols = own.to.pitch = own.terms[0].pitch = 1024;
  own.terms[0].from.cols = own.terms[0].from.pitch = 1024;
  EXPECT_FALSE(is_formed(own));  // Of few rows.
  own = product_of(kRows);
  own.terms[0].from.index = static_cast<const int32_t*>(memory.data());
  EXPECT_FALSE(is_formed(own));  // By an index.
  own = product_of(kRows);
  own.alike = true;
  EXPECT_FALSE(is_formed(own));
  own = product_of(kRows);
  own.terms[0].from.pitch = 0;  // One row for all.
  EXPECT_FALSE(is_formed(own));
  own = product_of(kRows);
  own.terms[0].weight = static_cast<char*>(memory.data()) + 4;
  EXPECT_FALSE(is_formed(own));  // Not aligned.
  own = product_of(kRows);
  own.terms.push_back(own.terms[0]);
  EXPECT_FALSE(is_formed(own, DType::kBFloat16));
  own = product_of(kRows);
  CudaSum sum = {own.terms[0].from, own.to, memory.data()};
  sum.zeros = kRows / 2 + 1;
  EXPECT_FALSE(is_formed(sum));  // Of zeros for the greater part.
  ExpectProducts(0);
}

TEST_F(CublasLtTest, AlgorithmsAreChosenOncePerShape) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const GpuMemory memory(driver(), kRows * 2 * (kDepth + kWidth) * 4);
  char* const data = static_cast<char*>(memory.data());
  CudaProduct product;
  const auto form = [&](int64_t rows) {
    product.to = {data, rows, kWidth, kWidth};
    product.terms = {{ConstBlock(data, rows, kDepth, kDepth), data, kWidth}};
    bool done = false;
    EXPECT_TRUE(Form(DType::kFloat32, product, stream, &done).ok());
    return done;
  };
  const auto asked = [&] {
    return cuda->Calls("cublasLtMatmulAlgoGetHeuristic");
  };
  cuda->Fail("cublasLtMatmulAlgoGetHeuristic", 0, 15);
  const int64_t before = asked();
  EXPECT_FALSE(form(401));  // The library has no algorithm,
  EXPECT_FALSE(form(401));  // and is not asked again.
  EXPECT_EQ(asked(), before + 1);
  EXPECT_TRUE(form(402));
  EXPECT_TRUE(form(402));
  EXPECT_EQ(asked(), before + 2);
  ExpectProducts(2);
  Wait();

  cuda->Fail("cublasLtMatmul", 0, 13);
  bool done = false;
  const Status status = Form(DType::kFloat32, product, stream, &done);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(),
            "cuBLASLt: got CUBLAS_STATUS_EXECUTION_FAILED from a product but "
            "expected success. Set CAVS_CUBLASLT=0, or use the CPU.");
}

TEST_F(CublasLtTest, ALibraryThatIsMissingIsAnErrorIfTheUserNeedsIt) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  std::shared_ptr<const CudaContext> context;
  cuda->Fail("cublasLtCreate", 0, 1);
  Status status = CudaContext::Open(0, {}, &context);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(),
              HasSubstr("cuBLASLt: got CUBLAS_STATUS_NOT_INITIALIZED from "));
  setenv("CAVS_LIBCUBLASLT", "/no/such/libcublasLt.so", 1);
  status = CudaContext::Open(0, {}, &context);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "cuBLASLt: got no library of the name /no/such/libcublasLt.so but "
            "expected NVIDIA's library of products. Run `pip install "
            "'tensorflow[and-cuda]'`, set CAVS_LIBCUBLASLT to the path of "
            "libcublasLt.so, or set CAVS_CUBLASLT=0.");
  EXPECT_EQ(CudaContext::Report({}).back(), status.message());
}

TEST_F(CublasLtTest, ItIsUsedWhereItIsFoundUnlessTheUserSaysNo) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const auto found = [] {
    std::shared_ptr<const CudaContext> context;
    EXPECT_TRUE(CudaContext::Open(0, {}, &context).ok());
    return context->cublas_lt() != nullptr;
  };
  const std::string path = std::getenv("CAVS_LIBCUBLASLT");
  setenv("CAVS_CUBLASLT", "0", 1);
  EXPECT_FALSE(found());
  EXPECT_THAT(CudaContext::Report({}).back(), StartsWith("NVRTC: "));
  unsetenv("CAVS_CUBLASLT");
  EXPECT_TRUE(found());
  EXPECT_EQ(CudaContext::Report({}).back(), "cuBLASLt: " + path);
  cuda->Fail("cublasLtCreate", 0, 1);
  EXPECT_FALSE(found());
  setenv("CAVS_LIBCUBLASLT", "/no/such/libcublasLt.so", 1);
  EXPECT_FALSE(found());
  EXPECT_EQ(CudaContext::Report({}).back(),
            "cuBLASLt: none, so that our kernels form all products");
}

// state = tanh(x) W + the state of the child; it is pushed too.
Cell DenseCell(int64_t units) {
  Sketch f(DType::kFloat32), b(DType::kFloat32);
  const int x = f.Call(Elementwise::kTanh, f.Pull(0, units));
  const int w = f.Capture(0, {units, units});
  const int sum = f.Call(Elementwise::kAdd, f.Gather(0, units), f.MatMul(x, w));
  f.Scatter(sum);
  f.Push(0, sum);
  f.program.results = {x, w};
  const int saved = b.Saved(0, units);
  const int weight =
      b.Add(SymbolKind::kInvariant, {units, units}, SymbolSource::kSaved, 1);
  const int grad =
      b.Call(Elementwise::kAdd, b.ScatterGrad(units), b.PushGrad(0, units));
  b.GatherGrad(0, grad);
  const int back = b.MatMul(grad, weight, /*transpose=*/true);
  b.PullGrad(0, b.Call(Elementwise::kTanhGrad, saved, back));
  b.program.results = {b.WeightGrad(saved, grad)};
  Cell cell;
  cell.dtype = DType::kFloat32;
  cell.arity = 1;
  cell.state_columns = units;
  cell.forward = {f.program};
  cell.backward = {b.program};
  cell.pulls = cell.pushes = {units};
  cell.captures = {{{units, units}}};
  return cell;
}

// A training step: the same bits every time, and the memory of the library is
// predicted.
TEST_F(CublasLtTest, AStepHasTheLibraryFormItsLargeProducts) {
  const CudaTestDevice with(TestGpu::Open());
  setenv("CAVS_CUBLASLT", "0", 1);
  const CudaTestDevice without(TestGpu::Open());
  const Cell cell = DenseCell(256);
  const Experiment experiment(cell, Join(std::vector<Graph>(60, Chain(10))), 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  const auto executor_on = [&](const CudaTestDevice& device) {
    return CellExecutor(cell, PassOptions(), /*measured=*/true, &device,
                        device.New(0), device.New(0));
  };
  const auto workspace_of = [&](const CellExecutor& executor) {
    return executor.Predict(schedule, Direction::kForward).packed_weights;
  };
  const CellExecutor by_library = executor_on(with),
                     by_kernels = executor_on(without);
  const Results got = by_library.Run(experiment);
  ExpectProducts(3);
  EXPECT_EQ(by_library.Run(experiment), got);
  ExpectProducts(6);
  const Results want = by_kernels.Run(experiment);
  ExpectProducts(6);
  ExpectNear(got, want, 1e-5);
  // The fake library adds terms in another order.
  if (cuda.has_value()) {
    EXPECT_NE(got, want);
  }
  EXPECT_EQ(workspace_of(by_library), workspace_of(by_kernels) + kSpace);
}

}  // namespace
}  // namespace cavs
