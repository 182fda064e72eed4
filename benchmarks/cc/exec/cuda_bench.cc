// Training steps of a Tree-LSTM on a GPU: both directions, without a framework.
//
//   cuda_bench trees.txt --units=256 --batch=64 --steps=200
//
// --length=64 times an LSTM over sequences of 64 vertices instead, which all
// have an input.
// The file has, for each tree, its number of vertices and then two children for
// each of them, -1 for none; children come first. Leaves have an input. One row
// of JSON a run: what a step takes, with all work of the GPU waited for at the
// end only, and what the host alone takes. Before the clock starts, outputs and
// gradients are compared with those of the CPU. --eager=0, --lazy=0, --fuse=0
// and --merge=0 turn a pass off; --streams=2 runs eager and lazy operators
// beside the others; --walk=0 launches every task; --tf32=1 lets large products
// be those of TF32; --dtype=bfloat16, or float16 or float64, computes with such
// numbers; --cublaslt=1 has cuBLASLt form what it can; --device=cpu
// --workers=N times the CPU instead; --check=0 compares nothing, for an
// emulated driver that computes nothing: what is left is the host's part.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/device/cpu/cpu_device.h"
#include "cc/device/cpu/cpu_stream.h"
#include "cc/device/cpu/team.h"
#include "cc/device/cuda/cuda_device.h"
#include "cc/device/cuda/cuda_stream.h"
#include "cc/engine/engine.h"
#include "cc/exec/executor.h"
#include "tests/cc/exec/drawn_op.h"
#include "tests/cc/exec/tree_lstm.h"

namespace cavs {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void Require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

class Flags {
 public:
  Flags(int count, char** arguments) {
    for (int i = 2; i < count; ++i) {
      const std::string own = arguments[i];
      const size_t equals = own.find('=');
      values_[own.substr(2, equals - 2)] = own.substr(equals + 1);
    }
  }
  int64_t Number(const std::string& name, int64_t otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise
                                  : std::atoll(found->second.c_str());
  }
  std::string Text(const std::string& name,
                   const std::string& otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }

 private:
  std::map<std::string, std::string> values_;
};

// A minibatch of trees.
struct Trees {
  std::vector<int32_t> child_splits = {0}, child_ids, graph_splits = {0};
  std::vector<int32_t> leaves;  // Those that have an input.
  int64_t parents = 0;          // Vertices that have children.
  int arity = 2;

  static Trees Sequences(int64_t count, int64_t length) {
    Trees trees;
    trees.arity = 1;
    std::vector<std::pair<int, int>> sequence;
    for (int v = 0; v < length; ++v) sequence.emplace_back(v - 1, -1);
    for (int64_t i = 0; i < count; ++i) trees.Append(sequence);
    return trees;
  }

  static Trees Read(const std::string& path, int64_t count) {
    Trees trees;
    std::ifstream file(path);
    std::vector<std::vector<std::pair<int, int>>> all;
    int size;
    while (file >> size) {
      all.emplace_back(size);
      for (auto& [left, right] : all.back()) file >> left >> right;
    }
    for (int64_t i = 0; i < count && !all.empty(); ++i) {
      trees.Append(all[i % all.size()]);
    }
    return trees;
  }

 private:
  void Append(const std::vector<std::pair<int, int>>& tree) {
    const int32_t before = graph_splits.back();
    for (const auto& [left, right] : tree) {
      const auto v = static_cast<int32_t>(child_splits.size()) - 1;
      if (left < 0 || arity == 1) leaves.push_back(v);
      parents += left >= 0;
      for (const int child : {left, right}) {
        if (child >= 0) child_ids.push_back(before + child);
      }
      child_splits.push_back(static_cast<int32_t>(child_ids.size()));
    }
    graph_splits.push_back(before + static_cast<int32_t>(tree.size()));
  }
};

// A device, its streams, and how the host reaches its memory.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual const Device& device() const = 0;
  virtual Stream* critical() = 0;
  virtual Stream* other() = 0;
  virtual void Write(void* to, const void* from, size_t bytes) = 0;
  virtual void Read(void* to, const void* from, size_t bytes) = 0;
  virtual void Wait() = 0;
};

class CpuPlatform : public Platform {
 public:
  explicit CpuPlatform(int workers)
      : workers_(workers,
                 [](std::function<void()> work) {
                   std::thread(std::move(work)).detach();
                 }),
        stream_(&workers_) {}
  const Device& device() const override { return device_; }
  Stream* critical() override { return &stream_; }
  Stream* other() override { return nullptr; }
  void Write(void* to, const void* from, size_t bytes) override {
    std::copy_n(static_cast<const char*>(from), bytes, static_cast<char*>(to));
  }
  void Read(void* to, const void* from, size_t bytes) override {
    Write(to, from, bytes);
  }
  void Wait() override {}

