#include "cc/schedule/type_rows.h"

#include <algorithm>
#include <numeric>

#include "cc/schedule/traits.h"

namespace cavs {

TypeRows::TypeRows(const ScheduleView& schedule,
                   const std::vector<int32_t>& programs,
                   const std::vector<int>& traits, int program) {
  const int64_t num_tasks = schedule.num_tasks();
  first_row_.resize(num_tasks);
  childless_.resize(num_tasks);
  int64_t count = 0;
  for (int64_t t = 0; t < num_tasks; ++t) {
    first_row_[t] = count;
    if (programs[t] != program) continue;
    const int64_t rows = schedule.task_splits[t + 1] - schedule.task_splits[t];
    largest_task_ = std::max(largest_task_, rows);
    num_tasks_ += rows > 0 ? 1 : 0;
    count += rows;
    childless_[t] = (traits[t] & kChildless) != 0;
    any_childless_ = any_childless_ || childless_[t];
  }
  const bool is_whole = count == schedule.num_vertices();
  own_state_row_.resize(count);
  if (is_whole) {
    std::iota(own_state_row_.begin(), own_state_row_.end(), 0);
    vertex_ = schedule.order;
    child_row_ = schedule.child_row;
    edge_splits_ = schedule.edge_splits;
    edge_child_ = schedule.edge_child;
    edge_number_ = schedule.edge_number;
  } else {
    own_vertex_.resize(count);
    own_child_row_.resize(schedule.arity * count);
    if (schedule.has_edges()) own_edge_splits_ = {0};
    for (int64_t t = 0; t < num_tasks; ++t) {
      if (programs[t] == program) CopyTask(schedule, t);
    }
    vertex_ = own_vertex_;
    child_row_ = own_child_row_;
    edge_splits_ = own_edge_splits_;
    edge_child_ = own_edge_child_;
    edge_number_ = own_edge_number_;
  }
  state_row_ = own_state_row_;
  SetEdgeRows();
  for (int64_t t = 0; t < num_tasks; ++t) {
    if (programs[t] != program) continue;
    most_edges_of_task_ =
        std::max(most_edges_of_task_, edges(first_row(t), end_row(t)).count);
  }
}

void TypeRows::SetEdgeRows() {
  edge_row_.reserve(edge_child_.size());
  for (int64_t row = 0; row + 1 < edge_splits_.size(); ++row) {
    edge_row_.resize(edge_splits_[row + 1], static_cast<int32_t>(row));
  }
}

void TypeRows::CopyTask(const ScheduleView& schedule, int64_t task) {
  const int32_t begin = schedule.task_splits[task];
  const int32_t end = schedule.task_splits[task + 1];
  const int64_t first = first_row_[task], count = own_state_row_.size();
  std::iota(own_state_row_.begin() + first,
            own_state_row_.begin() + first + (end - begin), begin);
  std::copy(schedule.order.data() + begin, schedule.order.data() + end,
            own_vertex_.begin() + first);
  for (int slot = 0; slot < schedule.arity; ++slot) {
    const int32_t* children = schedule.children(slot).data();
    std::copy(children + begin, children + end,
              own_child_row_.begin() + slot * count + first);
  }
  if (schedule.has_edges()) CopyEdges(schedule, task);
}

void TypeRows::CopyEdges(const ScheduleView& schedule, int64_t task) {
  const int32_t begin = schedule.task_splits[task];
  const int32_t end = schedule.task_splits[task + 1];
  const int32_t first = schedule.edge_splits[begin];
  const int32_t last = schedule.edge_splits[end];
  const int32_t shift = own_edge_splits_.back() - first;
  for (int32_t row = begin; row < end; ++row) {
    own_edge_splits_.push_back(schedule.edge_splits[row + 1] + shift);
  }
  own_edge_child_.insert(own_edge_child_.end(), &schedule.edge_child[first],
                         &schedule.edge_child[first] + (last - first));
  own_edge_number_.insert(own_edge_number_.end(), &schedule.edge_number[first],
                          &schedule.edge_number[first] + (last - first));
}

}  // namespace cavs
