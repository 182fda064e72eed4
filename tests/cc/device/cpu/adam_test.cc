#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

class AdamTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(AdamTest);

constexpr AdamRule kRule = {0.125, 0.25, 0.5, 0.0625};

template <typename T>
double Number(T value) {
  return static_cast<double>(value);
}

// One element, in double precision.
struct Element {
  double var, m, v;

  void Update(double g) {
    m += (g - m) * kRule.new_in_mean;
    v += (g * g - v) * kRule.new_in_square;
    var -= kRule.rate * m / (std::sqrt(v) + kRule.epsilon);
  }
};

// A variable with moments and a gradient, all of numbers that every type has.
template <typename T>
struct Drawn {
  Matrix<T> var, m, v, gradient;

  Drawn(int64_t rows, int64_t cols, int64_t gradient_rows)
      : var(rows, cols, 0, 1),
        m(rows, cols, 0, 1),
        v(rows, cols, 0, 1),
        gradient(gradient_rows, cols, 0, 1) {
    int seed = 0;
    for (Matrix<T>* matrix : {&var, &m, &v, &gradient}) {
      for (int64_t i = 0; i < matrix->rows(); ++i) {
        for (int64_t j = 0; j < cols; ++j) {
          seed = (seed * 7 + 5) % 16;
          matrix->at(i, j) = static_cast<T>(seed) / static_cast<T>(8);
        }
      }
    }
  }

  Element at(int64_t i, int64_t j) const {
    return {Number(var.at(i, j)), Number(m.at(i, j)), Number(v.at(i, j))};
  }

  AdamVariable variable() {
    return {var.block().data, m.block().data, v.block().data,
            gradient.block().data, var.rows() * var.cols()};
  }
};

template <typename T>
constexpr double kTolerance = sizeof(T) == 2 ? 0.02 : 1e-6;

TEST_P(AdamTest, UpdatesEveryElementOfEveryVariable) {
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      // The first alone is worth several jobs.
      std::vector<Drawn<T>> drawn;
      for (int64_t size : {40001, 0, 1, 17, 64, 1025}) {
        drawn.emplace_back(1, size, 1);
      }
      std::vector<AdamVariable> variables;
      for (Drawn<T>& d : drawn) variables.push_back(d.variable());
      const std::vector<Drawn<T>> before = drawn;
      backend.UpdateByAdam(DTypeOf<T>(), kRule, variables);
      for (size_t k = 0; k < drawn.size(); ++k) {
        for (const Matrix<T>* part :
             {&drawn[k].var, &drawn[k].m, &drawn[k].v}) {
          ASSERT_TRUE(part->GuardsHold());
        }
        for (int64_t j = 0; j < variables[k].size; ++j) {
          Element e = before[k].at(0, j);
          e.Update(Number(before[k].gradient.at(0, j)));
          ASSERT_NEAR(Number(drawn[k].var.at(0, j)), e.var, kTolerance<T>);
          ASSERT_NEAR(Number(drawn[k].m.at(0, j)), e.m, kTolerance<T>);
          ASSERT_NEAR(Number(drawn[k].v.at(0, j)), e.v, kTolerance<T>);
        }
      }
    });
  }
}

TEST_P(AdamTest, RowsAreUpdatedByTheSumsOfTheirGradients) {
  const std::vector<int64_t> rows = {1, 4, 5}, splits = {0, 2, 3, 6};
  const std::vector<int64_t> order = {3, 0, 5, 1, 2, 4};
  const RowGroups groups = {rows.data(), splits.data(), order.data(), 3};
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      for (int64_t cols : {0, 1, 16, 33, 1025, 9000}) {
        Drawn<T> drawn(7, cols, 6);
        const Drawn<T> before = drawn;
        backend.UpdateRowsByAdam(DTypeOf<T>(), kRule, drawn.variable(), cols,
                                 groups);
        ASSERT_TRUE(drawn.var.GuardsHold());
        for (int64_t j = 0; j < cols; ++j) {
          for (int64_t i = 0, group = 0; i < 7; ++i) {
            Element e = before.at(i, j);
            if (group < 3 && rows[group] == i) {
              double sum = 0;
              for (int64_t k = splits[group]; k < splits[group + 1]; ++k) {
                sum += Number(before.gradient.at(order[k], j));
              }
              e.Update(sum);
              ++group;
            }
            ASSERT_NEAR(Number(drawn.var.at(i, j)), e.var, kTolerance<T>);
            ASSERT_NEAR(Number(drawn.v.at(i, j)), e.v, 2 * kTolerance<T>);
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace cavs