 private:
  const CpuDevice device_;
  Team workers_;
  InlineStream stream_;
};

class CudaPlatform : public Platform {
 public:
  CudaPlatform(bool two_streams, bool walks, bool tf32) {
    std::shared_ptr<const CudaContext> context;
    Require(CudaContext::Open(0, {}, &context));
    kernels_ = std::make_shared<CudaKernels>(std::move(context));
    device_ = std::make_unique<CudaDevice>(kernels_, CudaDevice::Options());
    Require(CudaStream::New(kernels_, &own_));
    critical_ = std::make_unique<CudaStream>(kernels_, own_->handle());
    critical_->set_walks(walks);
    critical_->set_tf32(tf32);
    if (!two_streams) return;
    Require(CudaStream::New(kernels_, &own_other_));
    other_ = std::make_unique<CudaStream>(kernels_, own_other_->handle());
    other_->set_tf32(tf32);
  }
  const std::string& name() const { return kernels_->context().name(); }
  const Device& device() const override { return *device_; }
  // As in a framework, all steps are put into one stream.
  Stream* critical() override { return critical_.get(); }
  Stream* other() override { return other_.get(); }
  void Write(void* to, const void* from, size_t bytes) override {
    const CudaContext::Current current(kernels_->context());
    const CudaDriver& driver = kernels_->context().driver();
    driver.MemcpyHtoD(reinterpret_cast<CudaAddress>(to), from, bytes);
    // The copy may return before it is done, and streams do not wait for it.
    driver.CtxSynchronize();
  }
  void Read(void* to, const void* from, size_t bytes) override {
    Wait();
    const CudaContext::Current current(kernels_->context());
    kernels_->context().driver().MemcpyDtoH(
        to, reinterpret_cast<CudaAddress>(from), bytes);
  }
  void Wait() override {
    Require(critical_->Synchronize());
    if (other_ != nullptr) Require(other_->Synchronize());
  }

 private:
  std::shared_ptr<const CudaKernels> kernels_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<CudaStream> own_, own_other_, critical_, other_;
};

// Adds two sums, as AddN of a framework does.
class SumOfTwo : public ForeignOp {
 public:
  Status Run(void* host, const std::vector<TensorRef>& inputs,
             std::vector<TensorRef>* outputs) const override {
    auto* const platform = static_cast<Platform*>(host);
    int64_t n = 1;
    for (const int64_t d : inputs[0].shape) n *= d;
    TensorRef& out = outputs->at(0);
    CAVS_RETURN_IF_ERROR(platform->critical()->Copy(out.data, inputs[0].data,
                                                    n * SizeOf(out.dtype)));
    return platform->critical()->Add(out.dtype, inputs[1].data, n, out.data);
  }
};

// A model on a device, with everything that its steps take and return.
class Step {
 public:
  Step(Platform* platform, const Trees& trees, DType dtype, int64_t units,
       const PassOptions& options)
      : platform_(*platform), dtype_(dtype), units_(units), random_(1) {
    const auto vertices = static_cast<int64_t>(trees.child_splits.size()) - 1;
    Require(MakeSchedule(
        {trees.child_splits, trees.child_ids, trees.graph_splits, {}},
        trees.arity, /*num_types=*/1, ScheduleOptions(), &schedule_));
    // A stream adds numbers of 16 bits to sums of 32 bits only.
    std::shared_ptr<ForeignOp> add;
    if (!IsNarrow(dtype)) add = std::make_shared<SumOfTwo>();
    TreeLstm lstm(dtype, units, units, add, trees.arity);
    std::vector<Program> forward = {lstm.Forward()};
    std::vector<Program> backward = {lstm.Backward()};
    backward[0].is_derivative = true;
    TreeLstm::SaveWeights(&forward[0]);
    results_of_ = backward[0].results;
    for (const int id : results_of_) {
      shapes_.push_back(backward[0].symbols[id].shape);
    }
    PartialPulls partial;
    partial.pulls = partial.grads = {0};
    Require(CompileModel(std::move(forward), std::move(backward), partial,
                         options, &platform_.device(), &forward_, &backward_));
    pool_ = std::make_shared<StoragePool>(platform_.device().memory());
    context_.stream = platform_.critical();
    context_.other = platform_.other();
    context_.pool = pool_.get();
    context_.host = platform;
    FillArguments(trees.leaves, vertices);
  }

  int64_t num_tasks() const { return schedule_.view().num_tasks(); }

  void Run() {
    Tape tape;
    Require(RunForward(forward_, arguments_, context_, &tape));
    Require(RunBackward(backward_, tape, gradients_, context_));
  }

