#include "cc/exec/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/device/cpu/cpu_device.h"
#include "cc/device/cpu/cpu_stream.h"
#include "cc/device/cpu/packed_weights.h"
#include "cc/ir/program.h"
#include "tests/cc/exec/drawn_op.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// A foreign operator that calls a function.
class LambdaOp : public ForeignOp {
 public:
  using Function = std::function<Status(void*, const std::vector<TensorRef>&,
                                        std::vector<TensorRef>*)>;
  explicit LambdaOp(Function run) : run_(std::move(run)) {}
  Status Run(void* host, const std::vector<TensorRef>& inputs,
             std::vector<TensorRef>* outputs) const override {
    return run_(host, inputs, outputs);
  }

 private:
  const Function run_;
};

// Runs programs on a chain of 2 vertices and one of 1: the tasks are {2, 0} and
// {1}.
class RunTest : public testing::Test {
 protected:
  RunTest()
      : stream_(&workers_),
        pool_(std::make_shared<StoragePool>(device_.memory(),
                                            /*guarded=*/true)) {
    schedule_.order = {2, 0, 1};
    schedule_.task_splits = {0, 2, 3};
    schedule_.task_type = {0, 0};
    schedule_.child_row = {-1, -1, 1};
    schedule_.arity = 1;
    context_.stream = &stream_;
    context_.pool = pool_.get();
    arguments_.inputs = {{input_.data(), 3, 1, 1}};
    arguments_.outputs = {{output_.data(), 3, 2, 2}};
  }

  // Runs `f`, as a derivative if results have destinations.
  Status RunOnce(Sketch* f, PassOptions options = {}) {
    f->program.is_derivative = !destinations_.empty();
    Model model;
    CAVS_RETURN_IF_ERROR(CompileModel({f->program}, options, &device_, &model));
    const RowPlan rows(schedule_.view(), 1);
    RunArguments arguments = arguments_;
    const TypeRows& own = rows.type(0);
    const Packing packing(model.programs[0], CpuBackend(&workers_));
    num_packed_ = std::count_if(
        packing.weights().begin(), packing.weights().end(),
        [&](const auto& w) { return Packing::ArePacked(w, own); });
    const IndexLists lists = {own.size(), own.vertex().data(),
                              own.state_row().data(), own.child_rows().data()};
    arguments.lists = {&lists, 1};
    arguments.input_rows = arguments.output_rows = {{own.vertex().data()}};
    const std::vector<std::vector<TensorRef>> captures = {captures_};
    arguments.captures = &captures;
    if (!destinations_.empty()) arguments.results = {destinations_};
    StepLimits limits;
    limits.zone = Guards::kZone;
    limits.saved_by_index.resize(1);
    const StepPlan plan = PlanStep(Direction::kForward, model, rows, limits);
    Guards guards;
    cavs::Run run(plan, model, rows, context_, arguments, &guards);
    CAVS_RETURN_IF_ERROR(run.Start(OutOfMemory));
    CAVS_RETURN_IF_ERROR(run.Compute());
    results_ = run.Results()[0];
    memory_ = run.kept();
    const double* state =
        reinterpret_cast<const double*>(static_cast<char*>(memory_.get()) +
                                        plan.state_offset + plan.zeros_bytes);
    state_.assign(state, state + own.size() * model.state_columns);
    return Status();
  }

  // Where the next result of the derivative is written.
  TensorRef Destination(std::vector<int64_t> shape, double* data) {
    TensorRef ref;
    ref.dtype = DType::kFloat64;
    ref.shape = std::move(shape);
    ref.data = data;
    return ref;
  }

  Schedule schedule_;
  SerialWorkers workers_;
  const CpuDevice device_;
  InlineStream stream_;
  std::shared_ptr<StoragePool> pool_;
  StepContext context_;
  RunArguments arguments_;
  std::vector<TensorRef> captures_;
  std::vector<void*> destinations_;
  std::vector<double> input_ = {10, 20, 30}, output_ = Numbers(6);
  std::vector<double> state_;  // As the run has left it.
  std::vector<Slot> results_;
  std::shared_ptr<void> memory_;
  size_t num_packed_ = 0;  // The number of packed weights.
};

