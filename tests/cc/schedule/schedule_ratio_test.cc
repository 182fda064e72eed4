// Compares policy `ratio` with its definition, and tests what it promises.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "cc/schedule/schedule.h"
#include "tests/cc/schedule/schedule_graphs.h"

namespace cavs {
namespace {

using Tasks = std::vector<std::pair<int32_t, std::set<int32_t>>>;

Tasks TasksOf(const Schedule& schedule) {
  Tasks tasks;
  for (size_t t = 0; t < schedule.task_type.size(); ++t) {
    tasks.emplace_back(
        schedule.task_type[t],
        std::set<int32_t>(
            schedule.order.begin() + schedule.task_splits[t],
            schedule.order.begin() + schedule.task_splits[t + 1]));
  }
  return tasks;
}

// below[v][u] says whether v depends on u.
std::vector<std::vector<bool>> Dependencies(const Batch& batch, int arity) {
  const int32_t num_vertices = batch.num_vertices();
  std::vector<std::vector<bool>> below(num_vertices,
                                       std::vector<bool>(num_vertices));
  for (int32_t v = 0; v < num_vertices; ++v) {
    std::vector<int32_t> found = {v};
    while (!found.empty()) {
      const int32_t parent = found.back();
      found.pop_back();
      for (int k = 0; k < arity; ++k) {
        const int32_t child = batch.child(parent, k);
        if (child < 0 || below[v][child]) continue;
        below[v][child] = true;
        found.push_back(child);
      }
    }
  }
  return below;
}

// The ready vertices and the frontier of a type.
struct Candidates {
  std::set<int32_t> ready;
  int64_t frontier = 0;
};

Candidates CandidatesOf(const Batch& batch, int32_t type,
                        const std::vector<std::vector<bool>>& below,
                        const std::vector<bool>& done) {
  Candidates candidates;
  for (int32_t v = 0; v < batch.num_vertices(); ++v) {
    if (done[v] || batch.type(v) != type) continue;
    bool ready = true, on_frontier = true;
    for (int32_t u = 0; u < batch.num_vertices(); ++u) {
      if (!below[v][u] || done[u]) continue;
      ready = false;
      if (batch.type(u) == type) on_frontier = false;
    }
    if (ready) candidates.ready.insert(v);
    candidates.frontier += on_frontier;
  }
  return candidates;
}

Tasks TasksByDefinition(const Batch& batch, int arity, int num_types) {
  const auto below = Dependencies(batch, arity);
  std::vector<bool> done(batch.num_vertices());
  Tasks tasks;
  for (size_t num_done = 0; num_done < done.size();) {
    double best_ratio = 0;
    std::pair<int32_t, std::set<int32_t>> best;
    for (int32_t type = 0; type < num_types; ++type) {
      const Candidates candidates = CandidatesOf(batch, type, below, done);
      if (candidates.ready.empty()) continue;
      const double ratio =
          static_cast<double>(candidates.ready.size()) / candidates.frontier;
      if (ratio > best_ratio) {
        best_ratio = ratio;
        best = {type, candidates.ready};
      }
    }
    for (const int32_t v : best.second) done[v] = true;
    num_done += best.second.size();
    tasks.push_back(best);
  }
  return tasks;
}

Batch WithTypes(Batch batch, std::vector<int32_t> types) {
  batch.vertex_type = std::move(types);
  return batch;
}

TEST(RatioPolicyTest, OutputsOfAChainWaitForEachOther) {
  // A chain 0 <- 1 <- 2, and an output vertex for each: 3, 4, 5.
  const Batch batch =
      WithTypes(Batch().Add({{}, {0}, {1}, {0}, {1}, {2}}), {0, 0, 0, 1, 1, 1});
  const Schedule schedule = Make(batch, 1, 2, "ratio");
  EXPECT_EQ(TasksOf(schedule),
            (Tasks{{0, {0}}, {0, {1}}, {0, {2}}, {1, {3, 4, 5}}}));
  EXPECT_EQ(Make(batch, 1, 2).task_type.size(), 6u);
}

TEST(RatioPolicyTest, SeesThroughVerticesOfOtherTypes) {
  // 2 waits for 0 through 1, so the frontier of type 0 is {0, 4} and half of it
  // is ready, as is half of type 1's. If 2 counted too, type 1 would begin, and
  // there would be one more task.
  const Batch batch =
      WithTypes(Batch().Add({{}, {0}, {1}}).Add({{}, {0}}), {0, 1, 0, 1, 0});
  EXPECT_EQ(TasksOf(Make(batch, 1, 2, "ratio")),
            (Tasks{{0, {0}}, {1, {1, 3}}, {0, {2, 4}}}));
}

TEST(RatioPolicyTest, MatchesTheDefinitionOnRandomGraphs) {
  int num_by_depth = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int arity = 1 + random() % 3;
    const int num_types = 2 + random() % 3;
    const Batch batch = RandomBatch(arity, num_types, &random);
    const Schedule schedule = Make(batch, arity, num_types, "ratio");
    ExpectPlans(schedule, batch, num_types);
    const Tasks by_depth = TasksOf(Make(batch, arity, num_types));
    const Tasks by_ratio = TasksByDefinition(batch, arity, num_types);
    const bool use_depth = by_depth.size() < by_ratio.size();
    num_by_depth += use_depth;
    EXPECT_EQ(TasksOf(schedule), use_depth ? by_depth : by_ratio);
  }
  EXPECT_GT(num_by_depth, 0);  // Both branches have been taken.
}

TEST(RatioPolicyTest, TakesTheTasksOfDepthWhereTheseAreFewer) {
  const Batch batch = WithTypes(Batch().Add({{}, {0, 0}, {}, {2}, {1}, {3, 2}}),
                                {0, 0, 1, 0, 1, 1});
  EXPECT_EQ(TasksByDefinition(batch, 2, 2).size(), 5u);
  EXPECT_EQ(TasksOf(Make(batch, 2, 2, "ratio")), TasksOf(Make(batch, 2, 2)));
  EXPECT_EQ(Make(batch, 2, 2).task_type.size(), 4u);
}

TEST(RatioPolicyTest, OneTypeGivesTheScheduleOfDepth) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Batch batch = RandomBatch(/*arity=*/3, /*num_types=*/1, &random);
    for (const int num_types : {1, 9}) {
      if (num_types == 9) batch.vertex_type.assign(batch.num_vertices(), 8);
      const Schedule ratio = Make(batch, 3, num_types, "ratio");
      const Schedule depth = Make(batch, 3, num_types);
      EXPECT_EQ(ratio.order, depth.order);
      EXPECT_EQ(ratio.task_splits, depth.task_splits);
      EXPECT_EQ(ratio.task_type, depth.task_type);
      EXPECT_EQ(ratio.child_row, depth.child_row);
    }
  }
}

