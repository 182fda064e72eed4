// The values that the forward direction leaves for the backward direction.
#ifndef CAVS_CC_EXEC_TAPE_H_
#define CAVS_CC_EXEC_TAPE_H_

#include <memory>
#include <set>
#include <vector>

#include "cc/device/bindings.h"
#include "cc/schedule/external_rows.h"
#include "cc/schedule/row_plan.h"
#include "cc/schedule/schedule.h"

namespace cavs {

// The data that the forward direction reads, and the blocks that it writes.
struct StepInputs {
  ScheduleView schedule;
  std::vector<Block> pulls;   // Read only; they live as long as the tape.
  std::vector<Block> pushes;  // Zero in rows of types that push nothing.
  // One map per pull. Vertices of types that pull it must have a row.
  std::vector<RowMap> pull_rows;
  // Shared by all pushes of vertices. Pushes of edges have a row for each edge.
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
  ExternalRows push_rows;               // Shared by all pushes of vertices.
  ExternalRows edge_rows;               // Shared by all pushes of edges.
  std::set<int> edge_pushes;
  // The index lists of all of these in device memory: by type; by pull and
  // type; by type.
  std::vector<IndexLists> lists;
  std::vector<std::vector<const int32_t*>> pull_lists;
  std::vector<const int32_t*> push_lists, edge_lists;
  // Indexed by type, then by result.
  std::vector<std::vector<Slot>> saved;
  std::shared_ptr<void> memory;  // Of `saved` and of the lists.

  bool is_of_edges(int push) const { return edge_pushes.count(push) > 0; }
  const ExternalRows& rows_of_push(int push) const {
    return is_of_edges(push) ? edge_rows : push_rows;
  }
  // The lists of the rows of all pushes for the program of a type.
  std::vector<const int32_t*> lists_of_pushes(size_t count, int type) const {
    std::vector<const int32_t*> of_pushes;
    for (size_t push = 0; push < count; ++push) {
      const bool of_edges = is_of_edges(static_cast<int>(push));
      of_pushes.push_back((of_edges ? edge_lists : push_lists)[type]);
    }
    return of_pushes;
  }
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_TAPE_H_
