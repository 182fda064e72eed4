// Compares the kernels that do not depend on a program with loops of the host.
#include "cc/device/cuda/cuda_kernels.h"

#include <cmath>
#include <optional>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/workers.h"
#include "cc/schedule/link_same.h"
#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/device/cuda/gpu_matrix.h"

namespace cavs {
namespace {

// Sanitizers run every third way only: they take twenty times as long, and most
// ways would show the faults that they look for.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kStep = 3;
#else
constexpr int kStep = 1;
#endif

class CudaKernelsTest : public GpuTest {
 protected:
  // Expects that a call has succeeded, and all its work.
  void Done(const Status& called) {
    ASSERT_TRUE(called.ok()) << called.message();
    Wait();
  }
  template <typename T>
  GpuMatrix<T> Up(const HostMatrix<T>& host) {
    return GpuMatrix<T>(driver(), host);
  }
  template <typename T>
  GpuMemory Up(const std::vector<T>& host) {
    return GpuMemory(driver(), host);
  }
};

// Rows of an operand with `rows` rows: some twice, some never, some of zeros.
std::vector<int32_t> Index(int64_t n, int64_t rows) {
  std::vector<int32_t> index;
  for (int64_t i = 0; i < n; ++i) {
    index.push_back(static_cast<int>((i * 5 + 2) % (rows + 1)) - 1);
  }
  return index;
}

template <typename T>
void ExpectSame(const HostMatrix<T>& got, const HostMatrix<T>& want) {
  for (int64_t i = 0; i < want.rows; ++i) {
    for (int64_t j = 0; j < want.cols; ++j) {
      ASSERT_EQ(std::memcmp(&got.at(i, j), &want.at(i, j), sizeof(T)), 0)
          << "row " << i << ", column " << j << ": " << got.wide(i, j)
          << " for " << want.wide(i, j);
    }
  }
}

TEST_F(CudaKernelsTest, RowsMove) {
  struct Size {
    int64_t rows, cols, from_padding, to_padding;
  };
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    for (const Size& size : {Size{1, 1, 0, 0},
                             {7, 3, 2, 1},
                             {5, 8, 0, 8},
                             {300, 32, 0, 0},
                             {9, 1030, 2, 6}}) {
      for (const bool by_index : {false, true}) {
        for (const bool to_index : {false, true}) {
          SCOPED_TRACE(testing::Message() << size.rows << " x " << size.cols
                                          << by_index << to_index);
          HostMatrix<T> from(size.rows, size.cols, size.from_padding);
          HostMatrix<T> to(size.rows, size.cols, size.to_padding);
          from.Fill(1), to.Fill(2);
          const auto sources = Index(size.rows, size.rows);
          // Backwards; the first row goes nowhere.
          std::vector<int32_t> targets;
          for (int64_t i = 0; i < size.rows; ++i) {
            targets.push_back(size.rows - 1 - i);
          }
          targets[0] = -1;
          HostMatrix<T> want = to;
          for (int64_t i = 0; i < size.rows; ++i) {
            const int64_t target = to_index ? targets[i] : i;
            if (target < 0) continue;
            for (int64_t j = 0; j < size.cols; ++j) {
              want.at(target, j) = from.at(by_index ? sources[i] : i, j);
            }
          }
          const auto own = Up(from), other = Up(to);
          const auto source = Up(sources), target = Up(targets);
          Done(kernels->Move(
              {{sizeof(T),
                own.rows(by_index ? source.template as<int32_t>() : nullptr,
                         size.rows),
                other.block(),
                to_index ? target.template as<int32_t>() : nullptr}},
              stream));
          ExpectSame(other.Read(), want);
          if (HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST_F(CudaKernelsTest, RowsFromNowhereAreZero) {
  HostMatrix<float> to(5, 6, 2), want(5, 6, 2);
  to.Fill(1);
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 6; ++j) want.at(i, j) = 0;
  }
  const auto own = Up(to);
  Done(kernels->Move({{sizeof(float), ConstBlock(), own.block()}}, stream));
  ExpectSame(own.Read(), want);
}

TEST_F(CudaKernelsTest, RowsOfVerticesSpreadToEdges) {
  HostMatrix<float> from(6, 5, 1), to(9, 5, 0), want(9, 5, 0);
  from.Fill(1);
  const int64_t first_row = 40;
  std::vector<int32_t> via, index = {3, -1, 0, 5, 5, 1};
  for (int i = 0; i < 9; ++i) via.push_back(first_row + i * 4 % 6);
  for (int64_t i = 0; i < 9; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      want.at(i, j) = from.at(index[via[i] - first_row], j);
    }
  }
  const auto own = Up(from), other = Up(to);
  const auto vias = Up(via), rows = Up(index);
  Done(kernels->Move({{sizeof(float), own.rows(rows.as<int32_t>(), 6),
                       other.block(), nullptr, vias.as<int32_t>(), first_row}},
                     stream));
  ExpectSame(other.Read(), want);
}

// Sums are formed in order, to the last bit.
TEST_F(CudaKernelsTest, RowsAreAddedInOrder) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    for (const int64_t cols : {1, 33, 70}) {
      const int64_t rows = 100, targets = 7;
      HostMatrix<T> from(rows, cols, 3);
      HostMatrix<Wide<T>> to(targets, cols, 1);
      from.FillUnevenly(1), to.FillUnevenly(2);
      const std::vector<int32_t> target = Index(rows, targets);
      HostMatrix<Wide<T>> want = to;
      for (int64_t t = 0; t < targets; ++t) {
        for (int64_t j = 0; j < cols; ++j) {
          Wide<T> sum = to.at(t, j);
          for (int64_t i = 0; i < rows; ++i) {
            if (target[i] == t) sum += from.wide(i, j);
          }
          want.at(t, j) = sum;
        }
      }
      const auto own = Up(from);
      const auto other = Up(to);
      const auto index = Up(target);
      std::vector<int32_t> links;
      LinkSame(target, targets, &links);
      const auto link = Up(links);
      // In parts, so that links lead to rows before and behind them.
      int64_t first = 0;
      for (const int64_t end : {int64_t{1}, int64_t{40}, rows}) {
        Block part = own.block();
        part.data = static_cast<T*>(part.data) + first * part.pitch;
        part.rows = end - first;
        Done(kernels->AddRows(
            kDTypeOf<T>, part, index.template as<int32_t>() + first,
            link.template as<int32_t>() + 2 * first, other.block(), stream));
        first = end;
      }
      ExpectSame(other.Read(), want);
    }
  });
}

TEST_F(CudaKernelsTest, RowsOfSumsAreRounded) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    HostMatrix<Wide<T>> sums(6, 50, 3);
    HostMatrix<T> to(9, 50, 1);
    sums.FillUnevenly(1);
    const std::vector<int32_t> index = Index(9, 6);
    const auto own = Up(sums);
    const auto other = Up(to);
    const auto rows = Up(index);
    Done(kernels->RoundRows(kDTypeOf<T>,
                            own.rows(rows.template as<int32_t>(), 9),
                            other.block(), stream));
    const HostMatrix<T> got = other.Read();
    for (int64_t i = 0; i < 9; ++i) {
      for (int64_t j = 0; j < 50; ++j) {
        const T want = FromWide<T>(index[i] < 0 ? 0 : sums.at(index[i], j));
        EXPECT_EQ(got.wide(i, j), ToWide<T>(want));
      }
    }
  });
}

