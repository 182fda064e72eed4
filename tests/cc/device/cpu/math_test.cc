// The accuracy of exp, log, tanh, sigmoid, softplus, elu and erf over the
// whole range of their element type.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/ir/elementwise.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

constexpr Elementwise kOps[] = {Elementwise::kExp,      Elementwise::kLog,
                                Elementwise::kSigmoid,  Elementwise::kTanh,
                                Elementwise::kSoftplus, Elementwise::kElu,
                                Elementwise::kErf};

// The relative error that math_kernels.h promises not to exceed.
template <typename T>
constexpr double kBound = std::is_same_v<T, float> ? 5e-7 : 2e-15;

template <typename T>
std::vector<T> Apply(Isa isa, Elementwise op, std::vector<T> x) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, isa);
  const int64_t n = x.size();
  std::vector<T> y(n);
  backend.Unary(op, DTypeOf<T>(), {x.data(), 1, n, n}, {y.data(), 1, n, n});
  return y;
}

// A subnormal result may differ by one unit in its last place, which is a large
// fraction of it.
template <typename T>
void ExpectWithinBound(const std::vector<T>& x,
                       const std::vector<long double>& expected,
                       const std::vector<T>& y) {
  double worst = 0;
  T where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = expected[i];
    const T rounded = static_cast<T>(exact);
    if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0) {
      const bool same =
          std::isnan(rounded) ? std::isnan(y[i]) : y[i] == rounded;
      // Next to the x from which on the result overflows, infinity and the
      // largest numbers are both right.
      const bool beside =
          std::abs(y[i]) > std::numeric_limits<T>::max() * (1 - kBound<T>) ||
          std::abs(y[i]) <= std::numeric_limits<T>::denorm_min();
      ASSERT_TRUE(same || beside) << "f(" << x[i] << ") = " << y[i];
      continue;
    }
    const double error = std::abs(static_cast<double>(y[i] - exact));
    if (error <= std::numeric_limits<T>::denorm_min()) continue;
    const double relative = error / std::abs(static_cast<double>(exact));
    if (!(relative <= worst)) {
      worst = relative;
      where = x[i];
    }
  }
  EXPECT_LE(worst, kBound<T>) << "at " << where;
}

// Checks every function on every instruction set. Exact values are computed
// once, because that takes most of the time.
template <typename T>
void ExpectAllWithinBound(const std::vector<T>& x) {
  for (Elementwise op : kOps) {
    std::vector<long double> expected;
    for (const T value : x) {
      expected.push_back(Evaluate<long double>(op, value, 0));
    }
    for (Isa isa : SupportedIsas()) {
      SCOPED_TRACE(StrCat(IsaName(isa), ", function ", static_cast<int>(op)));
      ExpectWithinBound(x, expected, Apply(isa, op, x));
    }
  }
}

// Of the numbers, one in kStride is tried. The accuracy is tested on the code
// as it is shipped; for faults that sanitizers find, any 16 consecutive numbers
// do.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kStride = 16;
#else
constexpr int kStride = 1;
#endif

// Tries every 4099th of all floats: of any sign and exponent, infinite and NaN.
TEST(MathRangeTest, Float32IsWithinItsBoundOnAllOfItsRange) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099 * kStride) {
    const uint32_t word = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &word, sizeof(value));
    x.push_back(value);
  }
  ExpectAllWithinBound(x);
}

TEST(MathRangeTest, Float64IsWithinItsBoundOnAllOfItsRange) {
  std::vector<double> x;
  for (uint64_t i = 0; i < 1'000'000; i += kStride) {
    const uint64_t word = i * (UINT64_MAX / 1'000'000);
    double value;
    std::memcpy(&value, &word, sizeof(value));
    x.push_back(value);
  }
  ExpectAllWithinBound(x);
}

// Tries x where the functions bend: small steps through [-110, 110], and around
// 1.
TEST(MathRangeTest, EveryTypeIsWithinItsBoundWhereTheFunctionsBend) {
  ForWideTypes([&](auto zero) {
    using T = decltype(zero);
    std::vector<T> x;
    for (int i = -440000; i <= 440000; i += kStride) {
      x.push_back(T(i) / 4000);
      x.push_back(1 + T(i) / 44000000);
      x.push_back(T(i) / T(4.4e6));
      if (sizeof(T) == sizeof(double)) x.push_back(T(i) / 580);
    }
    ExpectAllWithinBound(x);
  });
}

class MathTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(MathTest);

TEST_P(MathTest, SpecialValuesAreAsInTheStandardLibrary) {
  ForWideTypes([&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    const T inf = Limits::infinity(), nan = Limits::quiet_NaN();
    const std::vector<T> x = {T(0),          T(-0.0),
                              inf,           -inf,
                              nan,           -nan,
                              T(1),          T(-1),
                              Limits::min(), Limits::denorm_min(),
                              Limits::max(), Limits::lowest()};
    const auto same = [](T got, T want) {
      return std::isnan(want)
                 ? std::isnan(got)
                 : got == want && std::signbit(got) == std::signbit(want);
    };
    const auto exp = Apply(GetParam(), Elementwise::kExp, x);
    const auto log = Apply(GetParam(), Elementwise::kLog, x);
    const auto sigmoid = Apply(GetParam(), Elementwise::kSigmoid, x);
    const auto tanh = Apply(GetParam(), Elementwise::kTanh, x);
    const auto softplus = Apply(GetParam(), Elementwise::kSoftplus, x);
    const auto elu = Apply(GetParam(), Elementwise::kElu, x);
    for (size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "x = " << x[i]);
      if (std::abs(x[i]) != 1) {
        EXPECT_TRUE(same(exp[i], std::exp(x[i]))) << exp[i];
        EXPECT_TRUE(same(sigmoid[i], 1 / (1 + std::exp(-x[i])))) << sigmoid[i];
        EXPECT_TRUE(same(tanh[i], std::tanh(x[i]))) << tanh[i];
        const T exact = x[i] < 0 ? std::expm1(x[i]) : x[i];
        EXPECT_TRUE(same(elu[i], exact)) << elu[i];
        if (std::abs(x[i]) > 1) {  // The result for x = 0 is rounded.
          EXPECT_TRUE(same(softplus[i], x[i] > 0 ? x[i] : T(0))) << softplus[i];
        } else if (std::isnan(x[i])) {
          EXPECT_TRUE(std::isnan(softplus[i])) << softplus[i];
        }
      }
      if (!(x[i] > 0) || x[i] == 1 || std::isinf(x[i])) {
        EXPECT_TRUE(same(log[i], std::log(x[i]))) << log[i];
      }
    }
  });
}

TEST_P(MathTest, ActivationsSaturateExactly) {
  ForWideTypes([&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = {T(50), T(1e5), T(-50), T(-1e5)};
    const auto sigmoid = Apply(GetParam(), Elementwise::kSigmoid, x);
    const auto tanh = Apply(GetParam(), Elementwise::kTanh, x);
    const auto softplus = Apply(GetParam(), Elementwise::kSoftplus, x);
    EXPECT_EQ(softplus[0], 50);
    EXPECT_EQ(softplus[1], T(1e5));
    EXPECT_EQ(softplus[3], 0);
    EXPECT_EQ(sigmoid[0], 1);
    EXPECT_EQ(sigmoid[1], 1);
    EXPECT_EQ(sigmoid[3], 0);
    EXPECT_EQ(tanh[0], 1);
    EXPECT_EQ(tanh[1], 1);
    EXPECT_EQ(tanh[2], -1);
    EXPECT_EQ(tanh[3], -1);
  });
}

}  // namespace
}  // namespace cavs
