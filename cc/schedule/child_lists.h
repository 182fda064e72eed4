// Child lists from users: what is made of them before they are validated.
#ifndef CAVS_CC_SCHEDULE_CHILD_LISTS_H_
#define CAVS_CC_SCHEDULE_CHILD_LISTS_H_

#include <cstdint>

#include "cc/schedule/graph_batch.h"

namespace cavs {

// Makes child ids that are relative to their graph absolute: writes as many as
// `batch` has. Ids of vertices that do not exist stay as they are, so that
// Validate() can reject them by their value: negative ones, the largest int32,
// and all if the splits are not valid.
void MakeAbsolute(const GraphBatchView& batch, int32_t* absolute);

// Writes V x arity values: which slots of each vertex have a child. Reads
// nothing outside the arrays, whatever the splits are.
void FindChildren(const GraphBatchView& batch, int arity, bool* has_child);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_CHILD_LISTS_H_