struct ProductSize {
  int64_t rows, depth;
  std::vector<int64_t> widths;
  int64_t padding;
};

template <typename T>
void CheckProduct(const CudaKernels& kernels, const CudaQueue& queue,
                  const ProductSize& size, bool transpose, bool by_index,
                  bool accumulate, int terms, bool alike = false) {
  const CudaDriver& driver = kernels.context().driver();
  HostMatrix<T> from(size.rows, size.depth, size.padding);
  from.Fill(1);
  for (int64_t i = 0; alike && i < size.rows; ++i) {
    for (int64_t k = 0; k < size.depth; ++k) from.at(i, k) = from.at(0, k);
  }
  int64_t width = 0;
  std::vector<HostMatrix<T>> weights;
  std::vector<std::unique_ptr<GpuMatrix<T>>> on_gpu;
  std::vector<CudaProduct> arguments;
  for (const int64_t own : size.widths) {
    width += own;
    weights.emplace_back(transpose ? own : size.depth,
                         transpose ? size.depth : own, size.padding);
    weights.back().Fill(width);
    on_gpu.push_back(std::make_unique<GpuMatrix<T>>(driver, weights.back()));
  }
  HostMatrix<T> to(size.rows, width, 2 * size.padding);
  to.Fill(3);
  const std::vector<int32_t> index = Index(size.rows, size.rows);
  const GpuMatrix<T> own(driver, from), other(driver, to);
  const GpuMemory rows(driver, index);
  const ConstBlock in =
      own.rows(by_index ? rows.as<int32_t>() : nullptr, size.rows);
  int64_t first = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    CudaProduct product;
    product.terms.assign(terms,
                         {in, on_gpu[i]->data(), weights[i].pitch, transpose});
    const Block all = other.block();
    product.to = {static_cast<T*>(all.data) + first, all.rows, size.widths[i],
                  all.pitch};
    product.accumulate = accumulate;
    product.alike = alike;
    first += size.widths[i];
    arguments.push_back(std::move(product));
  }
  const Status called = kernels.Multiply(kDTypeOf<T>, arguments, queue);
  ASSERT_TRUE(called.ok()) << called.message();
  const Status done =
      driver.Check(driver.StreamSynchronize(queue.stream), "waiting");
  ASSERT_TRUE(done.ok()) << done.message();
  const HostMatrix<T> got = other.Read();
  for (int64_t i = 0; i < size.rows; ++i) {
    int64_t column = 0;
    for (const HostMatrix<T>& weight : weights) {
      const int64_t n = transpose ? weight.rows : weight.cols;
      for (int64_t j = 0; j < n; ++j, ++column) {
        // Products of these numbers, and their sums, are exact.
        Wide<T> sum = accumulate ? to.wide(i, column) : 0;
        for (int64_t k = 0; k < size.depth; ++k) {
          sum += terms * from.wide(by_index ? index[i] : i, k) *
                 (transpose ? weight.wide(j, k) : weight.wide(k, j));
        }
        ASSERT_EQ(got.wide(i, column), ToWide<T>(FromWide<T>(sum)))
            << "row " << i << ", column " << column;
      }
    }
  }
}

