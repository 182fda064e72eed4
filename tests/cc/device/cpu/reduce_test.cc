// Compares sums over rows and over columns with plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

constexpr int64_t kRows[] = {0, 1, 2, 3, 16, 65, 257, 600};
constexpr int64_t kCols[] = {0,  1,  2,  3,  5,  7,  8,   9,   15, 16,
                             17, 31, 63, 64, 65, 80, 130, 200, 301};

class ReduceTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(ReduceTest);

// Numbers whose sums are exact.
TEST_P(ReduceTest, SumRowsAddsEveryColumn) {
  for (int count : {1, 2, 3, 7}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      for (int64_t rows : kRows) {
        for (int64_t cols : kCols) {
          for (bool accumulate : {false, true}) {
            Matrix<T> x(rows, cols, rows % 3, 1);
            Matrix<SumOf<T>> out(1, cols, 2, 3);
            x.Fill(rows + cols);
            out.Fill(7);
            const Matrix<SumOf<T>> before = out;
            backend.SumRows(DTypeOf<T>(), x.view(), out.block(), accumulate);
            ASSERT_TRUE(out.GuardsHold());
            for (int64_t j = 0; j < cols; ++j) {
              double sum = accumulate ? double(before.at(0, j)) : 0;
              for (int64_t i = 0; i < rows; ++i) sum += x.at(i, j);
              ASSERT_EQ(out.at(0, j), sum) << rows << ", " << cols << " " << j;
            }
          }
        }
      }
    });
  }
}

TEST_P(ReduceTest, SumColumnsAddsEveryRow) {
  for (int count : {1, 2, 3, 7}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      for (int64_t rows : kRows) {
        for (int64_t cols : kCols) {
          Matrix<T> x(rows, cols, rows % 3, 1), out(rows, 1, cols % 4, 3);
          x.Fill(rows + cols);
          out.Fill(7);
          backend.SumColumns(DTypeOf<T>(), x.view(), out.block());
          ASSERT_TRUE(out.GuardsHold());
          for (int64_t i = 0; i < rows; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < cols; ++j) sum += x.at(i, j);
            ASSERT_EQ(out.at(i, 0), T(sum)) << rows << ", " << cols << " " << i;
          }
        }
      }
    });
  }
}

TEST_P(ReduceTest, SumsAreRoundedWhereTheyAre) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  for (int64_t n : {0, 1, 7, 16, 33, 1000}) {
    Matrix<float> sums(1, n);
    for (int64_t j = 0; j < n; ++j) sums.at(0, j) = 0.1f * (j - 300);
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      Matrix<SumOf<T>> rounded(1, n);
      for (int64_t j = 0; j < n; ++j) rounded.at(0, j) = sums.at(0, j);
      backend.RoundSums(DTypeOf<T>(), n, rounded.block().data);
      EXPECT_TRUE(rounded.GuardsHold());
      const T* got = static_cast<const T*>(rounded.block().data);
      for (int64_t j = 0; j < n; ++j) {
        ASSERT_EQ(got[j], T(sums.at(0, j))) << n << " " << j;
      }
    });
  }
}

// A million additions of 0.1 in float32, one after the other, are off by a
// hundredth.
TEST_P(ReduceTest, LongColumnsKeepTheirPrecision) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  const int64_t rows = 1'000'000;
  Matrix<float> x(rows, 1), out(1, 1);
  for (int64_t i = 0; i < rows; ++i) x.at(i, 0) = 0.1f;
  backend.SumRows(DType::kFloat32, x.view(), out.block(), false);
  EXPECT_NEAR(out.at(0, 0), 0.1f * rows, 1e-5 * rows);
}

TEST_P(ReduceTest, SumsRepeatTheirBits) {
  for (int count : {1, 2, 3, 7}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      Matrix<T> x(700, 301, 2), col(700, 1), col2(700, 1);
      Matrix<SumOf<T>> row(1, 301), row2(1, 301);
      for (int64_t i = 0; i < 700; ++i) {
        for (int64_t j = 0; j < 301; ++j) x.at(i, j) = std::sin(T(i * j));
      }
      backend.SumRows(DTypeOf<T>(), x.view(), row.block(), false);
      backend.SumRows(DTypeOf<T>(), x.view(), row2.block(), false);
      backend.SumColumns(DTypeOf<T>(), x.view(), col.block());
      backend.SumColumns(DTypeOf<T>(), x.view(), col2.block());
      EXPECT_TRUE(row.SameBits(row2));
      EXPECT_TRUE(col.SameBits(col2));
    });
  }
}

}  // namespace
}  // namespace cavs
