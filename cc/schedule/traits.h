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
  kWithoutInputs = 2,  // No vertex has a row of a partial input.
  kAllChildren = 4,    // There are slots, and each vertex has a child in each.
};
// The sum of the traits of a task is less than this.
constexpr int kNumTraitSets = 8;

// Returns the sum of the traits of each task. `partial` are the rows of the
// partial inputs, which have rows for some vertices only.
std::vector<int> TraitsOfTasks(const ScheduleView& schedule,
                               const std::vector<const RowMap*>& partial);

// Sizes of tasks: counts[type][traits] is for the tasks of this type with these
// traits.
using TaskCounts = std::vector<std::array<TaskCount, kNumTraitSets>>;
TaskCounts CountTasks(const ScheduleView& schedule,
                      const std::vector<int>& traits, int num_types);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_TRAITS_H_