// The numbers of these tests are those of TF32 too.
TEST_F(CudaKernelsTest, ProductsAreExact) {
  const std::vector<ProductSize> sizes = {
      {0, 4, {4}, 0},         {1, 1, {1}, 0},
      {3, 5, {7}, 1},         {17, 33, {34, 5}, 3},
      {16, 64, {32}, 0},      {20, 36, {12, 40, 8}, 4},
      {129, 20, {66, 3}, 1},  {130, 32, {64}, 0},
      {200, 52, {68, 12}, 4}, {2, 8, std::vector<int64_t>(19, 3), 0}};
  const auto check = [&](auto zero, bool tf32) {
    for (const ProductSize& size : sizes) {
      for (int way = 0; way < 8; way += kStep) {
        SCOPED_TRACE(testing::Message()
                     << size.rows << " x " << size.depth << ", way " << way
                     << ", type " << SizeOf(kDTypeOf<decltype(zero)>) << tf32);
        CheckProduct<decltype(zero)>(*kernels, {stream, nullptr, tf32}, size,
                                     way & 1, way & 2, way & 4,
                                     /*terms=*/1 + way % 3);
        if (HasFailure()) return;
      }
    }
  };
  ForGpuTypes([&](auto zero) { check(zero, false); });
  if (!HasFailure()) check(float(), true);
}

// The nearest number of TF32: in steps of the tenth bit behind the first.
double RoundedToTf32(double x) {
  int exponent;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 11)), exponent - 11);
}

