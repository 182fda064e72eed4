// Compares the kernels of groups with their operators on one element at a time:
// every operator and every pair, on every kind of number, of every type.
#include "cc/device/cuda/source/group.h"

#include <cmath>
#include <limits>
#include <vector>

#include "cc/ir/elementwise.h"
#include "tests/cc/device/cuda/gpu_matrix.h"

namespace cavs {
namespace {

using E = Elementwise;
using Instruction = ElementwiseGroup::Instruction;

// How an operand of a group lies in memory.
enum class Form { kFull, kRow, kColumn, kScalar, kIndexed };
constexpr Form kForms[] = {Form::kFull, Form::kRow, Form::kColumn,
                           Form::kScalar, Form::kIndexed};

// Numbers at which operators differ.
template <typename T>
std::vector<T> Numbers() {
  const double tiny = TinyOf<T>(), small = tiny / EpsilonOf<T>();
  const double large = std::is_same_v<T, Float16> ? 65504 : 1e38;
  std::vector<T> numbers;
  for (const double x :
       {0.0, tiny, 3 * tiny, small, 0.3, 0.5, 1.0, 1.5, 3.0, 20.0, 100.0, large,
        std::numeric_limits<double>::infinity()}) {
    for (const double sign : {1.0, -1.0}) {
      numbers.push_back(FromWide<T>(static_cast<Wide<T>>(sign * x)));
    }
  }
  numbers.push_back(FromWide<T>(std::nan("")));
  return numbers;
}

// A group whose first operands are read and whose other ones are written.
template <typename T>
class Trial {
 public:
  Trial(int64_t rows, int64_t columns, std::vector<Form> forms)
      : rows_(rows), columns_(columns), forms_(std::move(forms)) {
    for (size_t k = 0; k < forms_.size(); ++k) {
      const bool row = forms_[k] == Form::kRow || forms_[k] == Form::kScalar;
      const bool column =
          forms_[k] == Form::kColumn || forms_[k] == Form::kScalar;
      values_.emplace_back(row ? 1 : rows, column ? 1 : columns, 2 * k + 1);
    }
    // Each row of an index once, and the row of zeros.
    for (int64_t r = 0; r < rows; ++r) {
      index_.push_back(static_cast<int>((r * 7 + 3) % (rows + 1)) - 1);
    }
  }

  HostMatrix<T>& value(int k) { return values_[k]; }
  // What instruction reads of value k at an element.
  Wide<T> Read(int k, int64_t i, int64_t j) const {
    const HostMatrix<T>& value = values_[k];
    const Form form = forms_[k];
    if (form == Form::kIndexed) i = index_[i];
    if (form == Form::kRow || form == Form::kScalar) i = 0;
    if (form == Form::kColumn || form == Form::kScalar) j = 0;
    return value.wide(i, j);
  }

  int64_t indexed(int64_t i) const { return index_[i]; }

  // Runs the group and returns its outputs.
  std::vector<HostMatrix<T>> Run(const CudaKernels& kernels,
                                 const ElementwiseGroup& group,
                                 CudaStreamHandle stream,
                                 Form out_form = Form::kFull) {
    const CudaContext& context = kernels.context();
    const CudaDriver& driver = context.driver();
    const GpuMemory index(driver, index_);
    const CudaRowGrid grid = kernels.GridOverRows(rows_, columns_);
    CudaGroupArgs arguments;
    arguments.rows = rows_;
    arguments.columns = columns_;
    arguments.shift = grid.shift;
    arguments.block_rows = kCudaThreads >> grid.shift;
    std::vector<std::unique_ptr<GpuMatrix<T>>> own;
    const HostMatrix<T> out(rows_, columns_, 5);
    for (int k = 0; k < group.num_operands; ++k) {
      const bool read = k < static_cast<int>(values_.size());
      const HostMatrix<T>& host = read ? values_[k] : out;
      own.push_back(std::make_unique<GpuMatrix<T>>(driver, host));
      const Form form = read ? forms_[k] : out_form;
      arguments.operands[k] = {
          own[k]->data(),
          form == Form::kIndexed ? index.as<int32_t>() : nullptr, host.pitch,
          form == Form::kRow || form == Form::kScalar ? 0 : 1,
          form == Form::kColumn || form == Form::kScalar ? 0 : 1};
    }
    CudaFunction function;
    const Status found =
        context.Find({TextOfGroup(group, kDTypeOf<T>), 0}, &function);
    EXPECT_TRUE(found.ok()) << found.message();
    const Status run = context.Launch(function, grid.grid, stream, &arguments);
    EXPECT_TRUE(run.ok()) << run.message();
    const Status done =
        driver.Check(driver.StreamSynchronize(stream), "waiting");
    EXPECT_TRUE(done.ok()) << done.message();
    std::vector<HostMatrix<T>> outputs;
    for (int k = values_.size(); k < group.num_operands; ++k) {
      outputs.push_back(own[k]->Read());
    }
    return outputs;
  }

