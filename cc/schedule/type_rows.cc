#include "cc/schedule/type_rows.h"

#include <algorithm>
#include <numeric>

#include "cc/schedule/lacks.h"

namespace cavs {

TypeRows::TypeRows(const ScheduleView& schedule,
                   const std::vector<int32_t>& programs,
                   const std::vector<int>& lacks, int program) {
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
    childless_[t] = (lacks[t] & kLacksChildren) != 0;
    any_childless_ = any_childless_ || childless_[t];
  }
  const bool is_whole = count == schedule.num_vertices();
  own_state_row_.resize(count);
  if (is_whole) {
    std::iota(own_state_row_.begin(), own_state_row_.end(), 0);
    vertex_ = schedule.order;
    child_row_ = schedule.child_row;
  } else {
    own_vertex_.resize(count);
    own_child_row_.resize(schedule.arity * count);
    for (int64_t t = 0; t < num_tasks; ++t) {
      if (programs[t] == program) CopyTask(schedule, t);
    }
    vertex_ = own_vertex_;
    child_row_ = own_child_row_;
  }
  state_row_ = own_state_row_;
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
}

}  // namespace cavs