// Whether products and sums of float32 are those of rounded operands.
void CheckRounding(const CudaKernels& kernels, CudaStreamHandle stream,
                   bool tf32, int64_t rows, bool rounds) {
  SCOPED_TRACE(testing::Message() << tf32 << ", " << rows);
  const CudaDriver& driver = kernels.context().driver();
  constexpr int64_t kDepth = 48, kWidth = 20;
  HostMatrix<float> x(rows, kDepth), w(kDepth, kWidth), y(rows, kWidth);
  x.FillUnevenly(1), w.FillUnevenly(2), y.FillUnevenly(3);
  const GpuMatrix<float> x_gpu(driver, x), w_gpu(driver, w), y_gpu(driver, y);
  const HostMatrix<float> product(rows, kWidth), sum(kDepth, kWidth);
  const GpuMatrix<float> product_gpu(driver, product), sum_gpu(driver, sum);
  const GpuMemory workspace(
      driver, kernels.BytesOfParts(DType::kFloat32, kDepth, kWidth, rows));
  const ConstBlock x_rows = x_gpu.rows(nullptr, rows);
  CudaProduct own;
  own.terms = {{x_rows, w_gpu.data(), kWidth, false}};
  own.to = product_gpu.block();
  const CudaQueue queue = {stream, nullptr, tf32};
  ASSERT_TRUE(kernels.Multiply(DType::kFloat32, {own}, queue).ok());
  const CudaSum over_rows = {x_rows, y_gpu.rows(nullptr, rows), sum_gpu.data()};
  ASSERT_TRUE(
      kernels.SumOverRows(DType::kFloat32, {over_rows}, workspace.data(), queue)
          .ok());
  ASSERT_EQ(driver.StreamSynchronize(stream), 0);

  double most_exact = 0, most_rounded = 0;
  const auto compare = [&](double got, int64_t terms, auto x_at, auto y_at) {
    double exact = 0, rounded = 0;
    for (int64_t k = 0; k < terms; ++k) {
      exact += static_cast<double>(x_at(k)) * y_at(k);
      rounded += RoundedToTf32(x_at(k)) * RoundedToTf32(y_at(k));
    }
    most_exact = std::max(most_exact, std::abs(got - exact));
    most_rounded = std::max(most_rounded, std::abs(got - rounded));
  };
  const HostMatrix<float> got = product_gpu.Read();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kWidth; ++j) {
      compare(
          got.at(i, j), kDepth, [&](int64_t k) { return x.at(i, k); },
          [&](int64_t k) { return w.at(k, j); });
    }
  }
  EXPECT_LT(rounds ? most_rounded : most_exact, 1e-6);
  EXPECT_GT(rounds ? most_exact : most_rounded, 1e-4);
  EXPECT_LT(most_exact, 2e-3);
  most_exact = most_rounded = 0;
  const HostMatrix<float> summed = sum_gpu.Read();
  for (int64_t i = 0; i < kDepth; ++i) {
    for (int64_t j = 0; j < kWidth; ++j) {
      compare(
          summed.at(i, j), rows, [&](int64_t r) { return x.at(r, i); },
          [&](int64_t r) { return y.at(r, j); });
    }
  }
  EXPECT_LT(tf32 ? most_rounded : most_exact, 1e-5);
  EXPECT_GT(tf32 ? most_exact : most_rounded, 1e-4);
  EXPECT_LT(most_exact, 1e-2);
}

TEST_F(CudaKernelsTest, LargeProductsAreRoundedToTf32OnlyIfAskedFor) {
  CheckRounding(*kernels, stream, /*tf32=*/false, 200, /*rounds=*/false);
  CheckRounding(*kernels, stream, /*tf32=*/true, 200, /*rounds=*/true);
  // Products of few rows gain nothing by it.
  CheckRounding(*kernels, stream, /*tf32=*/true, 100, /*rounds=*/false);
}

TEST_F(CudaKernelsTest, ProductsOfRowsThatAreAlikeAreExact) {
  ForGpuTypes([&](auto zero) {
    for (const ProductSize& size :
         {ProductSize{1, 4, {4}, 0}, ProductSize{37, 33, {34, 5}, 3},
          ProductSize{300, 36, {12, 40, 8}, 4}}) {
      for (int way = 0; way < 8; way += kStep) {
        SCOPED_TRACE(testing::Message() << size.rows << " rows, way " << way);
        CheckProduct<decltype(zero)>(*kernels, stream, size, way & 1,
                                     /*by_index=*/false, way & 4,
                                     /*terms=*/1 + way % 3, /*alike=*/true);
        if (HasFailure()) return;
      }
    }
  });
}

