// Conversions of 16-bit numbers, compared with what their bits mean.
#include "cc/base/narrow_float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/cc/base/flush_subnormals.h"

namespace cavs {
namespace {

template <typename T>
class NarrowFloatTest : public testing::Test {
 protected:
  static constexpr int kExponents = 1 << T::kExponentBits;
  static constexpr int kFractions = 1 << T::kFractionBits;
  static constexpr int kInfinity = (kExponents - 1) * kFractions;

  // The value of the bits of a number that is finite and not negative. The bits
  // of infinity count as the next power of two.
  static double Meaning(int bits) {
    const int exponent = bits / kFractions, fraction = bits % kFractions;
    const double ulp = std::ldexp(
        1, std::max(exponent, 1) - kExponents / 2 + 1 - T::kFractionBits);
    return ulp * (exponent > 0 ? kFractions + fraction : fraction);
  }

  NarrowFloatTest() {
    for (int bits = 0; bits <= kInfinity; ++bits) {
      meanings_.push_back(Meaning(bits));
    }
  }

  // The bits of the number nearest to x; of two equally near ones, the even
  // bits.
  int Nearest(double x) const {
    const int above = static_cast<int>(
        std::lower_bound(meanings_.begin(), meanings_.end(), x) -
        meanings_.begin());
    if (above == 0 || above > kInfinity) return std::min(above, kInfinity);
    const double up = meanings_[above] - x, down = x - meanings_[above - 1];
    return up < down || (up == down && above % 2 == 0) ? above : above - 1;
  }

  // Checks how x and -x are rounded.
  void ExpectRounded(float x) const {
    const float magnitude = std::abs(x);
    const int nearest = Nearest(magnitude);
    ASSERT_EQ(FromWide<T>(magnitude).bits, nearest) << magnitude;
    ASSERT_EQ(FromWide<T>(-magnitude).bits, nearest | 0x8000) << magnitude;
  }

  void ExpectAllRounded() const {
    constexpr float kMost = std::numeric_limits<float>::infinity();
    for (int bits = 0; bits < kInfinity; ++bits) {
      const float low = static_cast<float>(Meaning(bits));
      const float middle =
          static_cast<float>((Meaning(bits) + Meaning(bits + 1)) / 2);
      for (float x : {low, middle}) {
        ExpectRounded(std::nextafter(x, 0.0f));
        ExpectRounded(x);
        ExpectRounded(std::nextafter(x, kMost));
      }
      if (this->HasFatalFailure()) return;
    }
    ExpectRounded(kMost);
    std::mt19937 random(1);
    for (int i = 0; i < 1'000'000; ++i) {
      const float x = BitCast<float>(static_cast<uint32_t>(random()));
      if (!std::isnan(x)) ExpectRounded(x);
      if (this->HasFatalFailure()) return;
    }
  }

  void ExpectAllWidened() const {
    for (int bits = 0; bits < kInfinity; ++bits) {
      const double meaning = meanings_[bits];
      for (int sign : {0, 0x8000}) {
        const float wide = ToWide(T{static_cast<uint16_t>(bits | sign)});
        // Doubles, because arithmetic on subnormal floats may be flushed to
        // zero.
        const double want = sign == 0 ? meaning : -meaning;
        ASSERT_EQ(BitCast<uint32_t>(wide),
                  BitCast<uint32_t>(static_cast<float>(want)))
            << bits;
      }
    }
  }

  std::vector<double> meanings_;
};

using Types = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(NarrowFloatTest, Types);

TYPED_TEST(NarrowFloatTest, AllNumbersAreWidenedExactly) {
  this->ExpectAllWidened();
}

TYPED_TEST(NarrowFloatTest, FloatsAreRoundedToTheNearestEven) {
  this->ExpectAllRounded();
}

TYPED_TEST(NarrowFloatTest, InfinityAndNanAreKept) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto wide = [](int bits) {
    return ToWide(TypeParam{static_cast<uint16_t>(bits)});
  };
  EXPECT_EQ(wide(this->kInfinity), infinity);
  EXPECT_EQ(wide(this->kInfinity | 0x8000), -infinity);
  for (int sign : {0, 0x8000}) {
    for (int bits = this->kInfinity + 1; bits < 0x8000; ++bits) {
      ASSERT_TRUE(std::isnan(wide(bits | sign))) << bits;
      const int back = FromWide<TypeParam>(wide(bits | sign)).bits;
      // Signalling NaNs become quiet.
      ASSERT_EQ(back, bits | sign | this->kFractions / 2);
    }
  }
  // A NaN whose upper bits are those of infinity.
  const float nan = BitCast<float>(0x7f800001u);
  EXPECT_EQ(FromWide<TypeParam>(nan).bits,
            this->kInfinity | this->kFractions / 2);
}

// bfloat16 has the exponents of float32, so its subnormal numbers are those of
// float32.
TEST(Float16Test, SubnormalNumbersAreKeptWhereFloat32HasNone) {
  const FlushSubnormals flush;
  for (int bits = 1; bits < 0x400; ++bits) {
    const Float16 x = {static_cast<uint16_t>(bits)};
    ASSERT_EQ(ToWide(x), bits * 0x1p-24f);
    ASSERT_EQ(FromWide<Float16>(bits * 0x1p-24f).bits, bits);
    ASSERT_EQ(FromWide<Float16>(-bits * 0x1p-24f).bits, bits | 0x8000);
  }
}

}  // namespace
}  // namespace cavs
