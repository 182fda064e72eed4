// Compares every elementwise operator, broadcast and layout with the same
// operator on one element at a time.
#include "cc/ir/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/kernel_table.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

using E = Elementwise;

std::vector<E> Ops(bool binary) {
  std::vector<E> ops;
  for (const ElementwiseOperator& row : kElementwiseOperators) {
    if (IsBinary(row.op) == binary) ops.push_back(row.op);
  }
  return ops;
}

// Expects NaN where `want` is NaN, and else a number near it.
template <typename T>
void ExpectNear(T got, double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded)) {
    EXPECT_TRUE(std::isnan(got)) << got;
  } else if (std::isinf(rounded)) {
    EXPECT_EQ(got, rounded);
  } else {
    const double tolerance = 8 * std::numeric_limits<T>::epsilon();
    EXPECT_NEAR(got, want, tolerance * std::max(1.0, std::abs(want)));
  }
}

struct Layout {
  int64_t rows, cols, padding;
};

std::vector<Layout> Layouts() {
  std::vector<Layout> layouts = {{0, 5, 0}, {5, 0, 3}};
  for (int64_t rows : {1, 2, 3, 5}) {
    for (int64_t cols : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 130}) {
      layouts.push_back({rows, cols, 0});
      layouts.push_back({rows, cols, 5});
    }
  }
  return layouts;
}

class ElementwiseTest : public IsaTest {};
CAVS_INSTANTIATE_ISA_TEST(ElementwiseTest);

TEST_P(ElementwiseTest, UnaryOperatorsWorkOnEveryLayout) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  ForFloatTypes([&](auto zero) {
    using T = decltype(zero);
    for (E op : Ops(false)) {
      for (const Layout& l : Layouts()) {
        SCOPED_TRACE(testing::Message() << "op " << int(op) << ", [" << l.rows
                                        << ", " << l.cols << "]");
        Matrix<T> x(l.rows, l.cols, l.padding, 1);
        Matrix<T> out(l.rows, l.cols, 2 * l.padding);
        x.Fill(int(op));
        backend.Unary(op, DTypeOf<T>(), x.view(), out.block());
        EXPECT_TRUE(x.GuardsHold() && out.GuardsHold());
        for (int64_t i = 0; i < l.rows; ++i) {
          for (int64_t j = 0; j < l.cols; ++j) {
            ExpectNear<T>(out.at(i, j), Evaluate<double>(op, x.at(i, j), 0));
          }
        }
        Matrix<T> in_place = x;
        backend.Unary(op, DTypeOf<T>(), in_place.view(), in_place.block());
        EXPECT_TRUE(in_place.GuardsHold());
        for (int64_t i = 0; i < l.rows; ++i) {
          for (int64_t j = 0; j < l.cols; ++j) {
            ExpectNear<T>(in_place.at(i, j),
                          Evaluate<double>(op, x.at(i, j), 0));
          }
        }
        if (HasFailure()) return;
      }
    }
  });
}

template <typename T>
void ExpectBinary(const CpuBackend& backend, E op, const Layout& l, bool row_x,
                  bool column_x, bool row_y, bool column_y) {
  SCOPED_TRACE(testing::Message()
               << "op " << int(op) << ", [" << l.rows << ", " << l.cols
               << "], padding " << l.padding << ", broadcast " << row_x
               << column_x << row_y << column_y);
  Matrix<T> x(row_x ? 1 : l.rows, column_x ? 1 : l.cols, l.padding, 1);
  Matrix<T> y(row_y ? 1 : l.rows, column_y ? 1 : l.cols, 2 * l.padding, 2);
  Matrix<T> out(l.rows, l.cols, 3 * l.padding);
  x.Fill(10 + int(op));
  y.Fill(50 + int(op));
  backend.Binary(op, DTypeOf<T>(), x.view(), y.view(), out.block());
  EXPECT_TRUE(x.GuardsHold() && y.GuardsHold() && out.GuardsHold());
  for (int64_t i = 0; i < l.rows; ++i) {
    for (int64_t j = 0; j < l.cols; ++j) {
      ExpectNear<T>(out.at(i, j),
                    Evaluate<double>(op, x.at(row_x ? 0 : i, column_x ? 0 : j),
                                     y.at(row_y ? 0 : i, column_y ? 0 : j)));
    }
  }
  // The output may be an operand of the same size.
  if (x.rows() == l.rows && x.cols() == l.cols) {
    Matrix<T> in_place = x;
    backend.Binary(op, DTypeOf<T>(), in_place.view(), y.view(),
                   in_place.block());
    EXPECT_TRUE(in_place.GuardsHold() && in_place.SameBits(out));
  }
  if (y.rows() == l.rows && y.cols() == l.cols) {
    Matrix<T> in_place = y;
    backend.Binary(op, DTypeOf<T>(), x.view(), in_place.view(),
                   in_place.block());
    EXPECT_TRUE(in_place.GuardsHold() && in_place.SameBits(out));
  }
}

