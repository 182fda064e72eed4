// Everything that follows from a schedule alone.
#ifndef CAVS_CC_SCHEDULE_ROW_PLAN_H_
#define CAVS_CC_SCHEDULE_ROW_PLAN_H_

#include <cstdint>
#include <vector>

#include "cc/schedule/chunks.h"
#include "cc/schedule/schedule.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// The rows of a type's program in one chunk.
struct ChunkRows {
  int64_t first = 0, count = 0;
  int64_t childless = 0;  // As many at its beginning have no children.
};

// How often the program of a vertex type gathers from each slot.
using SlotCounts = std::vector<int>;

// What the programs of all vertex types have to know of the rows of one
// minibatch. Computed once for a step; a tape keeps it for the backward
// direction. The arrays of the schedule must outlive it.
class RowPlan {
 public:
  RowPlan() = default;
  RowPlan(const ScheduleView& schedule, int num_types);
  RowPlan(const RowPlan&) = delete;
  RowPlan(RowPlan&&) = default;
  RowPlan& operator=(RowPlan&&) = default;

  const ScheduleView& schedule() const { return schedule_; }
  int num_types() const { return static_cast<int>(types_.size()); }
  const std::vector<TypeRows>& types() const { return types_; }
  const TypeRows& type(int type) const { return types_[type]; }
  int64_t num_rows() const { return schedule_.num_vertices(); }
  int64_t largest_task() const { return largest_task_; }

  // See MakeChunks().
  std::vector<Chunk> Chunks(int64_t most_rows) const;
  ChunkRows RowsOf(int type, const Chunk& chunk) const;
  // Are the rows of a type in these chunks adjacent rows of the state?
  bool AreAdjacentInState(int type, const ChunkRows& rows) const;

  // The stride in rows between the first children of consecutive rows, where
  // the children in slots 0, 1, ... of every row are adjacent rows, and the
  // stride is the same everywhere; else 0. With `by_task` only consecutive rows
  // of one task are compared, without tasks that have no child if
  // `only_for_children`.
  int64_t ChildStride(int type, int slots, bool by_task,
                      bool only_for_children) const;

  // How often each row of the state is gathered. `slots`: by type.
  std::vector<int32_t> CountGathers(const std::vector<SlotCounts>& slots) const;

 private:
  ScheduleView schedule_;
  std::vector<int64_t> lowest_read_;  // By task.
  std::vector<TypeRows> types_;
  int64_t largest_task_ = 1;
};

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_ROW_PLAN_H_
