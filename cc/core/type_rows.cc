#include "cc/core/type_rows.h"

#include <algorithm>
#include <numeric>

namespace cavs {
namespace {

bool IsChildless(const ScheduleView& schedule, int64_t task) {
  for (int slot = 0; slot < schedule.arity; ++slot) {
    const Span<int32_t> children = schedule.children(slot);
    for (int32_t row = schedule.task_splits[task];
         row < schedule.task_splits[task + 1]; ++row) {
      if (children[row] >= 0) return false;
    }
  }
  return true;
}

}  // namespace

TypeRows::TypeRows(const ScheduleView& schedule, int type, int num_types)
    : whole_(num_types == 1) {
  const int64_t num_tasks = schedule.num_tasks();
  first_row_.resize(num_tasks);
  int64_t count = 0;
  for (int64_t t = 0; t < num_tasks; ++t) {
    first_row_[t] = count;
    if (schedule.task_type[t] != type) continue;
    const int32_t begin = schedule.task_splits[t];
    const int32_t end = schedule.task_splits[t + 1];
    largest_task_ = std::max<int64_t>(largest_task_, end - begin);
    num_tasks_ += end > begin ? 1 : 0;
    count += end - begin;
    if (whole_) continue;
    for (int32_t row = begin; row < end; ++row) own_state_row_.push_back(row);
  }
  if (whole_) {
    own_state_row_.resize(schedule.num_vertices());
    std::iota(own_state_row_.begin(), own_state_row_.end(), 0);
    vertex_ = schedule.order;
    child_row_ = schedule.child_row;
  } else {
    own_vertex_.reserve(count);
    for (int32_t row : own_state_row_)
      own_vertex_.push_back(schedule.order[row]);
    own_child_row_.reserve(schedule.arity * count);
    for (int slot = 0; slot < schedule.arity; ++slot) {
      const Span<int32_t> children = schedule.children(slot);
      for (int32_t row : own_state_row_)
        own_child_row_.push_back(children[row]);
    }
    vertex_ = own_vertex_;
    child_row_ = own_child_row_;
  }
  state_row_ = own_state_row_;
  childless_.resize(num_tasks);
  for (int64_t t = 0; t < num_tasks; ++t) {
    if (schedule.task_type[t] == type) childless_[t] = IsChildless(schedule, t);
  }
}

}  // namespace cavs