TEST_P(ElementwiseTest, BinaryOperatorsBroadcastEitherOperandAlongEitherSide) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  int combination = 0;
  ForFloatTypes([&](auto zero) {
    for (E op : Ops(true)) {
      for (const Layout& l : Layouts()) {
        for (int b = 0; b < 16; ++b) {
          if (++combination % kTriedOneIn != 0) continue;
          ExpectBinary<decltype(zero)>(backend, op, l, b & 1, b & 2, b & 4,
                                       b & 8);
          if (HasFailure()) return;
        }
      }
    }
  });
}

TEST_P(ElementwiseTest, NanIsNeverLost) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  ForFloatTypes([&](auto zero) {
    using T = decltype(zero);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    for (E op : Ops(false)) {
      T x = nan, out = T(0);
      backend.Unary(op, DTypeOf<T>(), {&x, 1, 1, 1}, {&out, 1, 1, 1});
      EXPECT_TRUE(std::isnan(out)) << int(op);
    }
    for (E op : Ops(true)) {
      for (bool first : {false, true}) {
        // NaN > 0 and NaN < 0 are false, so the gradients are 0 and dy.
        if ((op == E::kReluGrad || op == E::kEluGrad) && !first) continue;
        // No comparison holds but that NaN differs; a mask is never NaN.
        if (op == E::kGreater || op == E::kGreaterEqual || op == E::kEqual ||
            op == E::kNotEqual || (!first && op == E::kKeep) ||
            op == E::kDrop) {
          continue;
        }
        T x = first ? nan : T(1), y = first ? T(1) : nan, out = T(0);
        backend.Binary(op, DTypeOf<T>(), {&x, 1, 1, 1}, {&y, 1, 1, 1},
                       {&out, 1, 1, 1});
        EXPECT_TRUE(std::isnan(out)) << int(op) << first;
      }
    }
  });
}

TEST_P(ElementwiseTest, NegationTurnsTheSignOfZero) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, GetParam());
  ForFloatTypes([&](auto zero) {
    using T = decltype(zero);
    T x = T(0), out = T(1);
    backend.Unary(E::kNeg, DTypeOf<T>(), {&x, 1, 1, 1}, {&out, 1, 1, 1});
    EXPECT_TRUE(out == 0 && std::signbit(out));
  });
}

// Results of elementwise operators do not depend on how rows are divided.
TEST_P(ElementwiseTest, AnyNumberOfWorkersComputesTheSameBits) {
  ForFloatTypes([&](auto zero) {
    using T = decltype(zero);
    for (int64_t padding : {0, 3}) {
      Matrix<T> x(170, 301, padding), y(1, 301), serial(170, 301, padding);
      x.Fill(1);
      y.Fill(2);
      for (int count : {1, 2, 3, 7}) {
        ThreadedWorkers workers(count);
        const CpuBackend backend(&workers, GetParam());
        Matrix<T> out(170, 301, padding);
        backend.Binary(E::kSub, DTypeOf<T>(), x.view(), y.view(), out.block());
        backend.Unary(E::kTanh, DTypeOf<T>(), out.view(), out.block());
        EXPECT_TRUE(out.GuardsHold());
        if (count == 1) serial = out;
        EXPECT_TRUE(out.SameBits(serial)) << count;
      }
    }
  });
}

}  // namespace
}  // namespace cavs
