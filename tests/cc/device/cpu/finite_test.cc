#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

class FiniteTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(FiniteTest);

template <typename T>
void ExpectFound(const CpuBackend& backend, int64_t rows, int64_t cols,
                 int64_t pitch) {
  using Limits = std::numeric_limits<float>;
  std::vector<T> x(rows * pitch, T(3));
  const ConstBlock block(x.data(), rows, cols, pitch);
  // NaN in the padding between rows must not count.
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = cols; j < pitch; ++j) x[i * pitch + j] = T(NAN);
  }
  EXPECT_TRUE(backend.IsFinite(DTypeOf<T>(), block));
  for (int64_t i = 0; i < rows; i += 1 + rows / 5) {
    for (int64_t j = 0; j < cols; j += 1 + cols / 7) {
      T& element = x[i * pitch + j];
      for (float value : {Limits::infinity(), -Limits::infinity(), NAN}) {
        element = T(value);
        ASSERT_FALSE(backend.IsFinite(DTypeOf<T>(), block))
            << value << " at " << i << ", " << j;
      }
      for (T value : {T(3), T(-0.0f), T(Limits::denorm_min()),
                      std::numeric_limits<T>::max()}) {
        element = value;
        ASSERT_TRUE(backend.IsFinite(DTypeOf<T>(), block)) << value;
      }
    }
  }
}

TEST_P(FiniteTest, OneElementThatIsNotFiniteIsFoundAnywhere) {
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      ExpectFound<T>(backend, 1, 1, 1);
      ExpectFound<T>(backend, 3, 17, 19);
      ExpectFound<T>(backend, 200, 300, 300);
      ExpectFound<T>(backend, 0, 4, 4);
      ExpectFound<T>(backend, 4, 0, 4);
    });
  }
}

TEST_P(FiniteTest, RowsMayHaveAnIndex) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  const std::vector<float> x = {0, 1, NAN, 3};
  const std::vector<int32_t> index = {2, -1, 0};  // Counted from row 1.
  ConstBlock block(x.data() + 1, 3, 1, 1);
  block.index = index.data();
  EXPECT_TRUE(backend.IsFinite(DType::kFloat32, block));
  const std::vector<int32_t> other = {2, 1, 0};
  block.index = other.data();
  EXPECT_FALSE(backend.IsFinite(DType::kFloat32, block));
}

}  // namespace
}  // namespace cavs
