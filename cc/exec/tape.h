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

// What the forward direction reads, and where it writes.
struct StepInputs {
  ScheduleView schedule;
  std::vector<Block> pulls;   // Read only; they live as long as the tape.
  std::vector<Block> pushes;  // Zero in rows of types that push nothing.
  // One map per pull. Vertices of types that pull it must have a row.
  std::vector<RowMap> pull_rows;
  // Shared by all pushes.
  RowMap push_rows;
  std::vector<std::vector<TensorRef>> captures;  // Indexed by type.
};

// Owned through shared pointers (by a framework's tensor, say). Immutable once
// the forward direction has returned, so several backward directions may read
// it at the same time. Its memory returns to the pool with the last owner.
struct Tape {
  // Owners of the schedule's arrays and of captured tensors.
  std::vector<std::shared_ptr<void>> alive;
  StepInputs inputs;  // To run the forward direction again.
  int num_types = 0;  // Vertex types of the model.
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
