// Speeds of the CPU backend's kernels: products of one weight ([512, 2048]
// unless the name says otherwise), gradients of weights, elementwise operators,
// and moving rows.
//
//   backend_bench --benchmark_filter=Packed
//
// Counters: FLOP/s of the products, and elements per second of the others.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/device/cpu/cpu_backend.h"

namespace cavs {
namespace {

// Workers on threads that spin between calls. They show what a kernel gains
// from workers if handing work over costs next to nothing.
class SpinningWorkers : public Workers {
 public:
  explicit SpinningWorkers(int count) : count_(count) {
    for (int i = 1; i < count; ++i)
      threads_.emplace_back([this, i] { Work(i); });
  }
  ~SpinningWorkers() override {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  int count() const override { return count_; }
  void Run(int jobs, const std::function<void(int)>& job) override {
    job_ = &job;
    jobs_ = jobs;
    done_.store(0, std::memory_order_relaxed);
    // Publishes the fields above to the threads.
    call_.fetch_add(1, std::memory_order_release);
    job(0);
    // Makes what the workers wrote visible here.
    while (done_.load(std::memory_order_acquire) != count_ - 1) Pause();
  }

 private:
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  void Work(int i) {
    for (int64_t seen = 0;;) {
      while (call_.load(std::memory_order_acquire) == seen) {
        if (stop_) return;
        Pause();
      }
      ++seen;
      if (i < jobs_) (*job_)(i);
      done_.fetch_add(1, std::memory_order_release);
    }
  }

  const int count_;
  const std::function<void(int)>* job_ = nullptr;
  int jobs_ = 0;
  std::atomic<int64_t> call_{0};
  std::atomic<int> done_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// A matrix of numbers in [-1, 1] that begins at a cache line.
template <typename T>
class Data {
 public:
  Data(int64_t rows, int64_t cols, int64_t padding = 0)
      : rows_(rows), cols_(cols), pitch_(cols + padding) {
    const size_t bytes = (rows * pitch_ * sizeof(T) + 127) / 64 * 64;
    data_.reset(static_cast<T*>(std::aligned_alloc(64, bytes)));
    Fill();
  }
  Block block() { return {data_.get(), rows_, cols_, pitch_}; }

 private:
  void Fill() {
    for (int64_t i = 0; i < rows_ * pitch_; ++i) {
      data_.get()[i] = FromWide<T>(Wide<T>((i * 7919) % 2001) / 1000 - 1);
    }
  }
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  int64_t rows_, cols_, pitch_;
  std::unique_ptr<T, Free> data_;
};

void CountTerms(benchmark::State& state, double terms) {
  state.counters["FLOP/s"] = benchmark::Counter(
      2 * terms, benchmark::Counter::kIsIterationInvariantRate);
}

enum class Form { kPacked, kPlain, kTransposeB, kTransposeA };

// c[m, n] = a * b, with sums of k terms.
template <typename T>
void Product(benchmark::State& state, Isa isa, Form form, int64_t m, int64_t k,
             int64_t n, int threads) {
  SpinningWorkers workers(threads);
  const CpuBackend backend(&workers, isa);
  const DType dtype = kDTypeOf<T>;
  const bool ta = form == Form::kTransposeA, tb = form == Form::kTransposeB;
  Data<T> a(ta ? k : m, ta ? m : k), b(tb ? n : k, tb ? k : n), c(m, n);
  Data<Wide<T>> sums(ta ? m : 0, n);
  Data<T> packed(1, backend.PackedBytes(dtype, k, n) / sizeof(T));
  backend.Pack(dtype, b.block(), tb, n, 0, packed.block().data);
  for (auto _ : state) {
    switch (form) {
      case Form::kPacked:
        backend.MatMulPacked(dtype, a.block(), packed.block().data, c.block(),
                             false);
        break;
      case Form::kPlain:
      case Form::kTransposeB:
        backend.MatMul(dtype, a.block(), b.block(), tb, c.block(), false);
        break;
      case Form::kTransposeA:
        backend.MatMulTransposeA(dtype, a.block(), b.block(), sums.block(),
                                 true);
        break;
    }
    benchmark::ClobberMemory();
  }
  CountTerms(state, double(m) * k * n);
}

void Packing(benchmark::State& state, Isa isa, bool transpose, int threads) {
  SpinningWorkers workers(threads);
  const CpuBackend backend(&workers, isa);
  const int64_t k = 512, n = 2048;
  Data<float> w(transpose ? n : k, transpose ? k : n);
  Data<float> packed(1, backend.PackedBytes(DType::kFloat32, k, n) / 4);
  for (auto _ : state) {
    backend.Pack(DType::kFloat32, w.block(), transpose, n, 0,
                 packed.block().data);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * k * n);
}

template <typename T>
void UnaryTile(benchmark::State& state, Isa isa, Elementwise op) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, isa);
  Data<T> x(8, 256), out(8, 256);
  for (auto _ : state) {
    backend.Unary(op, kDTypeOf<T>, x.block(), out.block());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 8 * 256);
}

void AddRow(benchmark::State& state, Isa isa, int64_t cols) {
  SerialWorkers workers;
  const CpuBackend backend(&workers, isa);
  Data<float> x(2048 / cols, cols), y(1, cols), out(2048 / cols, cols);
  for (auto _ : state) {
    backend.Binary(Elementwise::kAdd, DType::kFloat32, x.block(), y.block(),
                   out.block());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2048);
}

// The gates of an LSTM, c' = s(f) c + s(i) tanh(g) and h = s(o) tanh(c'): nine
// operators, of which only the results c' and h are written to memory.
template <typename T>
void Gates(benchmark::State& state, Isa isa, int64_t rows, int64_t units) {
  using E = Elementwise;
  SerialWorkers workers;
  const CpuBackend backend(&workers, isa);
  Data<T> gates(rows, 4 * units), c(rows, units), out(rows, 2 * units);
  T* const in = static_cast<T*>(gates.block().data);
  T* const to = static_cast<T*>(out.block().data);
  std::vector<GroupOperand> operands;
  for (int64_t gate = 0; gate < 4; ++gate) {
    operands.push_back({in + gate * units, 4 * units, false, nullptr});
  }
  operands.push_back({c.block().data, units, false, nullptr});
  operands.push_back({to, 2 * units, false, nullptr});
  operands.push_back({to + units, 2 * units, false, nullptr});
  ElementwiseGroup group;
  group.num_operands = 7;  // i, f, g, o, c, c', h; then scratch.
  group.num_scratch = 2;
  group.instructions = {
      {E::kSigmoid, 1, 1, 7}, {E::kMul, 7, 4, 7},  {E::kSigmoid, 0, 0, 8},
      {E::kTanh, 2, 2, 5},    {E::kMul, 8, 5, 8},  {E::kAdd, 7, 8, 5},
      {E::kSigmoid, 3, 3, 7}, {E::kTanh, 5, 5, 8}, {E::kMul, 7, 8, 6}};
  for (auto _ : state) {
    backend.Group(kDTypeOf<T>, group, operands.data(), rows, units);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * units);
}

void GatherRows(benchmark::State& state, int64_t cols) {
  SerialWorkers workers;
  const CpuBackend backend(&workers);
  Data<float> src(256, cols), dst(128, cols);
  std::vector<int32_t> rows(128);
  for (int i = 0; i < 128; ++i) rows[i] = i * 37 % 256;
  for (auto _ : state) {
    backend.GatherRows(DType::kFloat32, src.block(), rows.data(), dst.block());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 128 * cols);
}

// Whether each row of `out` is the sum, in order, of the rows of `src` that are
// added to it.
bool AreAddedUp(const Block& src, const std::vector<int32_t>& rows,
                const Block& out) {
  std::vector<float> want(out.rows * out.cols);
  for (int64_t i = 0; i < src.rows; ++i) {
    for (int64_t j = 0; j < src.cols && rows[i] >= 0; ++j) {
      want[rows[i] * out.cols + j] +=
          static_cast<const float*>(src.data)[i * src.pitch + j];
    }
  }
  return std::equal(want.begin(), want.end(),
                    static_cast<const float*>(out.data));
}

// The gradients of 120 gathered rows are added to those of 50 children of 64,
// each of which was gathered once to 20 times. Another 8 rows have no child.
void ScatterAddRows(benchmark::State& state, int64_t cols) {
  SerialWorkers workers;
  const CpuBackend backend(&workers);
  Data<float> src(128, cols), dst(64, cols);
  std::vector<int32_t> rows(128);
  for (int i = 0; i < 128; ++i) {
    rows[i] = i % 16 == 15 ? -1 : i * (i % 7) % 64;
  }
  backend.Zero(DType::kFloat32, dst.block());
  const auto add = [&] {
    backend.ScatterAddRows(DType::kFloat32, src.block(), rows.data(),
                           dst.block());
  };
  add();
  if (!AreAddedUp(src.block(), rows, dst.block())) {
    state.SkipWithError("the sums are wrong");
    return;
  }
  for (auto _ : state) {
    add();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 128 * cols);
}

template <typename Fn>
void Add(const std::string& name, const Fn& fn) {
  benchmark::RegisterBenchmark(name.c_str(), fn)->UseRealTime();
}

void RegisterProducts(Isa isa) {
  const std::string set = std::string(IsaName(isa)) + "/";
  for (int threads : {1, 2}) {
    const std::string end = "/threads:" + std::to_string(threads);
    const auto add = [&](const std::string& name, Form form, int64_t m,
                         int64_t k, int64_t n) {
      Add(set + name + end, [=](benchmark::State& state) {
        Product<float>(state, isa, form, m, k, n, threads);
      });
      Add(set + "BFloat16" + name + end, [=](benchmark::State& state) {
        Product<BFloat16>(state, isa, form, m, k, n, threads);
      });
    };
    for (int64_t m : {1, 2, 4, 7, 16, 64, 256, 2048}) {
      add("Packed/" + std::to_string(m), Form::kPacked, m, 512, 2048);
    }
    add("PackedSquare64/64", Form::kPacked, 64, 64, 64);
    add("PackedSquare256/64", Form::kPacked, 64, 256, 256);
    add("PackedLong/64", Form::kPacked, 64, 2048, 512);
    add("PackedFive/64", Form::kPacked, 64, 512, 5);
    for (int64_t m : {1, 4, 16, 64}) {
      add("Plain/" + std::to_string(m), Form::kPlain, m, 512, 2048);
      add("TransposeB/" + std::to_string(m), Form::kTransposeB, m, 512, 2048);
    }
    for (int64_t rows : {1, 16, 128, 1024, 4096}) {
      add("Gradient/" + std::to_string(rows), Form::kTransposeA, 512, rows,
          2048);
    }
    add("GradientSquare256/1024", Form::kTransposeA, 256, 1024, 256);
    add("GradientSmall/1024", Form::kTransposeA, 64, 1024, 256);
    add("GradientFive/1024", Form::kTransposeA, 512, 1024, 5);
    Add(set + "PackedDouble/64" + end, [=](benchmark::State& state) {
      Product<double>(state, isa, Form::kPacked, 64, 512, 2048, threads);
    });
    for (bool transpose : {false, true}) {
      Add(set + (transpose ? "PackTransposed" : "Pack") + end,
          [=](benchmark::State& state) {
            Packing(state, isa, transpose, threads);
          });
    }
  }
}

void RegisterElementwise(Isa isa) {
  const std::string set = std::string(IsaName(isa)) + "/";
  const std::pair<const char*, Elementwise> ops[] = {
      {"Sigmoid", Elementwise::kSigmoid}, {"Tanh", Elementwise::kTanh},
      {"Exp", Elementwise::kExp},         {"Log", Elementwise::kLog},
      {"Relu", Elementwise::kRelu},
  };
  for (const auto& [name, op] : ops) {
    Add(set + name, [isa, op = op](benchmark::State& state) {
      UnaryTile<float>(state, isa, op);
    });
    Add(set + name + std::string("Double"),
        [isa, op = op](benchmark::State& state) {
          UnaryTile<double>(state, isa, op);
        });
  }
  for (int64_t cols : {16, 64, 512}) {
    Add(set + "AddRow/" + std::to_string(cols),
        [=](benchmark::State& state) { AddRow(state, isa, cols); });
  }
}

}  // namespace
}  // namespace cavs

