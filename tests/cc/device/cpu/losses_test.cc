#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

class LossesTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(LossesTest);

TEST_P(LossesTest, CrossEntropyOfEveryRow) {
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        for (int64_t rows : {1, 7, 16, 33, 4000}) {
          for (int64_t cols : {1, 5, 64, 70}) {
            Matrix<T> x(rows, cols, 0), gradient(rows, cols, 0);
            Matrix<T> loss(1, rows, 0);
            std::vector<int32_t> labels(rows);
            for (int64_t i = 0; i < rows; ++i) {
              labels[i] = static_cast<int32_t>((i * 7 + 3) % cols);
              for (int64_t j = 0; j < cols; ++j) {
                x.at(i, j) = static_cast<T>((i * 31 + j * 17) % 23 - 11);
              }
            }
            backend.CrossEntropy(DTypeOf<T>(), x.view(), labels.data(),
                                 loss.block().data, gradient.block().data);
            ASSERT_TRUE(loss.GuardsHold() && gradient.GuardsHold());
            for (int64_t i = 0; i < rows; ++i) {
              double sum = 0;
              for (int64_t j = 0; j < cols; ++j) sum += std::exp(x.at(i, j));
              const T of_label = x.at(i, labels[i]);
              ASSERT_NEAR(loss.at(0, i), std::log(sum) - of_label, 1e-5);
              for (int64_t j = 0; j < cols; ++j) {
                const double p = std::exp(x.at(i, j)) / sum;
                ASSERT_NEAR(gradient.at(i, j), p - (j == labels[i]), 1e-6);
              }
            }
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace cavs
