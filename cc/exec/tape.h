// What the forward pass leaves for the backward pass.
#ifndef CAVS_CC_EXEC_TAPE_H_
#define CAVS_CC_EXEC_TAPE_H_

#include <memory>
#include <vector>

#include "cc/exec/program_run.h"
#include "cc/schedule/passed_rows.h"
#include "cc/schedule/schedule.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// Owned through shared pointers (by a framework's tensor, say); immutable once
// the forward pass has returned, so any number of backward passes may read it
// at the same time. Its memory returns to the pool with the last owner.
struct Tape {
  // What the schedule's arrays and captured tensors live in.
  std::vector<std::shared_ptr<void>> alive;
  ScheduleView schedule;
  // One of each per vertex type.
  std::vector<TypeRows> rows;
  std::vector<PassedRows> pull_rows;  // Per pull.
  PassedRows push_rows;               // Of all pushes.
  std::vector<std::vector<Value>> saved;
  // The storage behind `saved`.
  std::shared_ptr<void> memory;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_TAPE_H_