// Few blocks with deep products: their tiles have 16 columns, or 8, or 4 rows.
TEST_F(CudaKernelsTest, ProductsInNarrowTilesAreExact) {
  const ProcessorsOfFakeCuda processors(132);
  std::shared_ptr<const CudaContext> context;
  ASSERT_TRUE(CudaContext::Open(0, {}, &context).ok());
  const CudaKernels own(context);
  ForGpuTypes([&](auto zero) {
    for (const ProductSize& size :
         {ProductSize{5, 64, {40}, 0}, ProductSize{1, 128, {36, 4}, 4},
          ProductSize{4, 256, {72}, 0}, ProductSize{33, 132, {12, 40, 8}, 4},
          ProductSize{16, 300, {21, 5}, 1}, ProductSize{100, 128, {72}, 4}}) {
      for (int way = 0; way < 8; way += kStep) {
        SCOPED_TRACE(testing::Message()
                     << size.rows << " x " << size.depth << ", way " << way);
        CheckProduct<decltype(zero)>(own, stream, size, way & 1, way & 2,
                                     way & 4, /*terms=*/1 + way % 3,
                                     /*alike=*/way == 4);
        if (HasFailure()) return;
      }
    }
  });
}

// A grid has at most 65535 blocks from its first row to its last.
TEST_F(CudaKernelsTest, ProductsOfMoreRowsThanAGridHasAreExact) {
  CAVS_SKIP_WITHOUT_FAKE_CUDA();
  const FakeCuda cuda;
  ASSERT_TRUE(cuda.Set("grid_y", 2));
  std::shared_ptr<const CudaContext> context;
  ASSERT_TRUE(CudaContext::Open(0, {}, &context).ok());
  const CudaKernels small(context);
  for (const int64_t rows : {100, 32, 300}) {
    CheckProduct<float>(small, stream, {rows, 20, {36}, 4}, true, false, true,
                        2);
  }
  cuda.Set("grid_y", 65535);
}

template <typename T>
void CheckSum(const CudaKernels& kernels, const CudaQueue& queue, int64_t rows,
              int64_t x_cols, int64_t y_cols, bool by_index, bool accumulate,
              int64_t zeros = 0, int copies = 2) {
  using W = Wide<T>;
  const CudaDriver& driver = kernels.context().driver();
  const int64_t padding = y_cols % 4 == 0 ? 4 : 1;
  HostMatrix<T> x(rows, x_cols, padding), y(rows, y_cols, 2 * padding);
  x.Fill(1), y.Fill(2);
  if (zeros > 0) {
    y.at(zeros - 1, y_cols - 1) =
        FromWide<T>(std::numeric_limits<W>::infinity());
  }
  HostMatrix<W> sum(std::max<int64_t>(x_cols, 1), y_cols);
  sum.Fill(3);
  const std::vector<int32_t> index = Index(rows, rows);
  const GpuMatrix<T> x_gpu(driver, x), y_gpu(driver, y);
  std::vector<std::unique_ptr<GpuMatrix<W>>> sums_gpu;
  const GpuMemory rows_gpu(driver, index);
  const GpuMemory workspace(
      driver, copies * kernels.BytesOfParts(kDTypeOf<T>, x_cols, y_cols, rows));
  CudaSum arguments;
  if (x_cols > 0) {
    arguments.x = x_gpu.rows(by_index ? rows_gpu.as<int32_t>() : nullptr, rows);
  }
  arguments.y = y_gpu.rows(nullptr, rows);
  arguments.accumulate = accumulate;
  arguments.zeros = zeros;
  // The same several times, side by side.
  std::vector<CudaSum> sums;
  for (int i = 0; i < copies; ++i) {
    sums_gpu.push_back(std::make_unique<GpuMatrix<W>>(driver, sum));
    arguments.to = sums_gpu.back()->data();
    sums.push_back(arguments);
  }
  const Status called =
      kernels.SumOverRows(kDTypeOf<T>, sums, workspace.data(), queue);
  ASSERT_TRUE(called.ok()) << called.message();
  const Status done =
      driver.Check(driver.StreamSynchronize(queue.stream), "waiting");
  ASSERT_TRUE(done.ok()) << done.message();
  const HostMatrix<W> got = sums_gpu.front()->Read();
  for (const auto& own : sums_gpu) {
    const HostMatrix<W> again = own->Read();
    EXPECT_EQ(std::memcmp(again.all.data(), got.all.data(),
                          got.all.size() * sizeof(W)),
              0);
  }
  for (int64_t i = 0; i < sum.rows; ++i) {
    for (int64_t j = 0; j < y_cols; ++j) {
      W want = accumulate || rows == 0 ? sum.at(i, j) : 0;
      for (int64_t r = 0; r < rows; ++r) {
        const W own = x_cols == 0 ? 1 : x.wide(by_index ? index[r] : r, i);
        want += (r < zeros ? 0 : own) * y.wide(r, j);
      }
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got.at(i, j)));
        continue;
      }
      ASSERT_EQ(got.at(i, j), want) << "row " << i << ", column " << j;
    }
  }
}

