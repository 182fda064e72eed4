// Compares the products of the CPU backend with plain sums in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

enum class Kind {
  kPacked,
  kPackedTransposed,
  kPlain,
  kTransposeB,
  kTransposeA
};
constexpr Kind kKinds[] = {Kind::kPacked, Kind::kPackedTransposed, Kind::kPlain,
                           Kind::kTransposeB, Kind::kTransposeA};

bool TransposesA(Kind kind) { return kind == Kind::kTransposeA; }
bool TransposesB(Kind kind) {
  return kind == Kind::kPackedTransposed || kind == Kind::kTransposeB;
}

// Memory for a packed weight, with the alignment that kernels ask for.
class Packed {
 public:
  explicit Packed(size_t bytes)
      : data_(bytes + 64 + kGuard, 0x5a), size_(bytes) {
    begin_ = 64 - reinterpret_cast<uintptr_t>(data_.data()) % 64;
  }
  void* data() { return data_.data() + begin_; }
  bool GuardHolds() const {
    return std::all_of(data_.begin() + begin_ + size_, data_.end(),
                       [](uint8_t byte) { return byte == 0x5a; });
  }

 private:
  static constexpr size_t kGuard = 256;
  std::vector<uint8_t> data_;
  size_t size_, begin_;
};

template <typename T, typename C>
void Multiply(const CpuBackend& backend, Kind kind, const Matrix<T>& a,
              const Matrix<T>& b, Matrix<C>& c, int64_t k, bool accumulate) {
  const DType dtype = DTypeOf<T>();
  switch (kind) {
    case Kind::kPacked:
    case Kind::kPackedTransposed: {
      Packed packed(backend.PackedBytes(dtype, k, c.cols()));
      backend.Pack(dtype, b.view(), TransposesB(kind), c.cols(), 0,
                   packed.data());
      EXPECT_TRUE(packed.GuardHolds());
      return backend.MatMulPacked(dtype, a.view(), packed.data(), c.block(),
                                  accumulate);
    }
    case Kind::kPlain:
    case Kind::kTransposeB:
      return backend.MatMul(dtype, a.view(), b.view(), TransposesB(kind),
                            c.block(), accumulate);
    case Kind::kTransposeA:
      return backend.MatMulTransposeA(dtype, a.view(), b.view(), c.block(),
                                      accumulate);
  }
}

struct Shape {
  int64_t m, k, n;
  int64_t padding = 0;
};

// The operands of a product of type T whose result has type C.
template <typename T, typename C = T>
struct Operands {
  Operands(Kind kind, const Shape& s)
      : a(TransposesA(kind) ? s.k : s.m, TransposesA(kind) ? s.m : s.k,
          s.padding, s.padding % 3),
        b(TransposesB(kind) ? s.n : s.k, TransposesB(kind) ? s.k : s.n,
          2 * s.padding, s.padding % 2),
        c(s.m, s.n, s.padding, s.padding % 5) {
    a.Fill(1);
    b.Fill(2);
    c.Fill(3);
  }
  Matrix<T> a, b;
  Matrix<C> c;
};

// Calls fn with a C, the element type of the result of a product of this kind.
template <typename T, typename Fn>
void WithOutcome(Kind kind, const Fn& fn) {
  if (TransposesA(kind)) return fn(SumOf<T>());
  fn(T());
}

// [rows, columns] of a matrix, or of its transpose, as doubles without padding.
template <typename T>
std::vector<double> RowsOf(const Matrix<T>& matrix, int64_t rows,
                           int64_t columns, bool transpose) {
  std::vector<double> values;
  values.reserve(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      values.push_back(transpose ? matrix.at(j, i) : matrix.at(i, j));
    }
  }
  return values;
}

// Most of the time of these tests is spent here, so it runs without sanitizers.
[[gnu::no_sanitize("address", "undefined")]] double Dot(const double* a,
                                                        const double* b,
                                                        int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

// False for NaN. An assertion for every number would take longer.
bool IsNear(double got, double want) {
  return std::abs(got - want) <= 1e-6 * (1 + std::abs(want));
}

// All inputs are multiples of 1/64 below 2 in size, so sums of fewer than 2^10
// terms are exact in float32 in any order, and narrow types are exact if they
// are rounded once.
template <typename T, typename C>
void ExpectProductOf(const CpuBackend& backend, Kind kind, const Shape& s,
                     bool accumulate) {
  SCOPED_TRACE(testing::Message()
               << "kind " << static_cast<int>(kind) << ": [" << s.m << ", "
               << s.k << "] x [" << s.k << ", " << s.n << "], padding "
               << s.padding << (accumulate ? ", accumulated" : ""));
  Operands<T, C> x(kind, s);
  const Matrix<C> before = x.c;
  Multiply(backend, kind, x.a, x.b, x.c, s.k, accumulate);
  EXPECT_TRUE(x.a.GuardsHold() && x.b.GuardsHold());
  ASSERT_TRUE(x.c.GuardsHold());
  const std::vector<double> left = RowsOf(x.a, s.m, s.k, TransposesA(kind));
  const std::vector<double> right = RowsOf(x.b, s.n, s.k, !TransposesB(kind));
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      const double product =
          Dot(left.data() + i * s.k, right.data() + j * s.k, s.k);
      const C rounded = C(product + (accumulate ? double(before.at(i, j)) : 0));
      if (IsNear(x.c.at(i, j), rounded)) continue;
      FAIL() << "c[" << i << "][" << j << "]: got " << x.c.at(i, j)
             << " but expected " << rounded;
    }
  }
}

