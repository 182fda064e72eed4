// Compares groups of elementwise operators with the same operators one by one.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "tests/cc/device/cpu/backend_test_util.h"

namespace cavs {
namespace {

using E = Elementwise;
using Instruction = ElementwiseGroup::Instruction;

// How an operand is broadcast.
enum class Form { kFull, kRow, kColumn, kScalar };

template <typename To, typename From>
Matrix<To> As(const Matrix<From>& from) {
  Matrix<To> to(from.rows(), from.cols());
  for (int64_t i = 0; i < from.rows(); ++i) {
    for (int64_t j = 0; j < from.cols(); ++j) to.at(i, j) = To(from.at(i, j));
  }
  return to;
}

// A group with its operands. It is run as a group, and one instruction at a
// time; narrow types are then computed in float32 and rounded at the end.
template <typename T>
class Trial {
 public:
  Trial(int64_t rows, int64_t cols, int64_t padding)
      : rows_(rows), cols_(cols), padding_(padding) {}

  ElementwiseGroup group;

  // Call it before AddScratch().
  int AddOperand(Form form = Form::kFull) {
    const bool row = form == Form::kRow || form == Form::kScalar;
    const bool column = form == Form::kColumn || form == Form::kScalar;
    const int i = group.num_operands++;
    values_.emplace_back(row ? 1 : rows_, column ? 1 : cols_,
                         padding_ * (i % 3), i % 2);
    values_.back().Fill(i + 1);
    forms_.push_back(form);
    return i;
  }
  int AddScratch() { return group.num_operands + group.num_scratch++; }
  void Add(E op, int x, int y, int out) {
    group.instructions.push_back({op, static_cast<int16_t>(x),
                                  static_cast<int16_t>(y),
                                  static_cast<int16_t>(out)});
  }

  void ExpectSameAsOneByOne(const CpuBackend& backend) const {
    std::vector<Matrix<T>> got = values_;
    using W = SumOf<T>;
    std::vector<Matrix<W>> want;
    for (const Matrix<T>& value : values_) want.push_back(As<W>(value));
    std::vector<GroupOperand> operands;
    for (size_t i = 0; i < got.size(); ++i) {
      const Block block = got[i].block();
      const bool row = forms_[i] == Form::kRow || forms_[i] == Form::kScalar;
      const bool column =
          forms_[i] == Form::kColumn || forms_[i] == Form::kScalar;
      operands.push_back({block.data, row ? 0 : block.pitch, column, nullptr});
    }
    backend.Group(DTypeOf<T>(), group, operands.data(), rows_, cols_);
    for (int i = 0; i < group.num_scratch; ++i) want.emplace_back(rows_, cols_);
    for (const Instruction& instruction : group.instructions) {
      const ConstBlock x = want[instruction.x].view(),
                       y = want[instruction.y].view();
      const Block out = want[instruction.out].block();
      if (IsBinary(instruction.op)) {
        backend.Binary(instruction.op, DTypeOf<W>(), x, y, out);
      } else {
        backend.Unary(instruction.op, DTypeOf<W>(), x, out);
      }
      if (instruction.then == E::kIdentity) continue;
      if (IsBinary(instruction.then)) {
        backend.Binary(instruction.then, DTypeOf<W>(),
                       want[instruction.z].view(), out, out);
      } else {
        backend.Unary(instruction.then, DTypeOf<W>(), out, out);
      }
    }
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(got[i].GuardsHold()) << "value " << i;
      EXPECT_TRUE(got[i].SameBits(As<T>(want[i])))
          << "value " << i << " of [" << rows_ << ", " << cols_ << "], padding "
          << padding_;
    }
  }

 private:
  const int64_t rows_, cols_, padding_;
  std::vector<Matrix<T>> values_;
  std::vector<Form> forms_;
};

// With these sizes, tiles end within rows, between rows, and at the end only.
struct Size {
  int64_t rows, cols;
};
constexpr Size kSizes[] = {{0, 5},   {5, 0},   {1, 1},    {3, 1},    {700, 1},
                           {2, 3},   {5, 17},  {33, 64},  {171, 3},  {1, 511},
                           {3, 512}, {2, 513}, {3, 1030}, {40, 200}, {9, 256}};

class GroupTest : public IsaTest {
 protected:
  GroupTest() : backend_(&workers_, GetParam()) {}

