// Graphs for tests of schedules.
#ifndef CAVS_TESTS_CC_SCHEDULE_SCHEDULE_GRAPHS_H_
#define CAVS_TESTS_CC_SCHEDULE_SCHEDULE_GRAPHS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "cc/schedule/graph_batch.h"
#include "cc/schedule/policies.h"
#include "cc/schedule/schedule.h"

namespace cavs {

using Children = std::vector<std::vector<int32_t>>;

// Owns the memory of a GraphBatchView.
struct Batch {
  std::vector<int32_t> child_splits = {0}, child_ids, graph_splits = {0},
                       vertex_type;

  // Adds a graph. Ids in `children` are relative to it.
  Batch& Add(const Children& children) {
    const int32_t first = graph_splits.back();
    for (const auto& list : children) {
      for (int32_t child : list) {
        child_ids.push_back(child < 0 ? -1 : first + child);
      }
      child_splits.push_back(static_cast<int32_t>(child_ids.size()));
    }
    graph_splits.push_back(first + static_cast<int32_t>(children.size()));
    return *this;
  }

  GraphBatchView view() const {
    return {child_splits, child_ids, graph_splits, vertex_type};
  }
  int32_t num_vertices() const { return graph_splits.back(); }
  int32_t type(int32_t vertex) const {
    return vertex_type.empty() ? 0 : vertex_type[vertex];
  }
  // The child of `vertex` in `slot`, or -1.
  int32_t child(int32_t vertex, int slot) const {
    const int32_t edge = child_splits[vertex] + slot;
    return edge < child_splits[vertex + 1] ? child_ids[edge] : -1;
  }
};

inline Children Chain(int32_t length) {
  Children children(length);
  for (int32_t v = 1; v < length; ++v) children[v] = {v - 1};
  return children;
}

// A complete tree with vertices in breadth-first order, the root first.
inline Children CompleteTree(int depth, int arity) {
  Children children(1);
  size_t level_begin = 0;
  for (int d = 0; d < depth; ++d) {
    const size_t level_end = children.size();
    for (size_t v = level_begin; v < level_end; ++v) {
      for (int k = 0; k < arity; ++k) {
        children[v].push_back(static_cast<int32_t>(children.size()));
        children.emplace_back();
      }
    }
    level_begin = level_end;
  }
  return children;
}

// A random DAG: vertices may have several parents, the same child twice,
// missing children in any slot, and ids in any order.
inline Children RandomDag(int32_t num_vertices, int arity,
                          std::mt19937* random) {
  std::vector<int32_t> name(num_vertices);
  for (int32_t v = 0; v < num_vertices; ++v) name[v] = v;
  std::shuffle(name.begin(), name.end(), *random);
  Children children(num_vertices);
  for (int32_t v = 0; v < num_vertices; ++v) {
    const int count = (*random)() % (arity + 1);
    for (int k = 0; k < count; ++k) {
      const int32_t child = static_cast<int32_t>((*random)() % (v + 1)) - 1;
      children[name[v]].push_back(child < 0 ? -1 : name[child]);
    }
  }
  return children;
}

// Adds a word lattice of character cells (type 0, first, in order) and word
// cells (type 1). A character gathers the character before it and the words
// that end at it; a word gathers its first character.
inline void AddLattice(int num_characters, int num_words, std::mt19937* random,
                       Batch* batch) {
  Children children = Chain(num_characters);
  for (int word = 0; word < num_words; ++word) {
    const int32_t begin = (*random)() % (num_characters - 1);
    const int32_t end =
        std::min<int32_t>(begin + 1 + (*random)() % 3, num_characters - 1);
    children[end].push_back(static_cast<int32_t>(children.size()));
    children.push_back({begin});
  }
  for (size_t v = 0; v < children.size(); ++v) {
    batch->vertex_type.push_back(v < static_cast<size_t>(num_characters) ? 0
                                                                         : 1);
  }
  batch->Add(children);
}

// A minibatch of random DAGs, some empty, of vertices of random types.
inline Batch RandomBatch(int arity, int num_types, std::mt19937* random) {
  Batch batch;
  const int num_graphs = (*random)() % 6;
  for (int g = 0; g < num_graphs; ++g) {
    batch.Add(RandomDag((*random)() % 16, arity, random));
  }
  for (int32_t v = 0; num_types > 1 && v < batch.num_vertices(); ++v) {
    batch.vertex_type.push_back((*random)() % num_types);
  }
  return batch;
}

// Tasks {0, 1} and {2} of type 0, {3} of type 1; 2 and 3 have children.
inline Schedule FourVertices() {
  Schedule schedule;
  schedule.order = {0, 1, 2, 3};
  schedule.task_splits = {0, 2, 3, 4};
  schedule.task_type = {0, 0, 1};
  schedule.arity = 1;
  schedule.child_row = {-1, -1, 0, 1};
  return schedule;
}

inline Schedule Make(const Batch& batch, int arity, int num_types = 1,
                     ScheduleOptions options = {}) {
  Schedule schedule;
  const Status status =
      MakeSchedule(batch.view(), arity, num_types, options, &schedule);
  EXPECT_TRUE(status.ok()) << status.message();
  return schedule;
}

// Expects that rows and children agree with the batch, and that the schedule is
// valid.
inline void ExpectPlans(const Schedule& schedule, const Batch& batch,
                        int num_types) {
  const ScheduleView view = schedule.view();
  const Status status = ValidateSchedule(view, num_types);
  EXPECT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(view.num_vertices(), batch.num_vertices());
  std::vector<int32_t> row_of(view.num_vertices());
  for (int64_t row = 0; row < view.num_vertices(); ++row) {
    row_of[view.order[row]] = static_cast<int32_t>(row);
  }
  for (int k = 0; k < view.arity; ++k) {
    for (int64_t row = 0; row < view.num_vertices(); ++row) {
      const int32_t child = batch.child(view.order[row], k);
      EXPECT_EQ(view.children(k)[row], child < 0 ? kZeroRow : row_of[child]);
    }
  }
  for (int64_t t = 0; t < view.num_tasks(); ++t) {
    for (int32_t row = view.task_splits[t]; row < view.task_splits[t + 1];
         ++row) {
      EXPECT_EQ(view.task_type[t], batch.type(view.order[row]));
    }
  }
}

}  // namespace cavs

#endif  // CAVS_TESTS_CC_SCHEDULE_SCHEDULE_GRAPHS_H_
