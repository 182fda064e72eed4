// Which vertices are evaluated together, in which order, and where their
// children's rows are.
#ifndef CAVS_CC_SCHEDULE_SCHEDULE_H_
#define CAVS_CC_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/schedule/graph_batch.h"

namespace cavs {

// Row index of an absent child: gathering it gives zeros.
constexpr int32_t kZeroRow = -1;

// A plan for one minibatch. Integers only; knows nothing of tensors. A view:
// the arrays belong to a Schedule, or to the framework's tensors.
//
// Invariant: the row of every child precedes the first row of its parent's
// task.
struct ScheduleView {
  // order[row] = vertex: a permutation of [0, V), "execution order".
  Span<int32_t> order;
  // Task t evaluates the rows [task_splits[t], task_splits[t + 1]). T + 1
  // values.
  Span<int32_t> task_splits;
  // task_type[t] = the vertex type, in [0, num_types), of every row of task t.
  Span<int32_t> task_type;
  // child_row[k * V + row] = row of the k-th child, or kZeroRow. arity * V
  // values.
  Span<int32_t> child_row;
  int arity = 0;
  // All children, in as many slots as they take: "edges". The edges of a row
  // are [edge_splits[row], edge_splits[row + 1]), in the order of its list of
  // children; V + 1 values, or none if the edges were not planned.
  Span<int32_t> edge_splits;
  // Per edge: the row of the child, and the number of the edge in the batch,
  // where missing children are not counted.
  Span<int32_t> edge_child, edge_number;

  int64_t num_vertices() const { return order.size(); }
  int64_t num_tasks() const { return task_type.size(); }
  int64_t num_edges() const { return edge_child.size(); }
  bool has_edges() const { return !edge_splits.empty(); }
  Span<int32_t> children(int slot) const {
    return child_row.subspan(slot * num_vertices(), num_vertices());
  }
  // The rows of the children of `row`, of those that edges lead to.
  Span<int32_t> edges_of(int64_t row) const {
    return edge_child.subspan(edge_splits[row],
                              edge_splits[row + 1] - edge_splits[row]);
  }
};

struct Schedule {
  std::vector<int32_t> order, task_splits, task_type, child_row;
  int arity = 0;
  std::vector<int32_t> edge_splits, edge_child, edge_number;

  ScheduleView view() const {
    return {order, task_splits, task_type,  child_row,
            arity, edge_splits, edge_child, edge_number};
  }
};

constexpr int32_t kWholeMinibatch = INT32_MAX;

struct ScheduleOptions {
  // NOLINTNEXTLINE: a policy alone is a choice of options.
  ScheduleOptions(const char* policy = "depth",
                  int32_t micro_batch = kWholeMinibatch)
      : policy(policy), micro_batch(micro_batch) {}

  // The name of one of Policies().
  std::string policy;
  // Graphs per micro-batch, at least 1.
  int32_t micro_batch;
  // Whether to plan edges as well. A vertex may then have more children than
  // there are slots.
  bool edges = false;
};

// Plans `batch` for vertex functions that gather from `arity` slots and come in
// `num_types` types. Validates the batch first (see GraphBatchView::Validate).
// Rejects a cycle, naming its vertices. Deterministic; no recursion. Time and
// memory are linear in edges, types and arity * vertices; `ratio` takes them
// once per type that occurs. `schedule` is unspecified after an error.
//
// `depth`: the paper's breadth-first frontier (arXiv:1712.04048, section 3.2).
// Level d is the vertices of depth d, where depth is 0 without children and
// else 1 + the deepest child's: all vertices whose children are in earlier
// levels. Each type present in a level is one task, types ascending, so no two
// tasks of a level could be one.
//
// `ratio`: fewer tasks for several types. Each round evaluates all ready
// vertices of one type: the type whose ready vertices are the largest fraction
// of its frontier (the vertices of that type that depend on no other
// unevaluated vertex of that type); if equal, the first type. Never more tasks
// than `depth`, whose tasks are taken where they are fewer, and where there is
// one type only. See ratio_policy.cc.
//
// `serial`: one vertex per task, in the order of `depth`.
//
// `micro_batch` graphs at a time are planned as if they were alone, in order:
// the rows of the first `micro_batch` graphs precede those of the next, so that
// what is computed task by task stays in the cache.
//
// Rows within a task stand in the order in which later tasks gather them: going
// from the last task to the first, the children of a task's first row, then of
// its second, ..., take the next free rows of their own tasks. Vertices that no
// vertex gathers come last, by id. So in chains (of any lengths) the rows that
// a task gathers are consecutive. In complete trees the children of a vertex
// are consecutive, and follow those of the vertex before it.
Status MakeSchedule(const GraphBatchView& batch, int arity, int num_types,
                    ScheduleOptions options, Schedule* schedule);

// Checks a schedule that came from outside (a stored pipeline, a user) before
// it is executed: sizes agree, `order` is a permutation, every task has a row
// and a type in [0, num_types), every child row precedes its parent's task.
// Linear time; never reads outside the arrays. Whether it is the schedule of
// the graphs at hand is the caller's business.
Status ValidateSchedule(const ScheduleView& schedule, int num_types);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_SCHEDULE_H_