TEST_F(CudaKernelsTest, SumsOverRowsAreExact) {
  struct Size {
    int64_t rows, x_cols, y_cols;
  };
  const auto check = [&](auto zero, bool tf32) {
    for (const Size& size : {Size{0, 3, 3},
                             {1, 1, 1},
                             {2, 5, 7},
                             {63, 65, 4},
                             {200, 8, 68},
                             {1000, 12, 20},
                             {1001, 9, 33},
                             {5, 0, 3},
                             {700, 0, 40},
                             {1030, 0, 7}}) {
      for (int way = 0; way < 4; way += kStep) {
        SCOPED_TRACE(testing::Message()
                     << size.rows << ", " << size.x_cols << ", " << size.y_cols
                     << ", way " << way << tf32);
        CheckSum<decltype(zero)>(*kernels, {stream, nullptr, tf32}, size.rows,
                                 size.x_cols, size.y_cols, way & 1, way & 2);
        if (HasFailure()) return;
      }
    }
  };
  ForGpuTypes([&](auto zero) { check(zero, false); });
  if (!HasFailure()) check(float(), true);
}

// Tiles of 128 x 128 numbers: of products, and of sums in one part and in two.
// To the last bit. The parts are one number each, and zeros.
TEST_F(CudaKernelsTest, PartsOfSumsAreAddedInOrder) {
  const int64_t rows = 4096, cols = 16;
  const auto parts = static_cast<int64_t>(
      kernels->BytesOfParts(DType::kFloat32, 0, cols, rows) /
      (cols * sizeof(float)));
  ASSERT_GE(parts, 3);
  const int64_t rows_per_part = (rows / parts + 15) / 16 * 16;
  HostMatrix<float> from(rows, cols), want(1, cols);
  from.FillUnevenly(1);
  for (int64_t j = 0; j < cols; ++j) {
    float sum = from.at(0, j);
    for (int64_t i = 1; i < rows; ++i) {
      if (i % rows_per_part == 0) {
        sum += from.at(i, j);
      } else {
        from.at(i, j) = 0;
      }
    }
    want.at(0, j) = sum;
  }
  const auto own = Up(from), to = Up(HostMatrix<float>(1, cols));
  const GpuMemory workspace(driver(), parts * cols * sizeof(float));
  CudaSum sum;
  sum.y = own.block();
  sum.to = to.block().data;
  Done(kernels->SumOverRows(DType::kFloat32, {sum}, workspace.data(), stream));
  ExpectSame(to.Read(), want);
}

TEST_F(CudaKernelsTest, ProductsAndSumsInLargeTilesAreExact) {
  const bool few = kernels->context().num_processors() <= 8;
  const ProcessorsOfFakeCuda processors(6);
  std::shared_ptr<const CudaContext> context;
  ASSERT_TRUE(CudaContext::Open(0, {}, &context).ok());
  const CudaKernels own(context);
  const int64_t times = few ? 1 : 6;
  const auto check = [&](auto zero, bool tf32, std::vector<int> ways) {
    using T = decltype(zero);
    const CudaQueue queue(stream, nullptr, tf32);
    for (const int way : ways) {
      SCOPED_TRACE(testing::Message() << "way " << way << tf32);
      CheckProduct<T>(own, queue,
                      {193 * times, 20, {196 * times, 124 * times}, 4}, way & 1,
                      way & 2, way & 4, 1 + way % 2);
      CheckSum<T>(own, queue, 150, 188 * times, 124 * times, way & 1, way & 2,
                  way & 4 ? 70 : 0, 4);
      CheckSum<T>(own, queue, 130, 124, 124, way & 1, way & 2, 0, 4);
      if (HasFailure()) return;
    }
  };
  check(float(), false, {0, 3, 6});
  check(float(), true, {0, 3, 6});
  check(BFloat16(), false, {3});
  check(Float16(), false, {6});
}

