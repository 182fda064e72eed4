// Conversions of vectors of 16-bit numbers, compared with those of single ones.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "cc/device/cpu/kernel_table.h"
#include "tests/cc/base/flush_subnormals.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

template <typename T>
const KernelTable<T>& TableOf(Isa isa) {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (isa == Isa::kAvx512Bf16) return kAvx512Bf16Kernels;
  }
  if (isa >= Isa::kAvx512) return *kAvx512Kernels.Of<T>();
  if (isa == Isa::kAvx2) return *kAvx2Kernels.Of<T>();
#endif
  return *kPortableKernels.Of<T>();
}

template <typename T>
std::vector<T> AllNumbers() {
  std::vector<T> all;
  for (int bits = 0; bits < 1 << 16; ++bits) {
    all.push_back({static_cast<uint16_t>(bits)});
  }
  return all;
}

// For any two neighbouring narrow numbers, floats that are rounded to either of
// them; and random floats.
template <typename T>
std::vector<float> ManyFloats() {
  std::vector<float> floats;
  for (T narrow : AllNumbers<T>()) {
    const uint32_t bits = BitCast<uint32_t>(ToWide(narrow));
    const uint32_t middle = 1u << (22 - T::kFractionBits);
    for (uint32_t step : {0u, 1u, middle - 1, middle, middle + 1}) {
      floats.push_back(BitCast<float>(bits + step));
    }
  }
  if constexpr (!T::kIsUpperHalf) {  // Halfway between two subnormal numbers.
    const float smallest = ToWide(T{1});
    for (int i = 0; i < 1 << (T::kFractionBits + 1); ++i) {
      for (float nudge : {0x1p-20f, 0.0f, -0x1p-20f}) {
        floats.push_back((i * 0.5f + nudge) * smallest);
      }
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 300'000; ++i) {
    floats.push_back(BitCast<float>(static_cast<uint32_t>(random())));
  }
  return floats;
}

class NarrowTest : public IsaTest {
 protected:
  template <typename T>
  void ExpectSameAsOneByOne() const {
    const KernelTable<T>& table = TableOf<T>(GetParam());
    const std::vector<T> all = AllNumbers<T>();
    std::vector<float> wide(all.size());
    table.widen(all.data(), all.size(), wide.data());
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(BitCast<uint32_t>(wide[i]), BitCast<uint32_t>(ToWide(all[i])))
          << all[i].bits;
    }
    const std::vector<float> floats = ManyFloats<T>();
    std::vector<T> narrow(floats.size());
    table.narrow(floats.data(), floats.size(), narrow.data());
    for (size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(narrow[i].bits, FromWide<T>(floats[i]).bits) << floats[i];
    }
  }

  // Conversions must not write behind the last element, which is in the middle
  // of a vector.
  template <typename T>
  void ExpectGuardsHold() const {
    const KernelTable<T>& table = TableOf<T>(GetParam());
    for (int64_t n = 0; n < 40; ++n) {
      Matrix<TestNarrow<T>> narrow(1, n), back(1, n);
      Matrix<float> wide(1, n);
      narrow.Fill(1);
      const auto data = [](auto* matrix) {
        return static_cast<T*>(matrix->block().data);
      };
      float* const floats = static_cast<float*>(wide.block().data);
      table.widen(data(&narrow), n, floats);
      table.narrow(floats, n, data(&back));
      EXPECT_TRUE(wide.GuardsHold() && back.GuardsHold()) << n;
      EXPECT_TRUE(back.SameBits(narrow)) << n;
    }
  }

  template <typename T>
  void ExpectScalarsAreTheSame() const {
    const KernelTable<T>& table = TableOf<T>(GetParam());
    constexpr int kAdd = static_cast<int>(Elementwise::kAdd);
    for (const T& x : AllNumbers<T>()) {
      const T zeros[2] = {{0x8000}, {0x8000}};
      T got[2];
      table.elementwise[kAdd][kScalarVector]({&x, 0}, {zeros, 0}, {got, 0}, 1,
                                             2);
      const T want = FromWide<T>(ToWide(x) + ToWide(zeros[0]));
      ASSERT_EQ(got[0].bits, want.bits) << x.bits;
      ASSERT_EQ(got[1].bits, want.bits) << x.bits;
    }
  }
};
CAVS_INSTANTIATE_ISA_TEST(NarrowTest);

TEST_P(NarrowTest, EveryNumberAndManyFloatsAreConvertedAsOneByOne) {
  ForNarrowTypes([&](auto zero) {
    this->template ExpectSameAsOneByOne<Plain<decltype(zero)>>();
  });
}

TEST_P(NarrowTest, SubnormalNumbersAreKeptWhereFloat32HasNone) {
  const FlushSubnormals flush;
  this->ExpectSameAsOneByOne<Float16>();
}

TEST_P(NarrowTest, ConvertsNoMoreThanItIsAskedFor) {
  ForNarrowTypes([&](auto zero) {
    this->template ExpectGuardsHold<Plain<decltype(zero)>>();
  });
}

TEST_P(NarrowTest, OneNumberForAllIsConvertedToo) {
  ForNarrowTypes([&](auto zero) {
    this->template ExpectScalarsAreTheSame<Plain<decltype(zero)>>();
  });
}

}  // namespace
}  // namespace cavs
