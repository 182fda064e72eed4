// Time of MakeSchedule, validation included. The counter is time per vertex.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cc/core/schedule.h"

namespace cavs {
namespace {

struct Batch {
  std::vector<int32_t> child_splits = {0}, child_ids, graph_splits = {0};
};

// Adds a binary tree that merges random neighbours; children before parents, or
// the reverse.
void AddTree(int num_leaves, bool parents_first, std::mt19937* random,
             Batch* batch) {
  const int num_vertices = 2 * num_leaves - 1;
  const int32_t first = batch->graph_splits.back();
  std::vector<std::vector<int32_t>> children(num_vertices);
  std::vector<int32_t> open(num_leaves);
  for (int v = 0; v < num_leaves; ++v) open[v] = v;
  for (int v = num_leaves; v < num_vertices; ++v) {
    const size_t i = (*random)() % (open.size() - 1);
    children[v] = {open[i], open[i + 1]};
    open[i] = v;
    open.erase(open.begin() + i + 1);
  }
  const auto name = [&](int v) {
    return parents_first ? num_vertices - 1 - v : v;
  };
  for (int v = 0; v < num_vertices; ++v) {
    for (int32_t child : children[name(v)]) {
      batch->child_ids.push_back(first + name(child));
    }
    batch->child_splits.push_back(
        static_cast<int32_t>(batch->child_ids.size()));
  }
  batch->graph_splits.push_back(first + num_vertices);
}

void Run(const Batch& batch, int arity, benchmark::State& state) {
  const GraphBatchView view = {
      batch.child_splits, batch.child_ids, batch.graph_splits, {}};
  Schedule schedule;
  if (!MakeSchedule(view, arity, 1, Policy::kDepth, &schedule).ok() ||
      !ValidateSchedule(schedule.view(), 1).ok()) {
    state.SkipWithError("the schedule is wrong");
    return;
  }
  for (auto _ : state) {
    const Status status =
        MakeSchedule(view, arity, 1, Policy::kDepth, &schedule);
    benchmark::DoNotOptimize(status.ok());
    benchmark::DoNotOptimize(schedule.order.data());
  }
  state.counters["per_vertex"] =
      benchmark::Counter(static_cast<double>(view.num_vertices()),
                         benchmark::Counter::kIsIterationInvariantRate |
                             benchmark::Counter::kInvert);
}

// Trees with the mean size of the Stanford Sentiment Treebank's: 37 vertices.
void BM_Trees(benchmark::State& state) {
  std::mt19937 random(1);
  Batch batch;
  for (int g = 0; g < state.range(0); ++g) {
    AddTree(/*num_leaves=*/19, /*parents_first=*/state.range(1), &random,
            &batch);
  }
  Run(batch, 2, state);
}
BENCHMARK(BM_Trees)
    ->ArgNames({"graphs", "parents_first"})
    ->ArgsProduct({{64, 8192}, {0, 1}});

void BM_Chain(benchmark::State& state) {
  Batch batch;
  for (int32_t v = 0; v < state.range(0); ++v) {
    if (v > 0) batch.child_ids.push_back(v - 1);
    batch.child_splits.push_back(v);
  }
  batch.graph_splits.push_back(static_cast<int32_t>(state.range(0)));
  Run(batch, 1, state);
}
BENCHMARK(BM_Chain)->Arg(100000);

// Two children each, any vertex below, numbered at random.
void BM_ShuffledDag(benchmark::State& state) {
  const int32_t num_vertices = static_cast<int32_t>(state.range(0));
  std::mt19937 random(3);
  std::vector<int32_t> name(num_vertices);
  for (int32_t v = 0; v < num_vertices; ++v) name[v] = v;
  std::shuffle(name.begin(), name.end(), random);
  std::vector<std::vector<int32_t>> children(num_vertices);
  for (int32_t v = 1; v < num_vertices; ++v) {
    children[name[v]] = {name[random() % v], name[random() % v]};
  }
  Batch batch;
  for (const auto& list : children) {
    batch.child_ids.insert(batch.child_ids.end(), list.begin(), list.end());
    batch.child_splits.push_back(static_cast<int32_t>(batch.child_ids.size()));
  }
  batch.graph_splits.push_back(num_vertices);
  Run(batch, 2, state);
}
BENCHMARK(BM_ShuffledDag)->Arg(1000000);

}  // namespace
}  // namespace cavs
