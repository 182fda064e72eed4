// The time of MakeSchedule, including validation. The counter is the time per
// vertex.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cc/schedule/policies.h"
#include "cc/schedule/schedule.h"

namespace cavs {
namespace {

struct Batch {
  std::vector<int32_t> child_splits = {0}, child_ids, graph_splits = {0},
                       vertex_type;
};

void AddGraph(const std::vector<std::vector<int32_t>>& children, Batch* batch) {
  const int32_t first = batch->graph_splits.back();
  for (const auto& list : children) {
    for (const int32_t child : list) {
      batch->child_ids.push_back(first + child);
    }
    batch->child_splits.push_back(
        static_cast<int32_t>(batch->child_ids.size()));
  }
  batch->graph_splits.push_back(first + static_cast<int32_t>(children.size()));
}

// Adds a binary tree that merges random neighbours; children precede parents,
// or follow them.
void AddTree(int num_leaves, bool parents_first, std::mt19937* random,
             Batch* batch) {
  const int num_vertices = 2 * num_leaves - 1;
  std::vector<std::vector<int32_t>> children(num_vertices);
  std::vector<int32_t> open(num_leaves);
  for (int v = 0; v < num_leaves; ++v) open[v] = v;
  for (int v = num_leaves; v < num_vertices; ++v) {
    const size_t i = (*random)() % (open.size() - 1);
    children[v] = {open[i], open[i + 1]};
    open[i] = v;
    open.erase(open.begin() + i + 1);
  }
  if (parents_first) {
    std::reverse(children.begin(), children.end());
    for (auto& list : children) {
      for (int32_t& child : list) child = num_vertices - 1 - child;
    }
  }
  AddGraph(children, batch);
}

void Run(const Batch& batch, int arity, benchmark::State& state,
         ScheduleOptions options = {}, int num_types = 1) {
  const GraphBatchView view = {batch.child_splits, batch.child_ids,
                               batch.graph_splits, batch.vertex_type};
  Schedule schedule;
  if (!MakeSchedule(view, arity, num_types, options, &schedule).ok() ||
      !ValidateSchedule(schedule.view(), num_types).ok()) {
    state.SkipWithError("the schedule is wrong");
    return;
  }
  for (auto _ : state) {
    const Status status =
        MakeSchedule(view, arity, num_types, options, &schedule);
    benchmark::DoNotOptimize(status.ok());
    benchmark::DoNotOptimize(schedule.order.data());
  }
  state.counters["tasks"] = static_cast<double>(schedule.task_type.size());
  state.counters["per_vertex"] =
      benchmark::Counter(static_cast<double>(view.num_vertices()),
                         benchmark::Counter::kIsIterationInvariantRate |
                             benchmark::Counter::kInvert);
}

// Trees of 37 vertices, the mean of the Stanford Sentiment Treebank.
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

void BM_MicroBatches(benchmark::State& state) {
  std::mt19937 random(1);
  Batch batch;
  for (int g = 0; g < 64; ++g) AddTree(19, false, &random, &batch);
  Run(batch, 2, state, {"depth", static_cast<int32_t>(state.range(0))});
}
BENCHMARK(BM_MicroBatches)->ArgName("graphs_at_a_time")->Arg(1)->Arg(4);

// The numbers of all policies.
const std::vector<int64_t> kPolicies =
    benchmark::CreateDenseRange(0, Policies().size() - 1, 1);

// A word lattice: 44 characters in a chain (type 0) and at most 23 words (type
// 1), each with a character as child and one as parent, and at most 5 with the
// same parent. If `outputs`, each of them is the child of a further vertex
// (type 2).
void AddLattice(bool outputs, std::mt19937* random, Batch* batch) {
  constexpr int kCharacters = 44, kWords = 23;
  std::vector<std::vector<int32_t>> children(kCharacters);
  for (int32_t v = 1; v < kCharacters; ++v) children[v] = {v - 1};
  for (int word = 0; word < kWords; ++word) {
    const int32_t begin = (*random)() % (kCharacters - 1);
    const int32_t end =
        std::min<int32_t>(begin + 1 + (*random)() % 3, kCharacters - 1);
    if (children[end].size() == 6) continue;
    children[end].push_back(static_cast<int32_t>(children.size()));
    children.push_back({begin});
  }
  const int32_t num_cells = static_cast<int32_t>(children.size());
  std::vector<int32_t>& types = batch->vertex_type;
  types.insert(types.end(), kCharacters, 0);
  types.insert(types.end(), num_cells - kCharacters, 1);
  if (outputs) {
    for (int32_t v = 0; v < num_cells; ++v) children.push_back({v});
    types.insert(types.end(), num_cells, 2);
  }
  AddGraph(children, batch);
}

void BM_Lattices(benchmark::State& state) {
  std::mt19937 random(4);
  Batch batch;
  for (int g = 0; g < 64; ++g) AddLattice(state.range(0), &random, &batch);
  Run(batch, 6, state, Policies()[state.range(1)].name, 3);
}
BENCHMARK(BM_Lattices)
    ->ArgNames({"outputs", "policy"})
    ->ArgsProduct({{0, 1}, kPolicies});

// Trees of leaves (type 0) and inner vertices of random other types.
void BM_TypedTrees(benchmark::State& state) {
  const int num_types = static_cast<int>(state.range(0));
  std::mt19937 random(5);
  Batch batch;
  for (int g = 0; g < 64; ++g) {
    AddTree(19, false, &random, &batch);
    batch.vertex_type.resize(batch.vertex_type.size() + 19, 0);
    while (batch.vertex_type.size() + 1 < batch.child_splits.size()) {
      batch.vertex_type.push_back(1 + random() % (num_types - 1));
    }
  }
  Run(batch, 2, state, Policies()[state.range(1)].name, num_types);
}
BENCHMARK(BM_TypedTrees)
    ->ArgNames({"types", "policy"})
    ->ArgsProduct({{2, 5, 20}, kPolicies});

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

// A DAG of vertices with two random children each, numbered at random.
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
  AddGraph(children, &batch);
  Run(batch, 2, state);
}
BENCHMARK(BM_ShuffledDag)->Arg(10000)->Arg(100000)->Arg(1000000);

}  // namespace
}  // namespace cavs