int main(int argc, char** argv) {
#ifndef __OPTIMIZE__
  std::fprintf(stderr, "backend_bench: a debug build measures nothing.\n");
  return 1;
#endif
  for (cavs::Isa isa : {cavs::Isa::kAvx512Bf16, cavs::Isa::kAvx512,
                        cavs::Isa::kAvx2, cavs::Isa::kPortable}) {
    if (!cavs::IsSupported(isa)) continue;
    cavs::RegisterProducts(isa);
    cavs::RegisterElementwise(isa);
    for (int64_t units : {64, 512}) {
      const std::string set = std::string(cavs::IsaName(isa)) + "/";
      cavs::Add(set + "Gates/" + std::to_string(units),
                [=](benchmark::State& state) {
                  cavs::Gates<float>(state, isa, 64, units);
                });
      cavs::Add(set + "BFloat16Gates/" + std::to_string(units),
                [=](benchmark::State& state) {
                  cavs::Gates<cavs::BFloat16>(state, isa, 64, units);
                });
    }
  }
  for (int64_t cols : {16, 512}) {
    cavs::Add("GatherRows/" + std::to_string(cols),
              [=](benchmark::State& state) { cavs::GatherRows(state, cols); });
    cavs::Add(
        "ScatterAddRows/" + std::to_string(cols),
        [=](benchmark::State& state) { cavs::ScatterAddRows(state, cols); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
