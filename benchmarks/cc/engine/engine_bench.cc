// Time to push and complete an empty operation with two reads and one mutation.
//
// $CAVS_BENCH_WORKERS (0: the pushing thread) chooses the number of workers for
// a whole process, because MXNet reads its own when it is loaded.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/cc/engine/cavs_peer.h"
#include "benchmarks/cc/engine/mxnet_peer.h"
#include "benchmarks/cc/engine/tbb_peer.h"

namespace cavs::bench {
namespace {

constexpr int kOperations = 10000;

using Factory = std::unique_ptr<Peer> (*)(const Shape&, int);

void Measure(benchmark::State& state, Factory factory, const Shape& shape,
             int workers) {
  const std::unique_ptr<Peer> peer = factory(shape, workers);
  if (peer == nullptr) {
    state.SkipWithError("not on this machine");
    return;
  }
  std::atomic<int64_t> count{0};
  peer->Run(&count);
  if (count != static_cast<int64_t>(shape.operations.size())) {
    state.SkipWithError("not every operation has run");
    return;
  }
  for (auto _ : state) peer->Run(nullptr);
  state.counters["per_operation"] = benchmark::Counter(
      static_cast<double>(state.iterations() * shape.operations.size()),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Called once, before main().
bool RegisterAll() {
  const char* text = std::getenv("CAVS_BENCH_WORKERS");
  const int workers = text != nullptr ? std::atoi(text) : 1;
  const std::pair<const char*, Factory> peers[] = {
      {"cavs", MakeCavs}, {"mxnet", MakeMxnet}, {"tbb", MakeTbb}};
  for (const Shape& shape : AllShapes(kOperations)) {
    for (const auto& [name, factory] : peers) {
      const std::string title =
          shape.name + "/" + name + "/workers:" + std::to_string(workers);
      benchmark::RegisterBenchmark(title.c_str(), Measure, factory, shape,
                                   workers)
          ->UseRealTime()
          // Takes the repetition that other programs disturbed least.
          ->ComputeStatistics("min",
                              [](const std::vector<double>& times) {
                                return *std::min_element(times.begin(),
                                                         times.end());
                              })
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace cavs::bench
