// The products of bfloat16 as they are on processors that multiply pairs at
// once, with the same in steps in place of that one instruction.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "cc/device/cpu/compiler.h"
#include "cc/device/cpu/kernel_table.h"
#include "tests/cc/device/cpu/backend_test_util.h"

#define CAVS_ISA pairs_test
#define CAVS_DOT_PAIRS DotPairsInSteps
#include "cc/device/cpu/simd_portable.h"
// Defines the vectors before it includes the kernels, which are written in
// terms of them.
#include "cc/device/cpu/kernel_set.h"

namespace cavs {
namespace {

constexpr KernelTable<BFloat16> kKernels =
    pairs_test::Table<BFloat16>::kKernels;
static_assert(pairs_test::kDotsPairsAtOnce);

using Bits = Matrix<TestNarrow<BFloat16>>;

const BFloat16* Data(const Bits& matrix) {
  return static_cast<const BFloat16*>(matrix.view().data);
}

Product<BFloat16> MakeProduct(const Bits& a, const Bits& b, Block c, int64_t k,
                              bool accumulate) {
  Product<BFloat16> p = {};
  p.a = Data(a);
  p.a_pitch = a.view().pitch;
  p.b = Data(b);
  p.b_pitch = b.view().pitch;
  p.c = static_cast<BFloat16*>(c.data);
  p.c_pitch = c.pitch;
  p.m = c.rows;
  p.k = k;
  p.n = c.cols;
  p.accumulate = accumulate;
  return p;
}

// With what Fill() gives, sums are exact in float32 in any order.
template <typename C, typename Left, typename Right>
void ExpectProduct(const Matrix<C>& got, const Matrix<C>& before, int64_t k,
                   const Left& left, const Right& right) {
  ASSERT_TRUE(got.GuardsHold());
  for (int64_t i = 0; i < got.rows(); ++i) {
    for (int64_t j = 0; j < got.cols(); ++j) {
      double sum = before.at(i, j);
      for (int64_t l = 0; l < k; ++l) sum += left(i, l) * right(l, j);
      ASSERT_EQ(got.at(i, j), C(sum)) << "c[" << i << "][" << j << "]";
    }
  }
}

struct Shape {
  int64_t m, k, n;
};
constexpr Shape kShapes[] = {{1, 1, 1},     {3, 2, 5},    {0, 3, 4},
                             {4, 0, 3},     {7, 5, 9},    {70, 33, 17},
                             {2, 1500, 11}, {20, 64, 40}, {66, 1025, 8}};

TEST(PairsTest, ProductsWithOrWithoutPackingAreExact) {
  for (const Shape& s : kShapes) {
    for (bool transpose : {false, true}) {
      for (bool packed : {false, true}) {
        SCOPED_TRACE(testing::Message() << s.m << ", " << s.k << ", " << s.n
                                        << transpose << packed);
        Bits a(s.m, s.k, 3, 1), c(s.m, s.n, 2);
        Bits b(transpose ? s.n : s.k, transpose ? s.k : s.n, 5, 1);
        a.Fill(1), b.Fill(2), c.Fill(3);
        const Bits before = c;
        Product<BFloat16> p = MakeProduct(a, b, c.block(), s.k, true);
        p.transpose_b = transpose;
        const int64_t depth =
            (s.k + kKernels.packed_terms - 1) / kKernels.packed_terms;
        std::vector<float> memory((s.n + kKernels.lanes) * depth);
        if (packed) {
          kKernels.pack(p.b, p.b_pitch, transpose, s.k, s.n, {0, s.n},
                        memory.data());
          p.b = reinterpret_cast<const BFloat16*>(memory.data());
          kKernels.multiply_packed(p, {0, s.m}, {0, s.n});
        } else {
          kKernels.multiply(p, {0, s.m}, {0, s.n});
        }
        ExpectProduct(
            c, before, s.k, [&](int64_t i, int64_t l) { return a.at(i, l); },
            [&](int64_t l, int64_t j) {
              return transpose ? b.at(j, l) : b.at(l, j);
            });
      }
    }
  }
}

TEST(PairsTest, RowsMayBeReadByAnIndex) {
  const int64_t m = 30, k = 77, n = 13;
  Bits a(m + 1, k, 3), b(k, n), c(m, n);
  a.Fill(1), b.Fill(2);
  const Bits before = c;
  std::vector<int32_t> index;
  for (int i = 0; i < m; ++i) index.push_back(i * 7 % (m + 1) - 1);
  Product<BFloat16> p = MakeProduct(a, b, c.block(), k, false);
  p.a += p.a_pitch;
  p.a_index = index.data();
  kKernels.multiply(p, {0, m}, {0, n});
  ExpectProduct(
      c, before, k, [&](int64_t i, int64_t l) { return a.at(index[i] + 1, l); },
      [&](int64_t l, int64_t j) { return b.at(l, j); });
}

TEST(PairsTest, GradientsOfWeightsAreExactInFloat32) {
  for (const Shape& s : kShapes) {
    for (bool indexed : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << s.m << ", " << s.k << ", " << s.n << indexed);
      Bits a(s.k, s.m, 3, 1), b(s.k, s.n, 1);
      Matrix<float> c(s.m, s.n, 2);
      a.Fill(1), b.Fill(2), c.Fill(3);
      const Matrix<float> before = c;
      std::vector<int32_t> index;
      for (int64_t i = 0; i < s.k; ++i) {
        index.push_back(static_cast<int32_t>(indexed ? i * 5 % s.k : i));
      }
      Product<BFloat16> p = MakeProduct(a, b, c.block(), s.k, true);
      if (indexed) p.a_index = p.b_index = index.data();
      kKernels.multiply_transposed(p, {0, s.m}, {0, s.n});
      ExpectProduct(
          c, before, s.k,
          [&](int64_t i, int64_t l) { return a.at(index[l], i); },
          [&](int64_t l, int64_t j) { return b.at(index[l], j); });
    }
  }
}

}  // namespace
}  // namespace cavs
