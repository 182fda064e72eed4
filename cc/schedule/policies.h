// The policies by which vertices are grouped into tasks. The registration of
// the op takes the names from this table, and the Python package takes them
// from the registration.
#ifndef CAVS_CC_SCHEDULE_POLICIES_H_
#define CAVS_CC_SCHEDULE_POLICIES_H_

#include <cstdint>
#include <string>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/schedule/graph_batch.h"
#include "cc/schedule/task_plan.h"

namespace cavs {

struct Policy {
  const char* name;
  // Returns the tasks of a valid batch whose micro-batches are split at
  // `micro_batch_splits`. `by_level` is the result of PlanByLevel for the
  // batch. Every child is in an earlier task than its parent, a task has
  // vertices of one type and of one micro-batch, and all tasks of a micro-batch
  // precede the tasks of the next one.
  TaskPlan (*plan)(const GraphBatchView& batch,
                   Span<int32_t> micro_batch_splits, TaskPlan by_level);
};

// Returns all policies. The first is the default.
Span<Policy> Policies();

// Returns the names of all policies as text, for example "'depth', 'ratio'".
std::string PolicyNames();

// Finds the policy called `name`. Returns kInvalidArgument if there is none.
Status FindPolicy(const std::string& name, const Policy** policy);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_POLICIES_H_
