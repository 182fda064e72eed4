// The time of a task: a Tree-LSTM over a chain, one row at a time, so small
// that its kernels compute little. There is one worker.
//
//   executor_bench --benchmark_filter=units:16
//
// The counter is the time per task: all operators, gather, scatter, and its
// fraction of what is done once per step. Results are first compared with the
// oracle's.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "cc/device/cpu/cpu_device.h"
#include "cc/device/cpu/cpu_stream.h"
#include "cc/exec/executor.h"
#include "tests/cc/exec/drawn_op.h"
#include "tests/cc/exec/oracle.h"
#include "tests/cc/exec/tree_lstm.h"

namespace cavs {
namespace {

constexpr int32_t kTasks = 1000;

Schedule ScheduleOfChain() {
  std::vector<int32_t> child_splits = {0}, child_ids;
  for (int32_t v = 0; v < kTasks; ++v) {
    if (v > 0) child_ids.push_back(v - 1);
    child_splits.push_back(v);
  }
  const std::vector<int32_t> graph_splits = {0, kTasks};
  Schedule schedule;
  const Status status =
      MakeSchedule({child_splits, child_ids, graph_splits, {}},
                   /*arity=*/2, /*num_types=*/1, ScheduleOptions(), &schedule);
  return status.ok() ? schedule : Schedule();
}

// A Tree-LSTM over a chain, with everything that its steps take and return.
class Step {
 public:
  explicit Step(int64_t units)
      : units_(units), schedule_(ScheduleOfChain()), random_(1) {
    TreeLstm lstm(DType::kFloat32, units, units, AddOp());
    drawn_ = {lstm.Forward()};
    drawn_backward_ = {lstm.Backward()};
    TreeLstm::SaveWeights(&drawn_[0]);
    is_right_ = Compile(drawn_, false, &forward_) &&
                Compile(drawn_backward_, true, &backward_);
    context_.stream = &stream_;
    context_.pool = pool_.get();
    FillArguments();
    is_right_ = is_right_ && GivesWhatTheOracleDoes();
  }

  bool is_right() const { return is_right_; }
  // Inference if `tape` is null.
  bool Forward(Tape* tape) const {
    return RunForward(forward_, arguments_, context_, tape).ok();
  }
  bool Backward(const Tape& tape) const {
    return RunBackward(backward_, tape, gradients_, context_).ok();
  }

 private:
  bool Compile(Oracle::Programs drawn, bool is_derivative, Model* model) const {
    drawn[0].is_derivative = is_derivative;
    return CompileModel(std::move(drawn), PassOptions(), &device_, model).ok();
  }

  void FillArguments() {
    const RowMap all = AllVertices(schedule_.view());
    arguments_.schedule = schedule_.view();
    pull_ = Random(kTasks * units_);
    arguments_.pulls = {Rows(pull_)};
    arguments_.pull_rows = {all};
    arguments_.push_rows = all;
    arguments_.captures.emplace_back();
    for (int i = 0; i < 3 * TreeLstm::kGates; ++i) {
      const std::vector<int64_t> shape =
          i % 3 == 2 ? std::vector<int64_t>{units_}
                     : std::vector<int64_t>{units_, units_};
      captures_.push_back(Random(i % 3 == 2 ? units_ : units_ * units_));
      arguments_.captures[0].push_back(Dense(captures_.back(), shape));
    }
    push_grad_ = Random(kTasks * units_);
    gradients_.push_grads = {Rows(push_grad_)};
    gradients_.pulls = {0};
    const size_t first = memory_.size();
    sizes_.push_row = sizes_.pull_grad_row = {units_ * sizeof(float)};
    arguments_.sizes = gradients_.sizes = &sizes_;
    arguments_.pushes = {Rows(Numbers(kTasks * units_))};
    gradients_.pull_grads = {Rows(Numbers(kTasks * units_))};
    gradients_.capture_grads.emplace_back();
    for (int id : drawn_backward_[0].results) {
      const Symbol& sum = drawn_backward_[0].symbols[id];
      gradients_.capture_grads[0].push_back(
          Dense(Numbers(sum.columns()), sum.shape));
    }
    for (size_t i = first; i < memory_.size(); ++i) results_.push_back(i);
  }