template <typename T>
void ExpectProduct(const CpuBackend& backend, Kind kind, const Shape& s,
                   bool accumulate) {
  WithOutcome<T>(kind, [&](auto zero) {
    ExpectProductOf<T, decltype(zero)>(backend, kind, s, accumulate);
  });
}

class GemmTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(GemmTest);

// Their sums are rounded, so that another order of terms gives other bits.
template <typename T>
void FillWithRoundedNumbers(Matrix<T>* a) {
  for (int64_t i = 0; i < a->rows(); ++i) {
    for (int64_t j = 0; j < a->cols(); ++j) {
      a->at(i, j) = std::sin(T(1 + i + 3 * j));
    }
  }
}

TEST_P(GemmTest, EveryKindEqualsTheNaiveProductForEverySmallShape) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  const int64_t sides[] = {0, 1, 2, 3, 5, 7, 12, 13, 16, 17};
  const int64_t widths[] = {0,  1,  3,  4,  5,  8,  15, 16,
                            17, 31, 33, 48, 63, 64, 65};
  ForFloatTypes([&](auto zero) {
    for (Kind kind : kKinds) {
      for (int64_t m : sides) {
        for (int64_t k : {0, 1, 2, 3, 17}) {
          for (int64_t n : widths) {
            const bool accumulate = (m + k + n) % 2;
            ExpectProduct<decltype(zero)>(backend, kind, {m, k, n, (m + n) % 7},
                                          accumulate);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

TEST_P(GemmTest, EveryKindEqualsTheNaiveProductForLargeShapes) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  const Shape shapes[] = {{130, 65, 130, 3}, {64, 64, 64},     {300, 5, 5, 11},
                          {2, 700, 150, 1},  {7, 300, 200, 0}, {70, 513, 66, 2},
                          {1, 1023, 129, 5}, {13, 260, 40, 24}};
  ForFloatTypes([&](auto zero) {
    for (Kind kind : kKinds) {
      for (const Shape& shape : shapes) {
        for (bool accumulate : {false, true}) {
          ExpectProduct<decltype(zero)>(backend, kind, shape, accumulate);
        }
      }
    }
  });
}

// Reads rows in any order, some of them twice, and the row before the first.
template <typename T, typename C>
void ExpectIndexedSameAsCopied(const CpuBackend& backend, Kind kind,
                               const Shape& s) {
  SCOPED_TRACE(testing::Message()
               << "kind " << static_cast<int>(kind) << ": [" << s.m << ", "
               << s.k << "] x [" << s.k << ", " << s.n << "]");
  const Operands<T, C> x(kind, s);
  const DType dtype = DTypeOf<T>();
  std::vector<int32_t> a_index, b_index;
  for (int64_t i = 0; i < x.a.rows(); ++i) {
    a_index.push_back(static_cast<int32_t>(i * 7 % x.a.rows()) - 1);
    b_index.push_back(static_cast<int32_t>(i * 5 % x.a.rows()) - 1);
  }
  const auto indexed = [](const Matrix<T>& from, const Matrix<T>& matrix,
                          const std::vector<int32_t>& index) {
    ConstBlock block = from.view();
    block.data = static_cast<const T*>(block.data) + block.pitch;
    block.rows = matrix.rows();
    block.index = index.data();
    return block;
  };
  const auto copied = [&](const Matrix<T>& from,
                          const std::vector<int32_t>& index) {
    Matrix<T> copy = from;
    for (int64_t i = 0; i < from.rows(); ++i) {
      for (int64_t j = 0; j < from.cols(); ++j) {
        copy.at(i, j) = from.at(index[i] + 1, j);
      }
    }
    return copy;
  };
  const Matrix<T> a = copied(x.a, a_index);
  const ConstBlock a_rows = indexed(x.a, a, a_index);
  Matrix<C> want = x.c, got = x.c;
  if (TransposesA(kind)) {
    const Matrix<T> b = copied(x.b, b_index);
    Multiply(backend, kind, a, b, want, s.k, true);
    backend.MatMulTransposeA(dtype, a_rows, indexed(x.b, b, b_index),
                             got.block(), true);
  } else if (kind == Kind::kPlain || kind == Kind::kTransposeB) {
    Multiply(backend, kind, a, x.b, want, s.k, true);
    backend.MatMul(dtype, a_rows, x.b.view(), TransposesB(kind), got.block(),
                   true);
  } else {
    Multiply(backend, kind, a, x.b, want, s.k, true);
    Packed packed(backend.PackedBytes(dtype, s.k, s.n));
    backend.Pack(dtype, x.b.view(), TransposesB(kind), s.n, 0, packed.data());
    backend.MatMulPacked(dtype, a_rows, packed.data(), got.block(), true);
  }
  ASSERT_TRUE(got.GuardsHold());
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      if (IsNear(got.at(i, j), want.at(i, j))) continue;
      FAIL() << "c[" << i << "][" << j << "]: got " << got.at(i, j)
             << " but expected " << want.at(i, j);
    }
  }
}

TEST_P(GemmTest, RowsMayBeReadByAnIndex) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  const Shape shapes[] = {
      {1, 1, 1},        {5, 3, 17, 2},     {130, 65, 130, 3},
      {70, 513, 66, 2}, {40, 1024, 33, 1}, {300, 64, 192},
      {0, 5, 3},        {5, 0, 3},         {700, 20, 70}};
  ForFloatTypes([&](auto zero) {
    for (Kind kind : kKinds) {
      for (const Shape& shape : shapes) {
        using T = decltype(zero);
        WithOutcome<T>(kind, [&](auto sum) {
          ExpectIndexedSameAsCopied<T, decltype(sum)>(backend, kind, shape);
        });
      }
    }
  });
}

// The sums are longer than a slice of a panel, and there are more rows than in
// one group of rows.
TEST_P(GemmTest, LongSumsAreAddedSliceBySlice) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  ForFloatTypes([&](auto zero) {
    for (Kind kind : kKinds) {
      for (bool accumulate : {false, true}) {
        ExpectProduct<decltype(zero)>(backend, kind, {3, 2500, 70, 1},
                                      accumulate);
        ExpectProduct<decltype(zero)>(backend, kind, {150, 1100, 18, 0},
                                      accumulate);
      }
    }
  });
}

// An element of a weight, or of its transpose.
template <typename T>
double Weight(const Matrix<T>& w, bool transpose, int64_t row, int64_t column) {
  return transpose ? w.at(column, row) : w.at(row, column);
}

// Packs weights of several widths, all but the last multiples of the column
// grain.
TEST_P(GemmTest, WeightsPackedSideBySideGiveTheirProductsSideBySide) {
  for (int count : {1, 3}) {
    ThreadedWorkers workers(count);
    const CpuBackend backend(&workers, GetParam());
    ForFloatTypes([&](auto zero) {
      using T = decltype(zero);
      const DType dtype = DTypeOf<T>();
      const int64_t grain = backend.ColumnGrain(dtype);
      for (bool transpose : {false, true}) {
        for (int64_t k : {1, 5, 300}) {
          for (int64_t last : {int64_t{1}, grain - 1, grain, 3 * grain + 2}) {
            const std::vector<int64_t> widths = {grain, 5 * grain, 2 * grain,
                                                 last};
            const int64_t n = 8 * grain + last, m = 13;
            Matrix<T> a(m, k, 3), c(m, n, 5);
            a.Fill(1);
            Packed packed(backend.PackedBytes(dtype, k, n));
            std::vector<Matrix<T>> weights;
            int64_t column = 0;
            for (int64_t width : widths) {
              weights.emplace_back(transpose ? width : k, transpose ? k : width,
                                   2);
              weights.back().Fill(static_cast<uint32_t>(10 + column));
              backend.Pack(dtype, weights.back().view(), transpose, n, column,
                           packed.data());
              column += width;
            }
            EXPECT_TRUE(packed.GuardHolds());
            backend.MatMulPacked(dtype, a.view(), packed.data(), c.block(),
                                 false);
            EXPECT_TRUE(c.GuardsHold());
            column = 0;
            for (size_t i = 0; i < widths.size(); ++i) {
              for (int64_t j = 0; j < widths[i]; ++j, ++column) {
                for (int64_t row = 0; row < m; ++row) {
                  double sum = 0;
                  for (int64_t l = 0; l < k; ++l) {
                    sum += a.at(row, l) * Weight(weights[i], transpose, l, j);
                  }
                  const T rounded = T(sum);
                  ASSERT_NEAR(c.at(row, column), rounded,
                              1e-6 * (1 + std::abs(rounded)))
                      << "weight " << i << ", k " << k << ", last " << last;
                }
              }
            }
          }
        }
      }
    });
  }
}

TEST_P(GemmTest, ARangeOfColumnsIsWrittenAndNoOther) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  ForFloatTypes([&](auto zero) {
    using T = decltype(zero);
    const DType dtype = DTypeOf<T>();
    const int64_t grain = backend.ColumnGrain(dtype);
    for (int64_t n : {grain, 6 * grain, 6 * grain + 3}) {
      for (int64_t m : {0, 1, 5, 40}) {
        for (bool accumulate : {false, true}) {
          Operands<T> x(Kind::kPacked, {m, 37, n, 2});
          Packed packed(backend.PackedBytes(dtype, 37, n));
          backend.Pack(dtype, x.b.view(), false, n, 0, packed.data());
          Matrix<T> whole = x.c;
          backend.MatMulPacked(dtype, x.a.view(), packed.data(), whole.block(),
                               accumulate);
          for (int64_t begin = 0; begin < n; begin += grain) {
            for (int64_t end = begin + 1; end <= n;
                 end += std::max<int64_t>(1, grain - 1)) {
              Matrix<T> range = x.c;
              backend.MatMulPackedColumns(dtype, x.a.view(), packed.data(),
                                          range.block(), begin, end,
                                          accumulate);
              ASSERT_TRUE(range.GuardsHold());
              for (int64_t i = 0; i < m; ++i) {
                for (int64_t j = 0; j < n; ++j) {
                  const bool inside = j >= begin && j < end;
                  ASSERT_EQ(range.at(i, j), (inside ? whole : x.c).at(i, j))
                      << "[" << m << ", " << n << "], columns " << begin
                      << " to " << end << ", column " << j;
                }
              }
            }
          }
        }
      }
    }
  });
}