  std::vector<std::vector<float>> Results() {
    std::vector<std::vector<float>> results;
    for (const auto& [data, size] : results_) {
      std::vector<char> numbers(size * SizeOf(dtype_));
      platform_.Read(numbers.data(), data, numbers.size());
      results.emplace_back(size);
      for (int64_t i = 0; i < size; ++i) {
        results.back()[i] =
            static_cast<float>(ReadNumber(dtype_, numbers.data(), i));
      }
    }
    return results;
  }

 private:
  void FillArguments(const std::vector<int32_t>& leaves, int64_t vertices) {
    const ScheduleView view = schedule_.view();
    const int64_t num_leaves = static_cast<int64_t>(leaves.size());
    arguments_.schedule = view;
    arguments_.pulls = {
        {Random(num_leaves * units_, 1), num_leaves, units_, units_}};
    arguments_.pull_rows.emplace_back();
    leaves_ = leaves;
    Require(ChosenVertices("partial_vertices", leaves_, vertices,
                           &arguments_.pull_rows[0]));
    arguments_.push_rows = AllVertices(view);
    arguments_.captures.emplace_back();
    const double scale = 1 / std::sqrt(static_cast<double>(units_));
    for (int i = 0; i < 3 * TreeLstm::kGates; ++i) {
      const std::vector<int64_t> shape =
          i % 3 == 2 ? std::vector<int64_t>{units_}
                     : std::vector<int64_t>{units_, units_};
      arguments_.captures[0].push_back(
          Dense(Random(i % 3 == 2 ? units_ : units_ * units_, scale), shape));
    }
    gradients_.model = &forward_;
    gradients_.push_grads = {
        {Random(vertices * units_, 1), vertices, units_, units_}};
    gradients_.pulls = {0};
    sizes_.push_row = sizes_.pull_grad_row = {units_ * SizeOf(dtype_)};
    arguments_.sizes = gradients_.sizes = &sizes_;
    arguments_.derivative = &backward_;
    arguments_.pushes = {{Result(vertices * units_), vertices, units_, units_}};
    gradients_.pull_grads = {
        {Result(num_leaves * units_), num_leaves, units_, units_}};
    gradients_.capture_grads.emplace_back();
    for (const std::vector<int64_t>& shape : shapes_) {
      int64_t n = 1;
      for (const int64_t d : shape) n *= d;
      sizes_.capture_grads += n * SizeOf(dtype_);
      gradients_.capture_grads[0].push_back(Dense(Result(n), shape));
    }
  }

  void* Allocate(int64_t n) {
    memory_.push_back(pool_->Acquire(std::max<int64_t>(n, 1) * SizeOf(dtype_)));
    return memory_.back().get();
  }
  void* Random(int64_t n, double scale) {
    std::uniform_real_distribution<float> uniform(-scale, scale);
    std::vector<char> numbers(n * SizeOf(dtype_));
    for (int64_t i = 0; i < n; ++i) {
      WriteNumber(dtype_, uniform(random_), numbers.data(), i);
    }
    void* const data = Allocate(n);
    platform_.Write(data, numbers.data(), numbers.size());
    return data;
  }
  void* Result(int64_t n) {
    results_.emplace_back(Allocate(n), n);
    return results_.back().first;
  }
  TensorRef Dense(void* data, std::vector<int64_t> shape) const {
    TensorRef ref;
    ref.dtype = dtype_;
    ref.shape = std::move(shape);
    ref.data = data;
    return ref;
  }

  Platform& platform_;
  const DType dtype_;
  const int64_t units_;
  std::mt19937 random_;
  Schedule schedule_;
  std::vector<int32_t> leaves_;
  std::vector<int> results_of_;
  std::vector<std::vector<int64_t>> shapes_;
  Model forward_, backward_;
  std::shared_ptr<StoragePool> pool_;
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<std::pair<void*, int64_t>> results_;
  StepContext context_;
  ResultSizes sizes_;
  ForwardArguments arguments_;
  BackwardArguments gradients_;
};

// The largest difference, in relation to the largest number.
double Difference(const std::vector<std::vector<float>>& got,
                  const std::vector<std::vector<float>>& want) {
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    double scale = 1e-30, most = 0;
    for (size_t j = 0; j < want[i].size(); ++j) {
      scale = std::max<double>(scale, std::abs(want[i][j]));
      const double difference = std::abs(got[i][j] - want[i][j]);
      most = difference <= most ? most : difference;  // Finds NaN too.
    }
    const double own = most / scale;
    worst = own <= worst ? worst : own;
  }
  return worst;
}

// Of the products of both directions that are multiplied: vertices without
// children gather zeros, of which a task multiplies one row, if any.
double GflopOf(const Trees& trees, int64_t units) {
  const auto inputs = static_cast<double>(trees.leaves.size());
  const auto parents = static_cast<double>(trees.parents);
  const double products = 4 * inputs + (3 + trees.arity) * parents;
  return 6e-9 * static_cast<double>(units * units) * products;
}

