// The policies by which vertices become tasks. The op's registration, and
// through it the Python package, take the names from this table.
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
  // The tasks of a valid batch whose micro-batches are split at
  // `micro_batch_splits`; `by_level` is what PlanByLevel returned for it. Every
  // child is in an earlier task than its parent, a task has vertices of one
  // type and of one micro-batch, and all tasks of a micro-batch precede those
  // of the next.
  TaskPlan (*plan)(const GraphBatchView& batch,
                   Span<int32_t> micro_batch_splits, TaskPlan by_level);
};

// All policies; the first is the default.
Span<Policy> Policies();

// "'depth', 'ratio'".
std::string PolicyNames();

// The policy called `name`, which must be the name of one.
Status FindPolicy(const std::string& name, const Policy** policy);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_POLICIES_H_
