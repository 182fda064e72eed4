// Tests copies, gathers and scatters of rows, for elements of every size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

constexpr int kWorkers[] = {1, 2, 3, 7};
constexpr int64_t kRows[] = {0, 1, 2, 3, 17, 65};
constexpr int64_t kCols[] = {0, 1, 2, 3, 5, 16, 17, 64, 65, 130, 1000};

template <typename Fn>
void ForAllTypes(const Fn& fn) {
  fn(float());
  fn(double());
  fn(int32_t());
  fn(int64_t());
  fn(int16_t());
  fn(uint8_t());
}

// Calls fn(backend, element, rows, cols, padding) for all values listed above.
template <typename Fn>
void ForAllCases(const Fn& fn) {
  for (int count : kWorkers) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers);
    for (int64_t rows : kRows) {
      for (int64_t cols : kCols) {
        for (int64_t padding : {0, 3}) {
          SCOPED_TRACE(testing::Message() << rows << " x " << cols << " + "
                                          << padding << ", workers " << count);
          ForAllTypes(
              [&](auto zero) { fn(backend, zero, rows, cols, padding); });
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// The matrix has more rows than the block: the guards of two matrices are
// equal, so copying too many rows would go unnoticed.
template <typename T>
ConstBlock FirstColumns(const Matrix<T>& wider, int64_t cols) {
  ConstBlock block = wider.view();
  block.cols = cols;
  return block;
}

TEST(RowsTest, CopyMovesEveryElementAndNoMore) {
  ForAllCases([](const CpuBackend& backend, auto zero, int64_t rows,
                 int64_t cols, int64_t padding) {
    using T = decltype(zero);
    for (int64_t extra : {0, 1}) {
      Matrix<T> x(rows, cols + extra, padding), dst(rows, cols, padding, 1);
      Matrix<T> want(rows, cols);
      x.Fill(1);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) want.at(i, j) = x.at(i, j);
      }
      backend.Copy(DTypeOf<T>(), FirstColumns(x, cols), dst.block());
      EXPECT_TRUE(dst.SameBits(want) && dst.GuardsHold());

      std::vector<int32_t> index;
      for (int64_t i = 0; i < rows; ++i) {
        index.push_back(static_cast<int32_t>(i * 7 % (rows + 1)) - 1);
        for (int64_t j = 0; j < cols; ++j) {
          want.at(i, j) = index[i] < 0 ? T(0) : x.at(index[i], j);
        }
      }
      ConstBlock indexed = FirstColumns(x, cols);
      indexed.index = index.data();
      backend.Copy(DTypeOf<T>(), indexed, dst.block());
      EXPECT_TRUE(dst.SameBits(want) && dst.GuardsHold());
    }
  });
}

TEST(RowsTest, ZeroClearsEveryElementAndNoMore) {
  ForAllCases([](const CpuBackend& backend, auto zero, int64_t rows,
                 int64_t cols, int64_t padding) {
    using T = decltype(zero);
    Matrix<T> dst(rows, cols, padding, 1);
    dst.Fill(1);
    backend.Zero(DTypeOf<T>(), dst.block());
    EXPECT_TRUE(dst.SameBits(Matrix<T>(rows, cols)) && dst.GuardsHold());
  });
}

TEST(RowsTest, GatherTakesRowsInAnyOrderAndZerosForNone) {
  ForAllCases([](const CpuBackend& backend, auto zero, int64_t rows,
                 int64_t cols, int64_t padding) {
    using T = decltype(zero);
    const int64_t from = 23;
    Matrix<T> src(from, cols + 1, padding, 1), dst(rows, cols, 2 * padding);
    Matrix<T> want(rows, cols);
    src.Fill(1);
    dst.Fill(2);
    std::mt19937 random(rows);
    std::vector<int32_t> index(rows);
    for (int64_t i = 0; i < rows; ++i) {
      index[i] = static_cast<int32_t>(random() % (from + 5)) - 5;
      for (int64_t j = 0; j < cols && index[i] >= 0; ++j) {
        want.at(i, j) = src.at(index[i], j);
      }
    }
    backend.GatherRows(DTypeOf<T>(), FirstColumns(src, cols), index.data(),
                       dst.block());
    EXPECT_TRUE(dst.SameBits(want) && dst.GuardsHold());
  });
}

TEST(RowsTest, LookUpTakesRowsInAnyOrder) {
  ForAllCases([](const CpuBackend& backend, auto zero, int64_t rows,
                 int64_t cols, int64_t padding) {
    using T = decltype(zero);
    const int64_t from = 23;
    Matrix<T> src(from, cols + 1, padding, 1), dst(rows, cols, 2 * padding);
    Matrix<T> want(rows, cols);
    src.Fill(1);
    dst.Fill(2);
    std::mt19937 random(rows);
    std::vector<int32_t> index(rows);
    for (int64_t i = 0; i < rows; ++i) {
      index[i] = static_cast<int32_t>(random() % from);
      for (int64_t j = 0; j < cols; ++j) want.at(i, j) = src.at(index[i], j);
    }
    backend.LookUpRows(DTypeOf<T>(), FirstColumns(src, cols), index.data(),
                       dst.block());
    EXPECT_TRUE(dst.SameBits(want) && dst.GuardsHold());
  });
}

TEST(RowsTest, ScatterWritesItsRowsAndLeavesTheOthers) {
  ForAllCases([](const CpuBackend& backend, auto zero, int64_t rows,
                 int64_t cols, int64_t padding) {
    using T = decltype(zero);
    Matrix<T> src(rows, cols + 1, padding, 1), dst(rows + 9, cols, 2 * padding);
    src.Fill(1);
    dst.Fill(2);
    Matrix<T> want = dst;
    std::vector<int32_t> places(rows + 9);
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), std::mt19937(rows));
    std::vector<int32_t> index(places.begin(), places.begin() + rows);
    for (int64_t i = 0; i < rows; ++i) {
      if (i % 5 == 3) index[i] = -1;
      for (int64_t j = 0; j < cols && index[i] >= 0; ++j) {
        want.at(index[i], j) = src.at(i, j);
      }
    }
    backend.ScatterRows(DTypeOf<T>(), FirstColumns(src, cols), index.data(),
                        dst.block());
    EXPECT_TRUE(dst.SameBits(want) && dst.GuardsHold());
  });
}