 private:
  const int64_t rows_, columns_;
  const std::vector<Form> forms_;
  std::vector<HostMatrix<T>> values_;
  std::vector<int32_t> index_;
};

std::vector<E> Operators(bool binary) {
  std::vector<E> operators;
  for (const ElementwiseOperator& row : kElementwiseOperators) {
    if (IsBinary(row.op) == binary) operators.push_back(row.op);
  }
  return operators;
}

// One instruction for each operator, with an output of its own.
ElementwiseGroup GroupOfAll(const std::vector<E>& operators, int inputs) {
  ElementwiseGroup group;
  group.num_operands = inputs;
  for (const E op : operators) {
    group.instructions.push_back({op, 0, static_cast<int16_t>(inputs - 1),
                                  static_cast<int16_t>(group.num_operands++)});
  }
  return group;
}

class CudaGroupTest : public GpuTest {};

TEST_F(CudaGroupTest, OperatorsOfOneOperandAreEvaluated) {
  const std::vector<E> operators = Operators(false);
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> numbers = Numbers<T>();
    Trial<T> trial(1, numbers.size(), {Form::kFull});
    for (size_t j = 0; j < numbers.size(); ++j) {
      trial.value(0).at(0, j) = numbers[j];
    }
    const auto outputs = trial.Run(*kernels, GroupOfAll(operators, 1), stream);
    for (size_t k = 0; k < operators.size(); ++k) {
      for (size_t j = 0; j < numbers.size(); ++j) {
        const Wide<T> x = ToWide<T>(numbers[j]);
        SCOPED_TRACE(testing::Message()
                     << RowOf(operators[k]).name << "(" << x << ") in "
                     << SizeOf(kDTypeOf<T>) << " bytes");
        ExpectClose<T>(outputs[k].at(0, j),
                       Evaluate<Wide<T>>(operators[k], x, x));
      }
    }
  });
}

// Calls fn(x, y, i, j): every number beside every other one.
template <typename T>
void FillWithPairs(Trial<T>* trial) {
  const std::vector<T> numbers = Numbers<T>();
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t j = 0; j < numbers.size(); ++j) {
      trial->value(0).at(i, j) = numbers[i];
      trial->value(1).at(i, j) = numbers[j];
    }
  }
}

TEST_F(CudaGroupTest, OperatorsOfTwoOperandsAreEvaluated) {
  const std::vector<E> operators = Operators(true);
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    const int64_t n = Numbers<T>().size();
    Trial<T> trial(n, n, {Form::kFull, Form::kFull});
    FillWithPairs(&trial);
    const auto outputs = trial.Run(*kernels, GroupOfAll(operators, 2), stream);
    for (size_t k = 0; k < operators.size(); ++k) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const Wide<T> x = trial.Read(0, i, j), y = trial.Read(1, i, j);
          SCOPED_TRACE(testing::Message()
                       << RowOf(operators[k]).name << "(" << x << ", " << y
                       << ") in " << SizeOf(kDTypeOf<T>) << " bytes");
          ExpectClose<T>(outputs[k].at(i, j),
                         Evaluate<Wide<T>>(operators[k], x, y));
        }
      }
    }
  });
}