// The numbers in those rows are not read, but zero times infinity is NaN.
TEST_F(CudaKernelsTest, RowsOfZerosAreNotMultiplied) {
  int check = 0;
  ForGpuTypes([&](auto zero) {
    for (const int64_t zeros : {1, 70, 700, 1001}) {
      SCOPED_TRACE(testing::Message() << zeros << " rows of zeros");
      CheckSum<decltype(zero)>(*kernels, stream, 1001, 9, 33, zeros % 2 == 0,
                               zeros > 100, zeros);
      // More columns: each type with two of these, and each of these with two.
      if ((check / 4 + check) % 2 == 0) {
        CheckSum<decltype(zero)>(*kernels, stream, 1001, 68, 70, true, false,
                                 zeros, /*copies=*/1);
      }
      ++check;
      if (HasFailure()) return;
    }
  });
}

TEST_F(CudaKernelsTest, ColumnsAreAddedUp) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    for (const int64_t cols : {1, 31, 32, 100}) {
      HostMatrix<T> from(19, cols, 2), to(19, 1, 3);
      from.Fill(1);
      const auto index = Index(19, 19);
      const auto own = Up(from), other = Up(to);
      const auto rows = Up(index);
      Done(kernels->SumColumns(kDTypeOf<T>,
                               own.rows(rows.template as<int32_t>(), 19),
                               other.block(), stream));
      const HostMatrix<T> got = other.Read();
      for (int64_t i = 0; i < 19; ++i) {
        Wide<T> sum = 0;
        for (int64_t j = 0; j < cols; ++j) sum += from.wide(index[i], j);
        EXPECT_EQ(got.wide(i, 0), ToWide<T>(FromWide<T>(sum)));
      }
    }
  });
}

TEST_F(CudaKernelsTest, EdgesOfVerticesAreReduced) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    using W = Wide<T>;
    const std::vector<int32_t> splits = {50, 50, 53, 54, 54, 60, 68, 87};
    const int64_t first = 50, edges = 37, rows = 7;
    for (const int64_t cols : {1, 37}) {
      for (const bool maximum : {false, true}) {
        for (const bool by_index : {false, true}) {
          HostMatrix<T> from(edges, cols, 1), to(rows, cols, 2);
          from.FillUnevenly(1);
          from.at(7, 0) = FromWide<T>(std::nan(""));
          const auto index = Index(edges, edges);
          const auto own = Up(from), other = Up(to);
          const auto list = Up(index), ends = Up(splits);
          Done(kernels->ReduceEdges(
              kDTypeOf<T>, maximum,
              own.rows(by_index ? list.template as<int32_t>() : nullptr, edges),
              ends.template as<int32_t>(), first, other.block(), stream));
          const HostMatrix<T> got = other.Read();
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < cols; ++j) {
              std::optional<W> want;
              for (int64_t e = splits[i] - first; e < splits[i + 1] - first;
                   ++e) {
                const W x = from.wide(by_index ? index[e] : e, j);
                if (!want.has_value()) {
                  want = x;
                } else if (!maximum) {
                  want = *want + x;
                } else if (!std::isnan(*want) && (std::isnan(x) || x > *want)) {
                  want = x;
                }
              }
              // To the last bit: in order.
              const T rounded = FromWide<T>(want.value_or(0));
              if (want.has_value() && std::isnan(*want)) {
                EXPECT_TRUE(std::isnan(got.wide(i, j)));
              } else {
                EXPECT_EQ(got.wide(i, j), ToWide<T>(rounded));
              }
            }
          }
        }
      }
    }
  });
}

TEST_F(CudaKernelsTest, BytesBecomeMasks) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    HostMatrix<T> to(6, 50, 1);
    std::vector<uint8_t> bytes(7 * 51, 0);  // The first row is of zeros.
    for (size_t i = 51; i < bytes.size(); ++i)
      bytes[i] = i % 3 == 0 ? i % 5 : 0;
    const auto index = Index(6, 6);
    const auto from = Up(bytes), rows = Up(index);
    const auto other = Up(to);
    ConstBlock block(from.template as<uint8_t>() + 51, 6, 50, 51);
    block.index = rows.template as<int32_t>();
    Done(kernels->ToMask(kDTypeOf<T>, block, other.block(), stream));
    const HostMatrix<T> got = other.Read();
    for (int64_t i = 0; i < 6; ++i) {
      for (int64_t j = 0; j < 50; ++j) {
        EXPECT_EQ(got.wide(i, j), bytes[(index[i] + 1) * 51 + j] != 0 ? 1 : 0);
      }
    }
  });
}

