#include "cc/schedule/row_plan.h"

#include <algorithm>

namespace cavs {

ProgramTable OneProgramPerType(int num_types) {
  ProgramTable programs(num_types);
  for (int type = 0; type < num_types; ++type) programs[type].fill(type);
  return programs;
}

RowPlan::RowPlan(const ScheduleView& schedule, int num_types)
    : RowPlan(schedule, TraitsOfTasks(schedule, {}),
              OneProgramPerType(num_types)) {}

RowPlan::RowPlan(const ScheduleView& schedule, const std::vector<int>& traits,
                 const ProgramTable& programs)
    : schedule_(schedule), lowest_read_(LowestRowsRead(schedule)) {
  int num_programs = 0;
  for (const auto& of_type : programs) {
    for (int program : of_type) {
      num_programs = std::max(num_programs, program + 1);
    }
  }
  program_of_task_.reserve(schedule.num_tasks());
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    program_of_task_.push_back(
        programs[schedule.task_type[task]][traits[task]]);
  }
  types_.reserve(num_programs);
  for (int program = 0; program < num_programs; ++program) {
    types_.emplace_back(schedule, program_of_task_, traits, program);
    largest_task_ = std::max(largest_task_, types_.back().largest_task());
  }
}

std::vector<Chunk> RowPlan::Chunks(int64_t most_rows) const {
  return MakeChunks(schedule_, lowest_read_, most_rows);
}

ChunkRows RowPlan::RowsOf(int type, const Chunk& chunk) const {
  const TypeRows& rows = types_[type];
  ChunkRows own;
  own.first = rows.first_row(chunk.first);
  own.count = rows.end_row(chunk.end - 1) - own.first;
  own.edges = rows.edges(own.first, own.first + own.count);
  if (rows.childless(chunk.first)) {
    own.childless = rows.end_row(chunk.first) - own.first;
  }
  return own;
}

bool RowPlan::AreAdjacentInState(int type, const ChunkRows& rows) const {
  if (rows.count == 0) return true;
  const Span<int32_t> state = types_[type].state_row();
  return state[rows.first + rows.count - 1] - state[rows.first] ==
         rows.count - 1;
}

int64_t RowPlan::ChildStride(int type, int slots, bool by_task,
                             bool only_for_children) const {
  const TypeRows& rows = types_[type];
  if (rows.size() == 0) return slots;
  const Span<int32_t> first = rows.child_row(0);
  int64_t stride = slots;  // Every stride is right if every task has one row.
  bool is_known = false;
  const auto stand_so = [&](int64_t begin, int64_t end) {
    if (end - begin > 1 && !is_known) {
      stride = first[begin + 1] - first[begin];
      is_known = true;
    }
    bool so = first[begin] >= 0;
    for (int slot = 0; slot < slots; ++slot) {
      const int32_t* child = rows.child_row(slot).data();
      const int64_t origin = first[begin] + slot - begin * stride;
      for (int64_t row = begin; row < end; ++row) {
        so &= child[row] == origin + row * stride;
      }
    }
    return so && stride >= slots;
  };
  if (!by_task) return stand_so(0, rows.size()) ? stride : 0;
  for (int64_t task = 0; task < rows.num_tasks_in_all(); ++task) {
    const int64_t begin = rows.first_row(task), end = rows.end_row(task);
    if (begin == end) continue;
    if (only_for_children && rows.childless(task)) continue;
    if (!stand_so(begin, end)) return 0;
  }
  return stride;
}

std::vector<int32_t> RowPlan::CountGathers(
    const std::vector<GatherCounts>& counts) const {
  std::vector<int32_t> gathers(num_rows(), 0);
  for (int type = 0; type < num_types(); ++type) {
    const std::vector<int>& slots = counts[type].slots;
    for (const int32_t row : types_[type].edge_child()) {
      gathers[row] += counts[type].edges;
    }
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot] == 0) continue;
      for (int32_t row : types_[type].child_row(static_cast<int>(slot))) {
        if (row >= 0) gathers[row] += slots[slot];
      }
    }
  }
  return gathers;
}

}  // namespace cavs
