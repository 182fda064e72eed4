#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

class UpdatesTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(UpdatesTest);

constexpr UpdateRule kAdam = {0.125, 0.25, 0.5, 0.0625};
constexpr UpdateRule kDescent = {0.125};

template <typename T>
double Number(T value) {
  return static_cast<double>(value);
}

// One element, in double precision.
struct Element {
  double var, m, v;

  void Update(const UpdateRule& rule, double g, bool has_moments) {
    if (!has_moments) {
      var -= rule.rate * g;
      return;
    }
    m += (g - m) * rule.new_in_mean;
    v += (g * g - v) * rule.new_in_square;
    var -= rule.rate * m / (std::sqrt(v) + rule.epsilon);
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

  UpdatedVariable variable(bool has_moments) {
    return {var.block().data, has_moments ? m.block().data : nullptr,
            has_moments ? v.block().data : nullptr, gradient.block().data,
            var.rows() * var.cols()};
  }
};

// The rows of a gradient of six rows that belong to three rows of a table.
struct ThreeGroups {
  std::vector<int64_t> rows = {1, 4, 5}, splits = {0, 2, 3, 6};
  std::vector<int64_t> order = {3, 0, 5, 1, 2, 4};

  RowGroups groups() const {
    return {rows.data(), splits.data(), order.data(), 3};
  }

  template <typename T>
  double Sum(Matrix<T>* gradient, int64_t group, int64_t column) const {
    double sum = 0;
    for (int64_t k = splits[group]; k < splits[group + 1]; ++k) {
      sum += Number(gradient->at(order[k], column));
    }
    return sum;
  }
};

template <typename T>
constexpr double kTolerance = sizeof(T) == 2 ? 0.02 : 1e-6;

TEST_P(UpdatesTest, UpdatesEveryElementOfEveryVariable) {
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      for (bool has_moments : {false, true}) {
        const UpdateRule rule = has_moments ? kAdam : kDescent;
        // The first alone is worth several jobs.
        std::vector<Drawn<T>> drawn;
        for (int64_t size : {40001, 0, 1, 17, 64, 1025}) {
          drawn.emplace_back(1, size, 1);
        }
        std::vector<UpdatedVariable> variables;
        for (Drawn<T>& d : drawn) variables.push_back(d.variable(has_moments));
        std::vector<Drawn<T>> before = drawn;
        backend.Update(DTypeOf<T>(), rule, variables);
        for (size_t k = 0; k < drawn.size(); ++k) {
          ASSERT_TRUE(drawn[k].var.GuardsHold());
          for (int64_t j = 0; j < variables[k].size; ++j) {
            Element e = {Number(before[k].var.at(0, j)),
                         Number(before[k].m.at(0, j)),
                         Number(before[k].v.at(0, j))};
            e.Update(rule, Number(before[k].gradient.at(0, j)), has_moments);
            ASSERT_NEAR(Number(drawn[k].var.at(0, j)), e.var, kTolerance<T>);
            ASSERT_NEAR(Number(drawn[k].m.at(0, j)), e.m, kTolerance<T>);
            ASSERT_NEAR(Number(drawn[k].v.at(0, j)), e.v, kTolerance<T>);
          }
        }
      }
    });
  }
}

TEST_P(UpdatesTest, RowsAreUpdatedByTheSumsOfTheirGradients) {
  const ThreeGroups three;
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      for (int64_t cols : {0, 1, 16, 33, 1025, 9000}) {
        for (bool has_moments : {false, true}) {
          const UpdateRule rule = has_moments ? kAdam : kDescent;
          Drawn<T> drawn(7, cols, 6);
          Drawn<T> before = drawn;
          backend.UpdateRows(DTypeOf<T>(), rule, drawn.variable(has_moments),
                             cols, three.groups());
          for (int64_t i = 0, group = 0; i < 7; ++i) {
            const bool updated = group < 3 && three.rows[group] == i;
            for (int64_t j = 0; j < cols; ++j) {
              Element e = {Number(before.var.at(i, j)),
                           Number(before.m.at(i, j)),
                           Number(before.v.at(i, j))};
              if (updated) {
                e.Update(rule, three.Sum(&before.gradient, group, j),
                         has_moments);
              }
              ASSERT_NEAR(Number(drawn.var.at(i, j)), e.var, kTolerance<T>)
                  << i << ", " << j;
            }
            group += updated;
          }
        }
      }
    });
  }
}

TEST_P(UpdatesTest, RowsOfAGroupAreSummed) {
  const ThreeGroups three;
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      for (int64_t cols : {0, 1, 16, 33, 1025, 9000}) {
        Drawn<T> drawn(0, cols, 6);
        Matrix<T> sums(3, cols, 0, 1);
        backend.SumGroups(DTypeOf<T>(), drawn.gradient.block().data, cols,
                          three.groups(), sums.block().data);
        ASSERT_TRUE(sums.GuardsHold());
        for (int64_t group = 0; group < 3; ++group) {
          for (int64_t j = 0; j < cols; ++j) {
            ASSERT_EQ(Number(sums.at(group, j)),  // Exact in every type.
                      three.Sum(&drawn.gradient, group, j))
                << group << ", " << j;
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace cavs
