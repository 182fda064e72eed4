// A schedule as the program of one vertex type sees it.
#ifndef CAVS_CC_SCHEDULE_TYPE_ROWS_H_
#define CAVS_CC_SCHEDULE_TYPE_ROWS_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/schedule/schedule.h"

namespace cavs {

struct EdgeRange {
  int64_t first = 0, count = 0;
};

// The total size of some tasks.
struct TaskCount {
  int64_t rows = 0, edges = 0, tasks = 0;
};

// A TypeRows numbers the vertices of one program 0, 1, ... in execution order.
// These numbers are the rows of the program, so that its eager and lazy
// operators run over one contiguous range. If the program evaluates all
// vertices, the arrays of the schedule are used, not copies, and must outlive
// the object. An object never changes after it is made.
class TypeRows {
 public:
  // `programs` and `traits` have a value per task: the program that evaluates
  // it, and its traits.
  TypeRows(const ScheduleView& schedule, const std::vector<int32_t>& programs,
           const std::vector<int>& traits, int program);
  TypeRows(const TypeRows&) = delete;
  TypeRows(TypeRows&&) = default;

  int64_t size() const { return vertex_.size(); }
  int64_t largest_task() const { return largest_task_; }
  // Edges are numbered 0, 1, ... in the order of the rows that they belong to.
  int64_t num_edges() const { return edge_child_.size(); }
  // The edges of rows [first, end).
  EdgeRange edges(int64_t first, int64_t end) const {
    if (edge_splits_.empty()) return {};
    return {edge_splits_[first], edge_splits_[end] - edge_splits_[first]};
  }
  // The largest number of edges of a task.
  int64_t most_edges_of_task() const { return most_edges_of_task_; }
  // Number of tasks of this type that have rows.
  int64_t num_tasks() const { return num_tasks_; }
  TaskCount count() const { return {size(), num_edges(), num_tasks()}; }

  // Number of tasks of all types.
  int64_t num_tasks_in_all() const { return first_row_.size(); }

  // The first row of task t, which must be of this type.
  int64_t first_row(int64_t task) const { return first_row_[task]; }
  // The number of rows of this type in the tasks [0, t]; t may be of any type.
  int64_t end_row(int64_t task) const {
    return task + 1 < static_cast<int64_t>(first_row_.size())
               ? first_row_[task + 1]
               : size();
  }

  // Whether no row of task t, which must be of this type, has a child.
  bool childless(int64_t task) const { return childless_[task]; }

  // Whether a task of this type has no children.
  bool any_childless() const { return any_childless_; }

  // One value per row: its vertex, its row in the state of the whole minibatch,
  // and the state rows of its children.
  Span<int32_t> vertex() const { return vertex_; }
  Span<int32_t> state_row() const { return state_row_; }
  Span<int32_t> child_row(int slot) const {
    return child_row_.subspan(slot * size(), size());
  }

  // The child rows of all slots, one slot after the other.
  Span<int32_t> child_rows() const { return child_row_; }

  // The edges of row r are [edge_splits()[r], edge_splits()[r + 1]); empty if
  // edges were not planned.
  Span<int32_t> edge_splits() const { return edge_splits_; }
  // One value per edge: the state row of the child, the number of the edge in
  // the batch, and the row that it belongs to.
  Span<int32_t> edge_child() const { return edge_child_; }
  Span<int32_t> edge_number() const { return edge_number_; }
  Span<int32_t> edge_row() const { return edge_row_; }

 private:
  // Fills in the rows of `task`, which this program evaluates.
  void CopyTask(const ScheduleView& schedule, int64_t task);
  void CopyEdges(const ScheduleView& schedule, int64_t task);
  void SetEdgeRows();

  bool any_childless_ = false;
  int64_t largest_task_ = 0, num_tasks_ = 0;
  std::vector<int64_t> first_row_;  // One value per task, whatever its type.
  std::vector<bool> childless_;     // One value per task.
  Span<int32_t> vertex_, state_row_, child_row_;
  std::vector<int32_t> own_vertex_, own_state_row_, own_child_row_;
  int64_t most_edges_of_task_ = 0;
  Span<int32_t> edge_splits_, edge_child_, edge_number_;
  std::vector<int32_t> own_edge_splits_, own_edge_child_, own_edge_number_;
  std::vector<int32_t> edge_row_;
};

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_TYPE_ROWS_H_