  SerialWorkers workers_;
  const CpuBackend backend_;
};
CAVS_INSTANTIATE_ISA_TEST(GroupTest);

// Calls fn(trial) for both types, all sizes and pitches.
template <typename Fn>
void ForTrials(const Fn& fn) {
  ForFloatTypes([&](auto zero) {
    for (const Size& size : kSizes) {
      for (int64_t padding : {0, 7}) {
        fn(Trial<decltype(zero)>(size.rows, size.cols, padding));
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST_P(GroupTest, OneStepIsTheOperatorItself) {
  for (E op : {E::kIdentity, E::kNeg, E::kSigmoid, E::kTanh, E::kExp, E::kAdd,
               E::kSub, E::kMul, E::kDiv, E::kTanhGrad, E::kReluGrad}) {
    ForTrials([&](auto trial) {
      const int x = trial.AddOperand(), y = trial.AddOperand();
      trial.Add(op, x, IsBinary(op) ? y : x, trial.AddOperand());
      trial.ExpectSameAsOneByOne(backend_);
    });
  }
}

TEST_P(GroupTest, EitherOperandMayBeARowAColumnOrOneElement) {
  for (Form form : {Form::kRow, Form::kColumn, Form::kScalar}) {
    for (Form other : {Form::kFull, Form::kRow}) {
      for (bool first : {false, true}) {
        ForTrials([&](auto trial) {
          const int x = trial.AddOperand(form), y = trial.AddOperand(other);
          const int out = trial.AddOperand();
          trial.Add(E::kSub, first ? x : y, first ? y : x, out);
          trial.ExpectSameAsOneByOne(backend_);
        });
      }
    }
  }
}

TEST_P(GroupTest, APairIsItsTwoOperators) {
  const E operators[] = {E::kAdd,     E::kMul,         E::kSub,
                         E::kSigmoid, E::kTanh,        E::kRelu,
                         E::kExp,     E::kSigmoidGrad, E::kTanhGrad};
  int pairs = 0;  // Fill() gives exact products: none is rounded.
  for (E op : operators) {
    for (E then : operators) {
      if (!CanPair(op, then)) continue;
      ++pairs;
      for (Form form : {Form::kFull, Form::kRow}) {
        ForTrials([&](auto trial) {
          const int x = trial.AddOperand(), y = trial.AddOperand(form);
          const int z = trial.AddOperand(form);
          trial.Add(op, x, y, trial.AddOperand());
          trial.group.instructions.back().then = then;
          trial.group.instructions.back().z = static_cast<int16_t>(z);
          trial.ExpectSameAsOneByOne(backend_);
        });
      }
    }
  }
  EXPECT_EQ(pairs, 14);
}

TEST_P(GroupTest, StepsReadWhatEarlierOnesWroteToScratchOrMemory) {
  ForTrials([&](auto trial) {
    const int x = trial.AddOperand(), bias = trial.AddOperand(Form::kRow);
    const int scale = trial.AddOperand(Form::kColumn);
    const int seen = trial.AddOperand(), out = trial.AddOperand();
    const int a = trial.AddScratch(), b = trial.AddScratch();
    trial.Add(E::kAdd, x, bias, a);
    trial.Add(E::kTanh, a, a, b);
    trial.Add(E::kMul, scale, b, a);  // b's scratch holds another value by now.
    trial.Add(E::kSigmoid, a, a, seen);
    trial.Add(E::kSub, seen, b, out);
    trial.ExpectSameAsOneByOne(backend_);
  });
}

TEST_P(GroupTest, AValueMayBeChangedInPlace) {
  ForTrials([&](auto trial) {
    const int sum = trial.AddOperand(), x = trial.AddOperand();
    const int a = trial.AddScratch();
    trial.Add(E::kNeg, x, x, a);
    trial.Add(E::kAdd, sum, x, sum);
    trial.Add(E::kMul, a, sum, a);
    trial.Add(E::kSub, a, a, a);
    trial.Add(E::kAdd, a, sum, sum);
    trial.ExpectSameAsOneByOne(backend_);
  });
}

// Random instructions, in groups of up to the largest size.
TEST_P(GroupTest, RandomGroupsOfManyStepsAreTheirStepsOneByOne) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](size_t n) { return static_cast<int>(random() % n); };
    ForFloatTypes([&](auto zero) {
      const Size size = kSizes[pick(std::size(kSizes))];
      Trial<decltype(zero)> trial(size.rows, size.cols, pick(2) * 3);
      const int num_scratch = pick(ElementwiseGroup::kMaxScratch + 1);
      const int most = ElementwiseGroup::kMaxValues - num_scratch;
      const int num_operands = seed % 3 ? 4 + pick(9) : most;
      std::vector<int> any, full, scratch;  // Operands that may be read.
      for (int i = 0; i < num_operands; ++i) {
        const Form form =
            i == 0 || pick(2) ? Form::kFull : static_cast<Form>(1 + pick(3));
        any.push_back(trial.AddOperand(form));
        if (form == Form::kFull) full.push_back(any.back());
      }
      for (int i = 0; i < num_scratch; ++i) {
        scratch.push_back(trial.AddScratch());
      }
      for (int i = 0; i < 60; ++i) {
        const int x = full[pick(full.size())], y = any[pick(any.size())];
        int out = full[pick(full.size())];
        if (!scratch.empty() && pick(3) == 0) {
          out = scratch.back();
          scratch.pop_back();
          any.push_back(out);
          full.push_back(out);
        }
        const E ops[] = {E::kTanh, E::kMinimum, E::kMul, E::kSub};
        const E op = ops[pick(4)];
        if (op == E::kTanh) {
          trial.Add(op, x, x, out);
        } else if (pick(2)) {
          trial.Add(op, y, x, out);
        } else {
          trial.Add(op, x, y, out);
        }
      }
      trial.ExpectSameAsOneByOne(backend_);
    });
    if (HasFailure()) return;
  }
}

// The indices are in any order, evenly spaced, all equal, or negative.
TEST_P(GroupTest, WhatIsReadMayHaveAnIndex) {
  ForFloatTypes([&](auto zero) {
    using T = decltype(zero);
    for (const Size& size : kSizes) {
      for (int stride : {0, 1, 2, 5}) {
        SCOPED_TRACE(testing::Message() << size.rows << " x " << size.cols
                                        << ", stride " << stride);
        const int64_t rows = size.rows, cols = size.cols;
        Matrix<T> x(5 * rows + 1, cols, 3), y(5 * rows + 1, 1, 2),
            z(rows, cols);
        using W = SumOf<T>;
        Matrix<W> x_copy(rows, cols), y_copy(rows, 1), want(rows, cols);
        x.Fill(1);
        y.Fill(2);
        std::vector<int32_t> index;
        for (int64_t i = 0; i < rows; ++i) {
          const int64_t at = stride == 5 ? i * 11 % (5 * rows) : i * stride;
          index.push_back(static_cast<int32_t>(at) - 1);
          for (int64_t j = 0; j < cols; ++j) x_copy.at(i, j) = x.at(at, j);
          y_copy.at(i, 0) = y.at(at, 0);
        }
        ElementwiseGroup group;
        group.num_operands = 3;
        group.num_scratch = 1;
        group.instructions.push_back({E::kMul, 0, 1, 3});
        group.instructions.push_back({E::kSub, 3, 0, 2});
        // Operands begin at row 1, so that index -1 means row 0.
        GroupOperand operands[] = {
            {&x.at(0, 0), x.block().pitch, false, index.data()},
            {&y.at(0, 0), y.block().pitch, cols > 1, index.data()},
            {z.block().data, z.block().pitch, false, nullptr}};
        for (GroupOperand* operand : {&operands[0], &operands[1]}) {
          operand->data = static_cast<T*>(operand->data) + operand->pitch;
        }
        backend_.Group(DTypeOf<T>(), group, operands, rows, cols);
        backend_.Binary(E::kMul, DTypeOf<W>(), x_copy.view(), y_copy.view(),
                        want.block());
        backend_.Binary(E::kSub, DTypeOf<W>(), want.view(), x_copy.view(),
                        want.block());
        EXPECT_TRUE(z.GuardsHold() && z.SameBits(As<T>(want)));
      }
    }
  });
}

TEST_P(GroupTest, AnyNumberOfWorkersComputesTheSame) {
  ForFloatTypes([&](auto zero) {
    for (int count : {2, 3, 7}) {
      ThreadedWorkers workers(count);
      const CpuBackend backend(&workers, GetParam());
      for (const Size& size : {Size{170, 301}, Size{5, 2000}, Size{9000, 1}}) {
        Trial<decltype(zero)> trial(size.rows, size.cols, 3);
        const int x = trial.AddOperand(), y = trial.AddOperand(Form::kColumn);
        const int out = trial.AddOperand(), a = trial.AddScratch();
        trial.Add(E::kTanh, x, x, a);
        trial.Add(E::kMul, a, y, a);
        trial.Add(E::kSub, a, x, out);
        trial.ExpectSameAsOneByOne(backend);
      }
    }
  });
}

}  // namespace
}  // namespace cavs
