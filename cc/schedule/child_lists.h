// Converts child lists from users before they are validated.
#ifndef CAVS_CC_SCHEDULE_CHILD_LISTS_H_
#define CAVS_CC_SCHEDULE_CHILD_LISTS_H_

#include <cstdint>

#include "cc/schedule/graph_batch.h"

namespace cavs {

// Converts child ids that are relative to their graph to ids in the minibatch,
// and writes as many ids as `batch` has. Negative ids stay as they are, ids
// that would overflow become the largest int32, and all ids stay as they are if
// the splits are not valid. Validate() rejects such ids by their value.
void MakeAbsolute(const GraphBatchView& batch, int32_t* absolute);

// Writes V x arity values, which say whether each slot of each vertex has a
// child. Reads nothing outside the arrays, whatever the splits are.
void FindChildren(const GraphBatchView& batch, int arity, bool* has_child);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_CHILD_LISTS_H_
