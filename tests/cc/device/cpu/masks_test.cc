#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

class MasksTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(MasksTest);

TEST_P(MasksTest, BooleansBecomeMasks) {
  for (int count : {1, 2, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      for (int64_t rows : {0, 1, 3, 65, 257}) {
        for (int64_t cols : {0, 1, 3, 16, 17, 65, 301}) {
          const int64_t pitch = cols + rows % 3;
          const auto booleans = std::make_unique<bool[]>(rows * pitch);
          for (int64_t k = 0; k < rows * pitch; ++k) booleans[k] = k % 3 == 1;
          Matrix<T> out(rows, cols, rows % 2, 3);
          out.Fill(7);
          backend.ToMask(DTypeOf<T>(), {booleans.get(), rows, cols, pitch},
                         out.block());
          ASSERT_TRUE(out.GuardsHold());
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < cols; ++j) {
              ASSERT_EQ(out.at(i, j), T((i * pitch + j) % 3 == 1));
            }
          }
        }
      }
    });
  }
}

// Element j of row `row`; each number is below the threshold or not.
uint32_t Drawn(const CpuBackend& backend, RandomMask mask, int32_t row, int j) {
  std::vector<float> out(j + 1);
  uint32_t number = 0;
  for (int bit = 31; bit >= 0; --bit) {
    mask.threshold = number | uint32_t{1} << bit;
    backend.DrawMasks(DType::kFloat32, mask, &row, 1,
                      {out.data(), 1, j + 1, j + 1});
    if (out[j] != 0) number = mask.threshold;
  }
  return number;
}

// The answers of Salmon et al.'s own library, Random123, for a counter and a
// key of zeros.
TEST_P(MasksTest, NumbersAreThoseOfThreefry) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  EXPECT_EQ(Drawn(backend, {}, 0, 0), 0x9c6ca96a);
  EXPECT_EQ(Drawn(backend, {}, 0, 16), 0xe17eae66);
  EXPECT_EQ(Drawn(backend, {}, 0, 32), 0xfc10ecd4);
  EXPECT_EQ(Drawn(backend, {}, 0, 48), 0x5256a7d8);
}

// Whatever the instruction set, the workers, and the rows around it.
TEST_P(MasksTest, RowFollowsFromItsNumber) {
  SerialWorkers one;
  const CpuBackend portable(&one, Isa::kPortable);
  const RandomMask mask = {{5, 7}, 3, 0x60000000};
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      for (int64_t cols : {1, 16, 63, 64, 65, 300}) {
        const std::vector<int32_t> rows = {4, 0, 9, 4, -1, 1000000};
        Matrix<T> out(rows.size(), cols, 1, 3), alone(1, cols, 1, 3);
        backend.DrawMasks(DTypeOf<T>(), mask, rows.data(), 1.6, out.block());
        ASSERT_TRUE(out.GuardsHold());
        for (size_t i = 0; i < rows.size(); ++i) {
          portable.DrawMasks(DTypeOf<T>(), mask, &rows[i], 1.6, alone.block());
          for (int64_t j = 0; j < cols; ++j) {
            ASSERT_EQ(out.at(i, j), alone.at(0, j)) << i << ", " << j;
          }
        }
      }
    });
  }
}

TEST_P(MasksTest, SeedsNumbersAndRowsDrawIndependently) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  const int64_t n = 1 << 16;
  const std::vector<RandomMask> masks = {{{1, 0}, 0, 1u << 31},
                                         {{2, 0}, 0, 1u << 31},
                                         {{1, 1}, 0, 1u << 31},
                                         {{1, 0}, 1, 1u << 31}};
  std::vector<std::vector<float>> drawn;
  for (const RandomMask& mask : masks) {
    for (int32_t row : {0, 1}) {
      drawn.emplace_back(n);
      backend.DrawMasks(DType::kFloat32, mask, &row, 1,
                        {drawn.back().data(), 1, n, n});
    }
  }
  for (size_t i = 0; i < drawn.size(); ++i) {
    for (size_t k = 0; k <= i; ++k) {
      int64_t both = 0;
      for (int64_t j = 0; j < n; ++j) both += drawn[i][j] * drawn[k][j];
      // The standard deviation of `both` is 128 and 111.
      EXPECT_LT(std::abs(both - (i == k ? n / 2 : n / 4)), 640) << i << k;
    }
  }
}

}  // namespace
}  // namespace cavs