  Numbers Random(int64_t size) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    Numbers numbers(size);
    for (double& x : numbers) x = uniform(random_);
    return numbers;
  }
  Block Rows(const Numbers& numbers) {
    memory_.emplace_back(numbers.begin(), numbers.end());
    const int64_t rows = static_cast<int64_t>(numbers.size()) / units_;
    return {memory_.back().data(), rows, units_, units_};
  }
  TensorRef Dense(const Numbers& numbers, std::vector<int64_t> shape) {
    memory_.emplace_back(numbers.begin(), numbers.end());
    TensorRef ref;
    ref.dtype = DType::kFloat32;
    ref.shape = std::move(shape);
    ref.data = memory_.back().data();
    return ref;
  }

  bool GivesWhatTheOracleDoes() const {
    Graph chain;
    for (int v = 0; v < kTasks; ++v) chain.children.push_back({v - 1});
    const Oracle forward(drawn_, chain, 2 * units_, {pull_}, {units_},
                         {captures_}, nullptr);
    const Oracle backward(drawn_backward_, chain, 2 * units_, {push_grad_},
                          {units_}, {captures_}, &forward);
    Tape tape;
    if (!Forward(nullptr) || !AreNear(0, forward.outputs[0])) return false;
    std::fill_n(static_cast<float*>(arguments_.pushes[0].data), kTasks * units_,
                0);
    if (!Forward(&tape) || !AreNear(0, forward.outputs[0])) return false;
    if (!Backward(tape) || !AreNear(1, backward.outputs[0])) return false;
    for (size_t i = 2; i < results_.size(); ++i) {
      if (!AreNear(i, backward.Result(0, i - 2))) return false;
    }
    return true;
  }
  bool AreNear(size_t result, const Numbers& want) const {
    const std::vector<float>& got = memory_[results_[result]];
    double scale = 1;
    for (double x : want) scale = std::max(scale, std::abs(x));
    return std::equal(got.begin(), got.end(), want.begin(), want.end(),
                      [scale](double x, double y) {
                        return std::abs(x - y) <= 1e-3 * scale;
                      });
  }

  const int64_t units_;
  const Schedule schedule_;
  std::mt19937 random_;
  Oracle::Programs drawn_, drawn_backward_;
  const CpuDevice device_;
  Model forward_, backward_;
  Numbers pull_, push_grad_;
  std::vector<Numbers> captures_;
  std::vector<std::vector<float>> memory_;
  std::vector<size_t> results_;  // Offsets in memory_, in the oracle's order.
  const std::shared_ptr<StoragePool> pool_ =
      std::make_shared<StoragePool>(device_.memory());
  SerialWorkers workers_;
  InlineStream stream_{&workers_};
  StepContext context_;
  ResultSizes sizes_;
  ForwardArguments arguments_;
  BackwardArguments gradients_;
  bool is_right_ = false;
};

// The time of one call of `pass`, which runs over the chain.
template <typename Pass>
void Measure(benchmark::State& state, const Step& step, const Pass& pass) {
  if (!step.is_right()) {
    state.SkipWithError("the results are wrong");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(pass());
  state.counters["tasks"] = kTasks;
  state.counters["per_task"] =
      benchmark::Counter(kTasks, benchmark::Counter::kIsIterationInvariantRate |
                                     benchmark::Counter::kInvert);
}

void BM_Inference(benchmark::State& state) {
  const Step step(state.range(0));
  Measure(state, step, [&] { return step.Forward(nullptr); });
}
BENCHMARK(BM_Inference)->ArgName("units")->Arg(16)->Arg(64);

void BM_Forward(benchmark::State& state) {
  const Step step(state.range(0));
  Measure(state, step, [&] {
    Tape tape;
    return step.Forward(&tape);
  });
}
BENCHMARK(BM_Forward)->ArgName("units")->Arg(16)->Arg(64);

void BM_Backward(benchmark::State& state) {
  const Step step(state.range(0));
  Tape tape;
  const bool is_there = step.Forward(&tape);
  Measure(state, step, [&] { return is_there && step.Backward(tape); });
}
BENCHMARK(BM_Backward)->ArgName("units")->Arg(16)->Arg(64);

}  // namespace
}  // namespace cavs
