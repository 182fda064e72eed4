// The values that the forward direction leaves for the backward direction.
#ifndef CAVS_CC_EXEC_TAPE_H_
#define CAVS_CC_EXEC_TAPE_H_

#include <memory>
#include <vector>

#include "cc/device/bindings.h"
#include "cc/schedule/external_rows.h"
#include "cc/schedule/row_plan.h"
#include "cc/schedule/schedule.h"

namespace cavs {

// Owned through shared pointers (by a framework's tensor, say). Immutable once
// the forward direction has returned, so several backward directions may read
// it at the same time. Its memory returns to the pool with the last owner.
struct Tape {
  // Owners of the schedule's arrays and of captured tensors.
  std::vector<std::shared_ptr<void>> alive;
  RowPlan rows;
  std::vector<ExternalRows> pull_rows;  // One per pull.
  ExternalRows push_rows;               // Shared by all pushes.
  // The index lists of all of these in device memory: by type; by pull and
  // type; by type.
  std::vector<IndexLists> lists;
  std::vector<std::vector<const int32_t*>> pull_lists;
  std::vector<const int32_t*> push_lists;
  // Indexed by type, then by result.
  std::vector<std::vector<Slot>> saved;
  // The memory of `saved` and of the lists.
  std::vector<std::shared_ptr<void>> memory;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_TAPE_H_