TEST_F(RunTest, GathersPullsScattersAndPushesByVertex) {
  Sketch f;
  const int sum = f.Call(Elementwise::kAdd, f.Gather(0, 1), f.Pull(0, 1));
  f.Scatter(sum);
  f.Push(0, f.Concat({sum, sum}));
  ASSERT_TRUE(RunOnce(&f).ok());
  EXPECT_EQ(state_, (Numbers{30, 10, 30}));  // Rows are in execution order.
  EXPECT_EQ(output_, (Numbers{10, 10, 30, 30, 30, 30}));
}

TEST_F(RunTest, VertexIdsMayBeAViewOfAWiderTensor) {
  Sketch f(DType::kInt32);
  const int ids = f.Node(NodeKind::kVertexIds, {}, f.Rows(1));
  const int zeros = f.Zero(1);
  f.Push(0, f.Concat({ids, zeros}));
  std::vector<int32_t> pushed(6, 7);
  arguments_.outputs[0].data = pushed.data();
  ASSERT_TRUE(RunOnce(&f).ok());
  EXPECT_EQ(pushed, (std::vector<int32_t>{0, 0, 1, 0, 2, 0}));
}

TEST_F(RunTest, ForeignOperatorsSeeStridedRowsAndTheHost) {
  int host = 0;
  context_.host = &host;
  Sketch f;
  const int whole = f.Concat({f.Pull(0, 1), f.Zero(1)});
  const auto op = std::make_shared<LambdaOp>(
      [&](void* given, const std::vector<TensorRef>& in,
          std::vector<TensorRef>* out) {
        EXPECT_EQ(given, &host);
        EXPECT_EQ(in[0].shape, (std::vector<int64_t>{3, 1}));
        EXPECT_EQ(in[0].pitch, 2);
        EXPECT_EQ(static_cast<double*>(in[0].data)[2], 10);
        EXPECT_EQ((*out)[0].shape, (std::vector<int64_t>{3, 2}));
        for (int i = 0; i < 6; ++i) static_cast<double*>((*out)[0].data)[i] = i;
        return Status();
      });
  f.Push(0, f.Foreign(op, {f.View(whole, 0, 1), whole}, f.Rows(2)));
  ASSERT_TRUE(RunOnce(&f).ok());
  EXPECT_EQ(output_, (Numbers{2, 3, 4, 5, 0, 1}));
}

TEST_F(RunTest, RowCountsAreThoseOfTheRowsAtHand) {
  std::vector<std::vector<int64_t>> seen;
  const auto op =
      std::make_shared<LambdaOp>([&](void*, const std::vector<TensorRef>& in,
                                     std::vector<TensorRef>* out) {
        EXPECT_EQ(in[1].shape, (std::vector<int64_t>{2}));
        seen.push_back(in[1].numbers);
        std::fill_n(static_cast<double*>((*out)[0].data),
                    2 * (*out)[0].shape[0], 0.0);
        return Status();
      });
  for (bool eager : {true, false}) {
    Sketch f;
    const int count = f.Add(SymbolKind::kRowCount, {2});
    f.program.symbols[count].dtype = DType::kInt32;
    f.program.symbols[count].scale = {2, 0};
    f.program.symbols[count].bias = {1, 5};
    f.Push(0, f.Foreign(op, {f.Pull(0, 1), count}, f.Rows(2)));
    PassOptions options;
    options.eager = eager;
    ASSERT_TRUE(RunOnce(&f, options).ok());
  }
  EXPECT_EQ(seen, (std::vector<std::vector<int64_t>>{{7, 5}, {5, 5}, {3, 5}}));
}

TEST_F(RunTest, AnErrorOfAForeignOperatorEndsTheRun) {
  Sketch f;
  const auto op = std::make_shared<LambdaOp>(
      [](void*, const std::vector<TensorRef>&, std::vector<TensorRef>*) {
        return InvalidArgument("no");
      });
  f.Push(0, f.Foreign(op, {f.Pull(0, 1)}, f.Rows(2)));
  EXPECT_EQ(RunOnce(&f).message(), "no");
  EXPECT_EQ(output_, Numbers(6)) << "nothing was pushed";
}

