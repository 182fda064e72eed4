// The time to compile a program.
#include <benchmark/benchmark.h>

#include "cc/ir/passes/run_passes.h"
#include "tests/cc/exec/gated_slots.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

void BM_RunPasses(benchmark::State& state) {
  const Program program = GatedSlots(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    CompiledProgram compiled(program);
    if (!RunPasses({}, kCapabilities, &compiled).ok())
      state.SkipWithError("does not compile");
    benchmark::DoNotOptimize(compiled);
  }
  state.counters["nodes"] = static_cast<double>(program.nodes.size());
}
BENCHMARK(BM_RunPasses)
    ->Arg(4)
    ->Arg(19)
    ->Arg(75)
    ->Arg(300)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cavs
