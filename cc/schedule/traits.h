// Traits of tasks: properties that all vertices of a task have.
#ifndef CAVS_CC_SCHEDULE_TRAITS_H_
#define CAVS_CC_SCHEDULE_TRAITS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "cc/schedule/external_rows.h"
#include "cc/schedule/schedule.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

enum Trait : int {
  kNoTraits = 0,
  kChildless = 1,
  kWithoutInputs = 2,  // No row of any input that not every vertex has.
  kAllChildren = 4,    // There are slots, and a child in each of them.
};
// The sum of a task's traits is less.
constexpr int kNumTraitSets = 8;

// By task, the sum of its traits. `partial` are the rows of the inputs that not
// every vertex has.
std::vector<int> TraitsOfTasks(const ScheduleView& schedule,
                               const std::vector<const RowMap*>& partial);

// By the traits of a task, and its type.
using TaskCounts = std::array<std::vector<TaskCount>, kNumTraitSets>;
TaskCounts CountTasks(const ScheduleView& schedule,
                      const std::vector<int>& traits, int num_types);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_TRAITS_H_