TEST_F(RunTest, AnInvariantOfAnotherShapeThanTracedIsAnError) {
  Sketch f;
  const auto op = MakeOp([](const auto&) { return Numbers{1, 2}; });
  const int w = f.Foreign(op, {}, f.Invariant({3, 2}));
  f.Push(0, f.MatMul(f.Concat({f.Pull(0, 1), f.Zero(2)}), w));
  f.program.nodes.rbegin()[1].name = "project";
  f.program.nodes.rbegin()[1].op = "Drawn";
  const Status status = RunOnce(&f);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "vertex function: operator project (Drawn) got a weight of shape "
            "[2] but expected [3, 2], as when it was traced. What is computed "
            "from weights alone must keep its shape.");
}

TEST_F(RunTest, ForeignOperatorsTakeInvariantsOfAnyShape) {
  Sketch f;
  const auto two = MakeOp([](const auto&) { return Numbers{1, 2}; });
  const int w = f.Foreign(two, {}, f.Invariant({3}));
  f.Push(0, f.Foreign(MakeOp([](const std::vector<Numbers>& in) {
                        return Numbers{in[0][0], in[1][1]};
                      }),
                      {f.Pull(0, 1), w}, f.Rows(2)));
  ASSERT_TRUE(RunOnce(&f).ok());
  EXPECT_EQ(output_, (Numbers{10, 2, 20, 2, 30, 2}));
}

TEST_F(RunTest, SumsGrowTaskByTaskOrAreFormedAtOnce) {
  for (bool lazy : {true, false}) {
    Sketch f;
    const int x = f.Gather(0, 1), y = f.Pull(0, 1);
    const int z = f.Call(Elementwise::kAdd, x, y);
    f.Scatter(z);
    f.program.results = {f.SumRows(z), f.WeightGrad(z, z),
                         f.Foreign(CopyOp(), {z}, f.Sum({1}))};
    double sum = -1, product = -1, copy = -1;
    destinations_ = {&sum, &product, &copy};
    PassOptions options;
    options.lazy = lazy;
    ASSERT_TRUE(RunOnce(&f, options).ok());
    EXPECT_EQ(sum, 70);
    EXPECT_EQ(product, 900 + 100 + 900);
    EXPECT_EQ(copy, 70);
  }
}

TEST_F(RunTest, OneSumMayBeSeveralResults) {
  Sketch f;
  const int sum = f.SumRows(f.Pull(0, 1));
  const int reshaped = f.Sum({1, 1});
  f.program.symbols[reshaped].parent = sum;
  f.program.results = {sum, reshaped, sum};
  double results[3] = {-1, -1, -1};
  for (double& result : results) {
    destinations_.push_back(&result);
  }
  ASSERT_TRUE(RunOnce(&f).ok());
  for (double result : results) EXPECT_EQ(result, 60);
}

TEST_F(RunTest, AResultMayBeTheSameForEveryVertex) {
  Sketch f;
  const auto two = MakeOp([](const auto&) { return Numbers{1, 2}; });
  f.program.results = {f.Foreign(two, {}, f.Invariant({2}))};
  double result[2];
  destinations_ = {result};
  ASSERT_TRUE(RunOnce(&f).ok());
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(result[1], 2);
}

TEST_F(RunTest, AResultThatIsNoTensorIsAnError) {
  Sketch f;
  f.program.results = {f.Foreign(CopyOp(), {f.Pull(0, 1)}, f.Opaque())};
  double result = 7;
  destinations_ = {&result};
  const Status status = RunOnce(&f);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(),
            "gradient of a capture: got a value per task but expected a sum "
            "over rows");
}

TEST_F(RunTest, SumsOverNoRowsAreZero) {
  schedule_ = Schedule();
  schedule_.task_splits = {0};
  schedule_.arity = 1;
  Sketch f;
  const int x = f.Pull(0, 1);
  const int sum = f.SumRows(x);
  const int twice = f.Foreign(AddOp(), {sum, sum}, f.Sum({1}));
  f.program.results = {sum, twice, f.Foreign(CopyOp(), {x}, f.Sum({1}))};
  double results[3] = {-1, -1, -1};
  for (double& result : results) {
    destinations_.push_back(&result);
  }
  ASSERT_TRUE(RunOnce(&f).ok());
  for (double result : results) EXPECT_EQ(result, 0);
}

