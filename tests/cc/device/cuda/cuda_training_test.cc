// Compares losses and updates of variables with loops of the host.
#include "cc/device/cuda/cuda_training.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/cc/device/cuda/gpu_matrix.h"

namespace cavs {
namespace {

class CudaTrainingTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (kernels != nullptr) training = std::make_unique<CudaTraining>(kernels);
  }
  // Expects that a call has succeeded, and all its work.
  void Done(const Status& called) {
    ASSERT_TRUE(called.ok()) << called.message();
    Wait();
  }

  std::unique_ptr<const CudaTraining> training;
};

constexpr double kRate = 0.125, kBeta1 = 0.875, kBeta2 = 0.75, kEpsilon = 0.125;

// The numbers of a rule, in memory of the GPU.
class Rule {
 public:
  Rule(const CudaDriver& driver, bool adam, int64_t steps)
      : adam_(adam),
        steps_(steps),
        numbers_(driver, std::vector<double>{kRate, kBeta1, kBeta2, kEpsilon}),
        number_of_steps_(driver, std::vector<int64_t>{steps}) {}

  CudaUpdateRule rule() const {
    const auto* numbers = numbers_.as<double>();
    if (!adam_) return {numbers};
    return {numbers, number_of_steps_.as<int64_t>(), numbers + 1, numbers + 2,
            numbers + 3};
  }
  bool adam() const { return adam_; }
  // The rate of this step.
  double rate() const {
    if (!adam_) return kRate;
    double first = 1, second = 1;
    for (int64_t i = 0; i <= steps_; ++i) first *= kBeta1, second *= kBeta2;
    return kRate * std::sqrt(1 - second) / (1 - first);
  }

 private:
  const bool adam_;
  const int64_t steps_;
  const GpuMemory numbers_, number_of_steps_;
};

// A variable, its moments and its gradient.
template <typename T>
struct Variable {
  Variable(int64_t rows, int64_t cols, int64_t rows_of_gradient, uint32_t seed)
      : var(rows, cols),
        m(rows, cols),
        v(rows, cols),
        gradient(rows_of_gradient, cols) {
    var.FillUnevenly(seed), m.FillUnevenly(seed + 1), v.Fill(seed + 2);
    gradient.FillUnevenly(seed + 3);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        v.at(i, j) = FromWide<T>(std::abs(v.wide(i, j)));
      }
    }
  }

  // What is to become of an element.
  void Update(const Rule& rule, int64_t row, int64_t column,
              Wide<T> of_gradient) {
    using W = Wide<T>;
    const W g = of_gradient, rate = static_cast<W>(rule.rate());
    W change = rate * g;
    if (rule.adam()) {
      W mean = m.wide(row, column), square = v.wide(row, column);
      mean += (g - mean) * static_cast<W>(1 - kBeta1);
      square += (g * g - square) * static_cast<W>(1 - kBeta2);
      m.at(row, column) = FromWide<T>(mean);
      v.at(row, column) = FromWide<T>(square);
      change = rate * mean / (std::sqrt(square) + static_cast<W>(kEpsilon));
    }
    var.at(row, column) = FromWide<T>(var.wide(row, column) - change);
  }

  HostMatrix<T> var, m, v, gradient;
};

// The same on the GPU.
template <typename T>
struct VariableThere {
  VariableThere(const CudaDriver& driver, const Variable<T>& own)
      : var(driver, own.var),
        m(driver, own.m),
        v(driver, own.v),
        gradient(driver, own.gradient) {}

  UpdatedVariable updated(bool has_moments) const {
    return {var.data(), has_moments ? m.data() : nullptr,
            has_moments ? v.data() : nullptr, gradient.data(),
            var.block().rows * var.block().cols};
  }
  void Expect(const Variable<T>& want) const {
    for (const auto& [got, wanted] :
         {std::pair(&var, &want.var), {&m, &want.m}, {&v, &want.v}}) {
      const HostMatrix<T> read = got->Read();
      for (int64_t i = 0; i < wanted->rows; ++i) {
        for (int64_t j = 0; j < wanted->cols; ++j) {
          ASSERT_NEAR(read.wide(i, j), wanted->wide(i, j),
                      2 * EpsilonOf<T>() * std::abs(wanted->wide(i, j)))
              << "row " << i << ", column " << j;
        }
      }
    }
  }

  GpuMatrix<T> var, m, v, gradient;
};

