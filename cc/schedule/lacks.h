// What the vertices of a task do not have.
#ifndef CAVS_CC_SCHEDULE_LACKS_H_
#define CAVS_CC_SCHEDULE_LACKS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "cc/schedule/external_rows.h"
#include "cc/schedule/schedule.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// Bits that say what no vertex of a task has.
enum Lack : int {
  kLacksNothing = 0,
  kLacksChildren = 1,
  kLacksInputs = 2,  // A row of any input that not every vertex has.
};
constexpr int kNumLacks = 4;

// By task. `partial` are the rows of the inputs that not every vertex has.
std::vector<int> LacksOfTasks(const ScheduleView& schedule,
                              const std::vector<const RowMap*>& partial);

// By what a task lacks, and its type.
using TaskCounts = std::array<std::vector<TaskCount>, kNumLacks>;
TaskCounts CountTasks(const ScheduleView& schedule,
                      const std::vector<int>& lacks, int num_types);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_LACKS_H_