TEST_F(CudaGroupTest, PairsAreTheirOperatorsOneAfterTheOther) {
  struct Pair {
    E op, then;
  };
  std::vector<Pair> pairs;
  ElementwiseGroup group;
  group.num_operands = 3;
  for (const ElementwiseOperator& first : kElementwiseOperators) {
    for (const ElementwiseOperator& second : kElementwiseOperators) {
      if (!CanPair(first.op, second.op)) continue;
      pairs.push_back({first.op, second.op});
      group.instructions.push_back({first.op, 0, 1,
                                    static_cast<int16_t>(group.num_operands++),
                                    second.op, 2});
    }
  }
  ASSERT_GE(pairs.size(), 14u);
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    const int64_t n = Numbers<T>().size();
    for (const double z : {0.25, -3.0, 0.0, std::nan("")}) {
      Trial<T> trial(n, n, {Form::kFull, Form::kFull, Form::kScalar});
      FillWithPairs(&trial);
      trial.value(2).at(0, 0) = FromWide<T>(static_cast<Wide<T>>(z));
      const auto outputs = trial.Run(*kernels, group, stream);
      for (size_t k = 0; k < pairs.size(); ++k) {
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            const Wide<T> x = trial.Read(0, i, j), y = trial.Read(1, i, j);
            const Wide<T> own = trial.Read(2, i, j);
            SCOPED_TRACE(testing::Message()
                         << RowOf(pairs[k].then).name << " of " << own
                         << " and " << RowOf(pairs[k].op).name << "(" << x
                         << ", " << y << ") in " << SizeOf(kDTypeOf<T>)
                         << " bytes");
            const Wide<T> inner = Evaluate<Wide<T>>(pairs[k].op, x, y);
            ExpectClose<T>(outputs[k].at(i, j),
                           IsBinary(pairs[k].then)
                               ? Evaluate<Wide<T>>(pairs[k].then, own, inner)
                               : Evaluate<Wide<T>>(pairs[k].then, inner, inner),
                           8);
          }
        }
      }
    }
  });
}

// Either operand is one row, one column, one number, or rows by an index.
TEST_F(CudaGroupTest, OperandsAreBroadcastOrReadByAnIndex) {
  struct Size {
    int64_t rows, columns;
  };
  const ElementwiseGroup group = GroupOfAll({E::kSub}, 2);
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    for (const Size& size :
         {Size{0, 5}, {1, 1}, {1, 300}, {2, 1}, {5, 3}, {300, 4}, {70, 65}}) {
      for (const Form x : kForms) {
        for (const Form y : kForms) {
          SCOPED_TRACE(testing::Message()
                       << size.rows << " x " << size.columns << ", forms "
                       << static_cast<int>(x) << static_cast<int>(y));
          Trial<T> trial(size.rows, size.columns, {x, y});
          trial.value(0).Fill(1);
          trial.value(1).Fill(2);
          const auto outputs = trial.Run(*kernels, group, stream);
          for (int64_t i = 0; i < size.rows; ++i) {
            for (int64_t j = 0; j < size.columns; ++j) {
              ExpectClose<T>(outputs[0].at(i, j),
                             trial.Read(0, i, j) - trial.Read(1, i, j));
            }
          }
          if (HasFailure()) return;
        }
      }
    }
  });
}

// Row -1 is not written, as GpuMatrix expects.
TEST_F(CudaGroupTest, ResultsAreWrittenByAnIndex) {
  const ElementwiseGroup group = GroupOfAll({E::kSub}, 2);
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    Trial<T> trial(70, 65, {Form::kFull, Form::kIndexed});
    trial.value(0).Fill(1);
    trial.value(1).Fill(2);
    const auto outputs = trial.Run(*kernels, group, stream, Form::kIndexed);
    for (int64_t i = 0; i < 70; ++i) {
      for (int64_t j = 0; trial.indexed(i) >= 0 && j < 65; ++j) {
        ExpectClose<T>(outputs[0].at(trial.indexed(i), j),
                       trial.Read(0, i, j) - trial.Read(1, i, j));
      }
    }
  });
}

// The results of instructions go on in wide numbers, and are rounded where they
// are stored.
TEST_F(CudaGroupTest, InstructionsReadWhatEarlierOnesComputed) {
  ElementwiseGroup group;
  group.num_operands = 4;  // Two that are read, two that are written.
  group.num_scratch = 2;
  group.instructions = {
      {E::kMul, 0, 1, 4},
      {E::kAdd, 4, 0, 2},
      {E::kSub, 2, 1, 5, E::kTanh},
      {E::kMul, 5, 4, 3, E::kAdd, 2},
  };
  ForGpuTypes([&](auto zero) {
    using T = decltype(zero);
    using W = Wide<T>;
    Trial<T> trial(9, 37, {Form::kFull, Form::kRow});
    trial.value(0).Fill(1);
    trial.value(1).Fill(2);
    const auto outputs = trial.Run(*kernels, group, stream);
    for (int64_t i = 0; i < 9; ++i) {
      for (int64_t j = 0; j < 37; ++j) {
        const W x = trial.Read(0, i, j), y = trial.Read(1, i, j);
        const W product = x * y, sum = product + x;
        ExpectClose<T>(outputs[0].at(i, j), sum);
        ExpectClose<T>(outputs[1].at(i, j), sum + std::tanh(sum - y) * product,
                       8);
      }
    }
  });
}

}  // namespace
}  // namespace cavs
