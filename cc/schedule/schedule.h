// Plans which vertices are evaluated together, in which order, and where the
// rows of their children are.
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

// A view of the plan for one minibatch. The plan consists of integers only and
// knows nothing of tensors. The arrays belong to a Schedule or to the
// framework's tensors.
//
// Invariant: the row of every child precedes the first row of its parent's
// task.
struct ScheduleView {
  // V values: order[row] is the vertex of `row`. This permutation of [0, V) is
  // the execution order.
  Span<int32_t> order;
  // Task t evaluates the rows [task_splits[t], task_splits[t + 1]). T + 1
  // values.
  Span<int32_t> task_splits;
  // T values: task_type[t] is the vertex type, in [0, num_types), of every row
  // of task t.
  Span<int32_t> task_type;
  // arity * V values: child_row[k * V + row] is the row of the k-th child, or
  // kZeroRow.
  Span<int32_t> child_row;
  int arity = 0;
  // V + 1 values, or none if edges were not planned. Every child is an edge,
  // however many children a vertex has. The edges of a row are
  // [edge_splits[row], edge_splits[row + 1]), in the order of its list of
  // children.
  Span<int32_t> edge_splits;
  // One value per edge: the row of the child, and the number of the edge in the
  // batch. Missing children are not counted.
  Span<int32_t> edge_child, edge_number;

  int64_t num_vertices() const { return order.size(); }
  int64_t num_tasks() const { return task_type.size(); }
  int64_t num_edges() const { return edge_child.size(); }
  bool has_edges() const { return !edge_splits.empty(); }
  Span<int32_t> children(int slot) const {
    return child_row.subspan(slot * num_vertices(), num_vertices());
  }
  // Returns the rows of the children to which the edges of `row` lead.
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
// Returns kInvalidArgument for a cycle, naming its vertices. The plan is
// deterministic, and planning does not recurse. Time and memory are linear in
// edges, types and arity * vertices; `ratio` takes them once per type that
// occurs. After an error `schedule` is unspecified.
//
// `depth` is the breadth-first frontier of the paper (arXiv:1712.04048, section
// 3.2). The depth of a vertex is 0 if it has no children, else 1 + the largest
// depth of its children. Level d consists of all vertices of depth d, so that
// their children are in earlier levels. The vertices of one type in a level are
// one task. The tasks of a level are sorted by type.
//
// `ratio` makes fewer tasks if there are several types. Each round evaluates
// all ready vertices of one type. It chooses the type whose ready vertices are
// the largest fraction of its frontier, and the first type among equals. The
// frontier of a type consists of its vertices that depend on no other
// unevaluated vertex of the type. There are never more tasks than by `depth`:
// the tasks of `depth` are taken if they are fewer, or if there is one type
// only. See ratio_policy.cc.
//
// `serial` makes one task per vertex, in the order of `depth`.
//
// `micro_batch` graphs at a time are planned as if they were alone, in order.
// The rows of the first `micro_batch` graphs precede the rows of the next
// graphs, so that the rows that consecutive tasks compute stay in the cache.
//
// Rows within a task stand in the order in which later tasks gather them. From
// the last task to the first, the children of the first row of a task, then the
// children of its second row, and so on, take the next free rows of their own
// tasks. Vertices that no vertex gathers come last, sorted by id. In chains (of
// any lengths) the rows that a task gathers are therefore consecutive. In
// complete trees the children of a vertex are consecutive, and follow the
// children of the vertex before it.
Status MakeSchedule(const GraphBatchView& batch, int arity, int num_types,
                    ScheduleOptions options, Schedule* schedule);

// Checks a schedule that came from outside (a stored pipeline, a user) before
// it is executed: sizes agree, `order` is a permutation, every task has a row
// and a type in [0, num_types), every child row precedes its parent's task.
// Takes linear time and never reads outside the arrays. The caller must make
// sure that the schedule belongs to the graphs.
Status ValidateSchedule(const ScheduleView& schedule, int num_types);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_SCHEDULE_H_