TEST(RatioPolicyTest, AFifthFewerTasksOnWordLattices) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Batch batch;
    for (int g = 0; g < 64; ++g) AddLattice(44, 23, &random, &batch);
    const Schedule ratio = Make(batch, 24, 2, "ratio");
    ExpectPlans(ratio, batch, 2);
    EXPECT_LE(5 * ratio.task_type.size(),
              4 * Make(batch, 24, 2).task_type.size())
        << "seed " << seed;
  }
}

TEST(RatioPolicyTest, ALongChainOfAlternatingTypes) {
  constexpr int32_t kLength = 100000;
  Batch batch = Batch().Add(Chain(kLength));
  for (int32_t v = 0; v < kLength; ++v) batch.vertex_type.push_back(v % 3);
  const Schedule schedule = Make(batch, 1, 3, "ratio");
  EXPECT_EQ(schedule.task_type.size(), size_t{kLength});
  EXPECT_EQ(schedule.child_row.back(), kLength - 2);
}

TEST(RatioPolicyTest, EmptyMinibatch) {
  const Schedule schedule = Make(Batch(), 2, 3, "ratio");
  EXPECT_EQ(schedule.task_splits, (std::vector<int32_t>{0}));
  EXPECT_TRUE(schedule.order.empty());
}

}  // namespace
}  // namespace cavs