// More of them than a launch has, some empty, and some of several blocks.
TEST_F(CudaTrainingTest, VariablesAreUpdated) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    for (const bool adam : {false, true}) {
      for (const int64_t steps : {0, 1, 20}) {
        const Rule rule(driver(), adam, steps);
        std::vector<Variable<T>> variables;
        std::vector<std::unique_ptr<VariableThere<T>>> there;
        std::vector<UpdatedVariable> updates;
        const int count = steps == 20 ? 131 : 3;
        for (int i = 0; i < count; ++i) {
          const int64_t rows = i % 5 == 0 ? 0 : i % 7, cols = i == 1 ? 1500 : 3;
          variables.emplace_back(rows, cols, rows, i);
          there.push_back(
              std::make_unique<VariableThere<T>>(driver(), variables.back()));
          updates.push_back(there.back()->updated(adam));
        }
        Done(training->Update(kDTypeOf<T>, rule.rule(), updates, stream));
        for (int i = 0; i < count; ++i) {
          Variable<T>& own = variables[i];
          for (int64_t r = 0; r < own.var.rows; ++r) {
            for (int64_t c = 0; c < own.var.cols; ++c) {
              own.Update(rule, r, c, own.gradient.wide(r, c));
            }
          }
          there[i]->Expect(own);
          if (HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST_F(CudaTrainingTest, NothingIsUpdated) {
  const Rule rule(driver(), true, 3);
  Done(training->Update(DType::kFloat32, rule.rule(), {}, stream));
}

TEST_F(CudaTrainingTest, RowsAreUpdated) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    for (const bool adam : {false, true}) {
      for (const int64_t cols : {1, 5, 700}) {
        const Rule rule(driver(), adam, 7);
        const std::vector<int32_t> rows = {1, 4, 5, 8, 9};
        Variable<T> own(11, cols, 5, 3);
        const VariableThere<T> there(driver(), own);
        const GpuMemory list(driver(), rows);
        Done(training->UpdateRows(kDTypeOf<T>, rule.rule(), there.updated(adam),
                                  cols, list.template as<int32_t>(), 5,
                                  stream));
        for (int64_t r = 0; r < 5; ++r) {
          for (int64_t c = 0; c < cols; ++c) {
            own.Update(rule, rows[r], c, own.gradient.wide(r, c));
          }
        }
        there.Expect(own);
        if (HasFatalFailure()) return;
      }
    }
  });
}

TEST_F(CudaTrainingTest, LossesAreThoseOfTheSoftmax) {
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    for (const int64_t classes : {1, 2, 5, 64}) {
      const int64_t rows = 300;
      HostMatrix<T> logits(rows, classes), loss(rows, 1), gradient = logits;
      logits.FillUnevenly(1);
      std::vector<int32_t> labels;
      for (int64_t r = 0; r < rows; ++r) {
        labels.push_back(static_cast<int32_t>(r * 7 % classes));
        // Exponentials of these are too large, or zero.
        for (int64_t c = 0; c < classes; ++c) {
          logits.at(r, c) = logits.at(r, c) * (r % 3 == 0 ? 1000 : 4);
        }
      }
      logits.at(4, 0) = static_cast<T>(std::nan(""));
      logits.at(5, classes - 1) = std::numeric_limits<T>::infinity();
      const GpuMatrix<T> own(driver(), logits), there(driver(), loss),
          other(driver(), gradient);
      const GpuMemory list(driver(), labels);
      Done(training->CrossEntropy(kDTypeOf<T>, own.block(),
                                  list.template as<int32_t>(), there.data(),
                                  other.data(), stream));
      const HostMatrix<T> got_loss = there.Read(), got = other.Read();
      for (int64_t r = 0; r < rows; ++r) {
        long double most = -HUGE_VAL, sum = 0;
        bool finite = true;
        for (int64_t c = 0; c < classes; ++c) {
          most = std::max<long double>(most, logits.at(r, c));
          finite = finite && std::isfinite(logits.at(r, c));
        }
        for (int64_t c = 0; c < classes; ++c) {
          sum += std::exp(logits.at(r, c) - most);
        }
        if (!finite) {
          EXPECT_TRUE(std::isnan(got_loss.at(r, 0)));
          continue;
        }
        const double epsilon = EpsilonOf<T>();
        const auto want = static_cast<double>(std::log(sum) -
                                              (logits.at(r, labels[r]) - most));
        EXPECT_NEAR(got_loss.at(r, 0), want, 4 * epsilon * (1 + want));
        for (int64_t c = 0; c < classes; ++c) {
          const auto softmax =
              static_cast<double>(std::exp(logits.at(r, c) - most) / sum);
          EXPECT_NEAR(got.at(r, c), softmax - (c == labels[r]), 4 * epsilon);
        }
      }
    }
  };
  check(float());
  check(double());
}

TEST_F(CudaTrainingTest, RowsAreScaled) {
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    HostMatrix<T> from(90, 7), factors(90, 1), to(90, 7);
    from.FillUnevenly(1), factors.FillUnevenly(2);
    const GpuMatrix<T> own(driver(), from), there(driver(), factors),
        other(driver(), to);
    Done(training->ScaleRows(kDTypeOf<T>, own.block(), there.data(),
                             other.data(), stream));
    const HostMatrix<T> got = other.Read();
    for (int64_t r = 0; r < 90; ++r) {
      for (int64_t c = 0; c < 7; ++c) {
        const T want = FromWide<T>(from.wide(r, c) * factors.wide(r, 0));
        EXPECT_EQ(got.wide(r, c), ToWide<T>(want));
      }
    }
  });
}

}  // namespace
}  // namespace cavs