template <typename T>
void ExpectScatterAdd(const CpuBackend& backend, int64_t rows, int64_t cols,
                      int64_t padding) {
  // There are few places, so that rows repeat, and large and small terms, so
  // that the result shows the order in which they are added.
  Matrix<T> src(rows, cols, padding, 1), dst(4, cols, 2 * padding);
  src.Fill(1);
  dst.Fill(2);
  std::vector<int32_t> index(rows);
  Matrix<T> want = dst;
  for (int64_t i = 0; i < rows; ++i) {
    index[i] = static_cast<int32_t>((i * 7 + 3) % 5) - 1;
    for (int64_t j = 0; j < cols; ++j) {
      if (i % 3 == 0) src.at(i, j) *= T(1e6);
      if (index[i] >= 0) want.at(index[i], j) += src.at(i, j);
    }
  }
  backend.ScatterAddRows(DTypeOf<T>(), src.view(), index.data(), dst.block());
  EXPECT_TRUE(dst.SameBits(want) && dst.GuardsHold());
}

TEST(RowsTest, ScatterAddAddsRepeatedRowsInOrderForAnyNumberOfWorkers) {
  for (int count : kWorkers) {
    ThreadedWorkers workers(count);
    for (Isa isa : SupportedIsas()) {
      const CpuBackend backend(&workers, isa);
      for (int64_t rows : kRows) {
        for (int64_t cols : kCols) {
          for (int64_t padding : {0, 3}) {
            ExpectScatterAdd<float>(backend, rows, cols, padding);
            ExpectScatterAdd<double>(backend, rows, cols, padding);
            ExpectScatterAdd<int32_t>(backend, rows, cols, padding);
            ExpectScatterAdd<int64_t>(backend, rows, cols, padding);
          }
        }
      }
    }
  }
}

TEST(RowsTest, ScatterAddOfNarrowTypesDoesNotRoundBeforeAllTermsAreAdded) {
  SerialWorkers workers;
  for (Isa isa : SupportedIsas()) {
    const CpuBackend backend(&workers, isa);
    ForNarrowTypes([&](auto zero) {
      using T = decltype(zero);
      constexpr int64_t kTerms = 10000;
      Matrix<T> src(kTerms, 19, 3);
      Matrix<float> sums(2, 19, 5);
      for (int64_t i = 0; i < kTerms; ++i) {
        for (int64_t j = 0; j < 19; ++j) src.at(i, j) = T(j);
      }
      for (int64_t j = 0; j < 19; ++j) sums.at(0, j) = sums.at(1, j) = 0;
      const std::vector<int32_t> index(kTerms, 1);
      backend.ScatterAddRows(DTypeOf<T>(), src.view(), index.data(),
                             sums.block());
      for (int64_t j = 0; j < 19; ++j) {
        EXPECT_EQ(sums.at(0, j), 0);
        EXPECT_EQ(sums.at(1, j), kTerms * j);
      }
      EXPECT_TRUE(sums.GuardsHold());
    });
  }
}

TEST(RowsTest, RoundRowsRoundsTheRowsOfAnIndexToNearest) {
  SerialWorkers workers;
  for (Isa isa : SupportedIsas()) {
    const CpuBackend backend(&workers, isa);
    ForNarrowTypes([&](auto zero) {
      using T = decltype(zero);
      Matrix<float> sums(3, 19, 5);
      Matrix<T> dst(4, 19, 3);
      sums.Fill(1);
      dst.Fill(2);
      const int32_t index[] = {2, -1, 0, 2};
      backend.RoundRows(DTypeOf<T>(), sums.view(), index, dst.block());
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = 0; j < 19; ++j) {
          EXPECT_EQ(dst.at(i, j),
                    index[i] < 0 ? T(0) : T(sums.at(index[i], j)));
        }
      }
      EXPECT_TRUE(dst.GuardsHold());
    });
  }
}

TEST(RowsTest, ScatterAddOfIntegersWrapsAround) {
  SerialWorkers workers;
  const CpuBackend backend(&workers);
  const int32_t one = 1, row = 0;
  int32_t sum = INT32_MAX;
  backend.ScatterAddRows(DType::kInt32, {&one, 1, 1, 1}, &row, {&sum, 1, 1, 1});
  EXPECT_EQ(sum, INT32_MIN);
}

}  // namespace
}  // namespace cavs