TEST_F(RunTest, SumsWithoutElementsKeepTheirShape) {
  Sketch f;
  const int none = f.SumRows(f.View(f.Pull(0, 1), 0, 0));
  std::vector<int64_t> seen;
  const auto op = std::make_shared<LambdaOp>(
      [&](void*, const std::vector<TensorRef>& in, std::vector<TensorRef>*) {
        seen = in[0].shape;
        EXPECT_EQ(in[0].dtype, DType::kFloat64);
        return Status();
      });
  f.Foreign(op, {none}, f.Sum({0}));
  ASSERT_TRUE(RunOnce(&f).ok());
  EXPECT_EQ(seen, (std::vector<int64_t>{0}));
}

TEST_F(RunTest, RowsWithoutElementsAreValid) {
  Sketch f;
  const int none = f.Zero(0);
  const int tanh = f.Call(Elementwise::kTanh, none);
  f.Foreign(CopyOp(), {f.Concat({tanh, f.Zero(0)})}, f.Rows(0));
  f.Push(0, f.Concat({f.Zero(2), none}));
  EXPECT_TRUE(RunOnce(&f).ok());
}

TEST_F(RunTest, SumsOfOtherTypesCannotGrowTaskByTask) {
  Sketch f(DType::kInt32);
  f.program.results = {
      f.Foreign(std::make_shared<LambdaOp>(
                    [](void*, const std::vector<TensorRef>&,
                       std::vector<TensorRef>*) { return Status(); }),
                {f.Zero(1)}, f.Sum({1}))};
  f.Name("sum");
  f.program.nodes.back().op = "Drawn";
  PassOptions options;
  options.eager = false;
  const Status status = RunOnce(&f, options);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "vertex function: operator sum (Drawn) sums rows of a type that "
            "cannot be added up task by task. Use float32.");
}

TEST_F(RunTest, ResultsOutliveTheRun) {
  Sketch f;
  const int x = f.Pull(0, 1);
  const int y = f.Call(Elementwise::kNeg, x);
  f.program.results = {y, x, f.Foreign(CopyOp(), {x}, f.Opaque())};
  ASSERT_TRUE(RunOnce(&f).ok());
  ASSERT_EQ(results_.size(), 3u);
  const Block rows = results_[0].rows.View(0, 3);
  EXPECT_EQ(static_cast<double*>(rows.data)[0], -30);
  EXPECT_EQ(static_cast<double*>(rows.data)[rows.pitch], -10);
  EXPECT_EQ(results_[2].per_task.size(), 2u) << "one opaque value per task";
  // The next run must take other memory.
  const double* const kept = static_cast<double*>(rows.data);
  const std::shared_ptr<void> owner = memory_;
  input_ = {1, 2, 3};
  ASSERT_TRUE(RunOnce(&f).ok());
  EXPECT_EQ(kept[0], -30);
}

TEST_F(RunTest, LargeMinibatchesPackAWeightOnceEachWayRound) {
  constexpr int32_t kRows = 40;
  schedule_ = Schedule();
  schedule_.arity = 1;
  schedule_.task_splits = {0, 20, kRows};
  schedule_.task_type = {0, 0};
  for (int32_t row = 0; row < kRows; ++row) {
    schedule_.order.push_back(row);
    schedule_.child_row.push_back(row < 20 ? -1 : row - 20);
  }
  Numbers input(kRows, 1), output(2 * kRows);
  arguments_.inputs = {{input.data(), kRows, 1, 1}};
  arguments_.outputs = {{output.data(), kRows, 2, 2}};
  Numbers weights = {2, 3};
  TensorRef capture = Destination({1, 2}, weights.data());
  captures_ = {capture};
  Sketch f;
  const int sum = f.Call(Elementwise::kAdd, f.Gather(0, 1), f.Pull(0, 1));
  const int w = f.Capture(0, {1, 2});
  const int wide = f.MatMul(sum, w);         // (2s, 3s)
  const int back = f.MatMul(wide, w, true);  // 13 s
  f.Scatter(back);
  f.Push(0, f.MatMul(sum, w));
  ASSERT_TRUE(RunOnce(&f).ok());
  EXPECT_EQ(state_[0], 13);
  EXPECT_EQ(state_[39], 13 * 14);
  EXPECT_EQ(output[2 * 39], 2 * 14);
  EXPECT_EQ(output[2 * 39 + 1], 3 * 14);
  EXPECT_EQ(num_packed_, 2);
}

}  // namespace
}  // namespace cavs
