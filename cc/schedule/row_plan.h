// Plans the rows of a minibatch as programs need to know them.
#ifndef CAVS_CC_SCHEDULE_ROW_PLAN_H_
#define CAVS_CC_SCHEDULE_ROW_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "cc/schedule/chunks.h"
#include "cc/schedule/schedule.h"
#include "cc/schedule/traits.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// The rows of a type's program in one chunk.
struct ChunkRows {
  int64_t first = 0, count = 0;
  int64_t childless = 0;  // The number of rows of the first task of the chunk
                          // if they have no children, else 0.
  EdgeRange edges;
};

// Says how often the program of a vertex type gathers.
struct GatherCounts {
  std::vector<int> slots;  // By slot.
  int edges = 0;           // Along all edges.
};

// programs[type][traits] is the number of the program that evaluates the tasks
// of this type with these traits. It is `type`, or another number from the
// number of types on.
using ProgramTable = std::vector<std::array<int, kNumTraitSets>>;

// Returns the table in which every type has one program for all of its tasks.
ProgramTable OneProgramPerType(int num_types);

// A RowPlan holds everything that the programs of all vertex types need and
// that follows from a schedule alone. It is computed once per training step and
// never changes; a tape keeps it for the backward direction. The arrays of the
// schedule must outlive it.
class RowPlan {
 public:
  RowPlan() = default;
  // `traits` has a value per task.
  RowPlan(const ScheduleView& schedule, const std::vector<int>& traits,
          const ProgramTable& programs);
  // One program per type.
  RowPlan(const ScheduleView& schedule, int num_types);
  RowPlan(const RowPlan&) = delete;
  RowPlan(RowPlan&&) = default;
  RowPlan& operator=(RowPlan&&) = default;

  const ScheduleView& schedule() const { return schedule_; }
  int num_types() const { return static_cast<int>(types_.size()); }
  // The program of a task.
  int program(int64_t task) const { return program_of_task_[task]; }
  const std::vector<TypeRows>& types() const { return types_; }
  const TypeRows& type(int type) const { return types_[type]; }
  int64_t num_rows() const { return schedule_.num_vertices(); }
  int64_t largest_task() const { return largest_task_; }

  // See MakeChunks().
  std::vector<Chunk> Chunks(int64_t most_rows) const;
  ChunkRows RowsOf(int type, const Chunk& chunk) const;
  // Returns whether these rows of a type are adjacent rows of the state.
  bool AreAdjacentInState(int type, const ChunkRows& rows) const;

  // Returns the stride, in rows, between the first children of consecutive
  // rows; 0 if it varies, or if the children in slots 0, 1, ... of some row are
  // not adjacent rows. With `by_task`, only consecutive rows of the same task
  // are compared; with `only_for_children`, tasks without children are left
  // out.
  int64_t ChildStride(int type, int slots, bool by_task,
                      bool only_for_children) const;

  // Returns how often each row of the state is gathered. `counts` is indexed by
  // type.
  std::vector<int32_t> CountGathers(
      const std::vector<GatherCounts>& counts) const;

 private:
  ScheduleView schedule_;
  std::vector<int64_t> lowest_read_;  // One value per task.
  std::vector<int32_t> program_of_task_;
  std::vector<TypeRows> types_;
  int64_t largest_task_ = 1;
};

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_ROW_PLAN_H_