TEST_F(CudaKernelsTest, MasksAreThoseOfTheCpu) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    SerialWorkers workers;
    const DrawnMask mask = {0.3f, 5};
    const std::vector<int64_t> seed = {int64_t{3} << 40 | 77, -9};
    for (const int64_t cols : {1, 15, 64, 150}) {
      const std::vector<int32_t> numbers = {4, 1000000, 0, 4, 17, 17, 2};
      const std::vector<int32_t> index = {2, 1, 0, 3, 6, 5, 4};
      const int64_t rows = static_cast<int64_t>(numbers.size());
      HostMatrix<T> want(rows, cols, 2);
      want.Fill(1);
      const auto other = Up(want);
      std::vector<int32_t> in_order;
      for (const int32_t i : index) in_order.push_back(numbers[i]);
      CpuBackend(&workers).DrawMasks(
          kDTypeOf<T>,
          {{static_cast<uint32_t>(seed[0]), static_cast<uint32_t>(seed[1])},
           mask.number,
           mask.threshold()},
          in_order.data(), mask.kept(),
          {&want.at(0, 0), rows, cols, want.pitch});
      const auto own = Up(numbers), list = Up(index), key = Up(seed);
      ConstBlock from = {own.data(), rows, 1, 1};
      from.index = list.template as<int32_t>();
      Done(kernels->DrawMask(kDTypeOf<T>, mask, from, key.data(), other.block(),
                             stream));
      ExpectSame(other.Read(), want);
    }
  });
}

// As TensorFlow does: by way of float32 where one of them has 16 bits.
TEST_F(CudaKernelsTest, NumbersAreCast) {
  ForGpuTypes([&](auto zero) {
    using From = decltype(zero);
    HostMatrix<From> from(19, 37, 2);
    from.FillUnevenly(1);
    from.at(3, 3) = FromWide<From>(std::nanf(""));
    from.at(4, 3) = FromWide<From>(HUGE_VAL);
    const std::vector<int32_t> index = Index(19, 19);
    const auto own = Up(from);
    const auto rows = Up(index);
    ForGpuTypes([&](auto other_zero) {
      using To = decltype(other_zero);
      SCOPED_TRACE(testing::Message() << CudaTypeName(kDTypeOf<From>) << " to "
                                      << CudaTypeName(kDTypeOf<To>));
      const HostMatrix<To> to(19, 37, 3);
      const auto other = Up(to);
      Done(kernels->Cast(kDTypeOf<From>,
                         own.rows(rows.template as<int32_t>(), 19),
                         kDTypeOf<To>, other.block(), stream));
      const HostMatrix<To> got = other.Read();
      for (int64_t i = 0; i < 19; ++i) {
        for (int64_t j = 0; j < 37; ++j) {
          const To want =
              FromWide<To>(static_cast<Wide<To>>(from.wide(index[i], j)));
          if (std::isnan(ToWide<To>(want))) {
            EXPECT_TRUE(std::isnan(got.wide(i, j)));
          } else {
            EXPECT_EQ(got.wide(i, j), ToWide<To>(want));
          }
        }
      }
    });
  });
}

TEST_F(CudaKernelsTest, NumbersAreAddedAndRounded) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    using W = Wide<T>;
    for (const int64_t n : {1, 256, 1000}) {
      HostMatrix<T> terms(1, n), rounded(1, n);
      HostMatrix<W> sums(1, n);
      terms.Fill(1), sums.Fill(2);
      for (int64_t j = 0; j < n; ++j) sums.at(0, j) += W(1) / (j + 3);
      const auto terms_gpu = Up(terms), rounded_gpu = Up(rounded);
      const auto sums_gpu = Up(sums);
      Done(kernels->Add(kDTypeOf<T>, terms_gpu.data(), n, sums_gpu.data(),
                        stream));
      Done(kernels->Round(kDTypeOf<T>, sums_gpu.data(), n, rounded_gpu.data(),
                          stream));
      const HostMatrix<W> sum = sums_gpu.Read();
      const HostMatrix<T> round = rounded_gpu.Read();
      for (int64_t j = 0; j < n; ++j) {
        const W want = sums.at(0, j) + terms.wide(0, j);
        EXPECT_EQ(sum.at(0, j), want);
        EXPECT_EQ(round.wide(0, j), ToWide<T>(FromWide<T>(want)));
      }
    }
  });
}

}  // namespace
}  // namespace cavs