DType DTypeOf(const std::string& name) {
  static const std::map<std::string, DType> dtypes = {
      {"float32", DType::kFloat32},
      {"float64", DType::kFloat64},
      {"bfloat16", DType::kBFloat16},
      {"float16", DType::kFloat16}};
  const auto found = dtypes.find(name);
  if (found != dtypes.end()) return found->second;
  std::fprintf(stderr,
               "--dtype: got %s but expected float32, float64, bfloat16 or "
               "float16\n",
               name.c_str());
  std::exit(2);
}

int Main(int count, char** arguments) {
  const Flags flags(count, arguments);
  const std::string type = flags.Text("dtype", "float32");
  const DType dtype = DTypeOf(type);
  const int64_t units = flags.Number("units", 256);
  const int64_t batch = flags.Number("batch", 64);
  const int64_t steps = flags.Number("steps", 200);
  const int64_t streams = flags.Number("streams", 1);
  const bool on_cpu = flags.Text("device", "cuda") == "cpu";
  PassOptions options;
  options.eager = flags.Number("eager", 1) != 0;
  options.lazy = flags.Number("lazy", 1) != 0;
  options.fuse = flags.Number("fuse", 1) != 0;
  options.merge = flags.Number("merge", 1) != 0;
  const int64_t length = flags.Number("length", 0);
  const bool tf32 = flags.Number("tf32", 0) != 0;
  const bool cublas_lt = flags.Number("cublaslt", 0) != 0;
  setenv("CAVS_CUBLASLT", cublas_lt ? "1" : "0", 1);
  const Trees trees = length > 0 ? Trees::Sequences(batch, length)
                                 : Trees::Read(arguments[1], batch);

  const int64_t workers = flags.Number("workers", 1);
  CpuPlatform cpu(static_cast<int>(workers));
  Step reference(&cpu, trees, dtype, units, options);
  std::unique_ptr<CudaPlatform> gpu;
  std::unique_ptr<Step> own;
  if (!on_cpu) {
    gpu = std::make_unique<CudaPlatform>(streams == 2,
                                         flags.Number("walk", 1) != 0, tf32);
    own = std::make_unique<Step>(gpu.get(), trees, dtype, units, options);
  }
  Step& step = on_cpu ? reference : *own;
  Platform& platform = on_cpu ? static_cast<Platform&>(cpu) : *gpu;
  double difference = 0;
  if (!on_cpu && flags.Number("check", 1) != 0) {
    reference.Run();
    step.Run();
    difference = Difference(step.Results(), reference.Results());
    if (!(difference < (IsNarrow(dtype) ? 5e-2 : tf32 ? 1e-2 : 1e-3))) {
      std::fprintf(stderr, "the results are wrong: %g\n", difference);
      return 1;
    }
  }
  for (int i = 0; i < 5; ++i) step.Run();
  platform.Wait();
  // The medians of several turns.
  std::vector<double> seconds, host;
  for (int turn = 0; turn < 5; ++turn) {
    const Clock::time_point begin = Clock::now();
    for (int64_t i = 0; i < steps; ++i) step.Run();
    host.push_back(SecondsSince(begin) / static_cast<double>(steps));
    platform.Wait();
    seconds.push_back(SecondsSince(begin) / static_cast<double>(steps));
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(host.begin(), host.end());
  std::printf(
      "{\"device\": \"%s\", \"workers\": %ld, \"units\": %ld, \"batch\": %ld, "
      "\"length\": %ld, "
      "\"dtype\": \"%s\", \"tf32\": %d, \"cublaslt\": %d, \"streams\": %ld, "
      "\"eager\": %d, \"lazy\": %d, \"fuse\": %d, \"merge\": %d, \"walk\": "
      "%ld, "
      "\"vertices\": %zu, \"tasks\": %ld, \"difference\": %.2g, "
      "\"gflop\": %.3g, \"step_ms\": %.4f, \"spread\": %.2f, \"host_ms\": "
      "%.4f, "
      "\"trees_per_s\": %.0f}\n",
      on_cpu ? "cpu" : gpu->name().c_str(), workers, units, batch, length,
      type.c_str(), tf32, cublas_lt, streams, options.eager, options.lazy,
      options.fuse, options.merge, flags.Number("walk", 1),
      trees.child_splits.size() - 1, step.num_tasks(), difference,
      GflopOf(trees, units), seconds[2] * 1e3, seconds[4] / seconds[0] - 1,
      host[2] * 1e3, static_cast<double>(batch) / seconds[2]);
  return 0;
}

}  // namespace
}  // namespace cavs

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: cuda_bench trees.txt [--units=256] ...\n");
    return 2;
  }
  return cavs::Main(count, arguments);
}