// Half of the columns is whole panels in every instruction set. The last panel
// of the first half fetches the next one ahead only where the whole product is
// computed.
TEST_P(GemmTest, HalvesOfTheColumnsHaveTheBitsOfTheWholeProduct) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  ForFloatTypes([&](auto zero) {
    using T = decltype(zero);
    const DType dtype = DTypeOf<T>();
    const int64_t n = 24 * backend.ColumnGrain(dtype), half = n / 2;
    for (int64_t m = 1; m <= 12; ++m) {
      Operands<T> x(Kind::kPacked, {m, 37, n, 0});
      FillWithRoundedNumbers(&x.a);
      Packed packed(backend.PackedBytes(dtype, 37, n));
      backend.Pack(dtype, x.b.view(), false, n, 0, packed.data());
      Matrix<T> whole = x.c, halves = x.c;
      backend.MatMulPacked(dtype, x.a.view(), packed.data(), whole.block(),
                           false);
      for (int64_t begin : {int64_t{0}, half}) {
        backend.MatMulPackedColumns(dtype, x.a.view(), packed.data(),
                                    halves.block(), begin, begin + half, false);
      }
      EXPECT_TRUE(halves.SameBits(whole)) << m << " rows";
    }
  });
}

TEST_P(GemmTest, AnyNumberOfWorkersComputesTheProductAndRepeatsItsBits) {
  const Shape shapes[] = {
      {1, 512, 2048}, {200, 128, 64}, {33, 256, 200, 7}, {500, 300, 5}};
  ForFloatTypes([&](auto zero) {
    using T = decltype(zero);
    for (Kind kind : kKinds) {
      for (const Shape& shape : shapes) {
        WithOutcome<T>(kind, [&](auto sum) {
          using C = decltype(sum);
          SerialWorkers one_worker;
          const CpuBackend serial(&one_worker, GetParam());
          ExpectProduct<T>(serial, kind, shape, true);
          // Sums of these numbers are exact, so they have the same bits in any
          // order.
          const Operands<T, C> exact(kind, shape);
          Matrix<C> product = exact.c;
          Multiply(serial, kind, exact.a, exact.b, product, shape.k, true);
          Operands<T, C> x = exact;
          FillWithRoundedNumbers(&x.a);
          // Either two of the counts, with each kind and each shape.
          const bool even = (static_cast<int>(kind) + shape.m) % 2 == 0;
          for (int count : {even ? 1 : 2, even ? 3 : 7}) {
            SCOPED_TRACE(count);
            ThreadedWorkers workers(count);
            const CpuBackend backend(&workers, GetParam());
            Matrix<C> shared = exact.c, once = x.c, again = x.c;
            Multiply(backend, kind, exact.a, exact.b, shared, shape.k, true);
            EXPECT_TRUE(shared.SameBits(product) && shared.GuardsHold());
            Multiply(backend, kind, x.a, x.b, once, shape.k, true);
            Multiply(backend, kind, x.a, x.b, again, shape.k, true);
            EXPECT_TRUE(once.SameBits(again));
          }
        });
      }
    }
  });
}

}  // namespace
}  // namespace cavs
