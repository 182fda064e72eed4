#include "cc/schedule/policies.h"

#include <iterator>
#include <numeric>

namespace cavs {
namespace {

TaskPlan PlanByDepth(const GraphBatchView&, Span<int32_t>, TaskPlan by_level) {
  return by_level;
}

// One vertex per task, children before parents: the unbatched baseline.
TaskPlan PlanSerially(const GraphBatchView& batch, Span<int32_t>,
                      TaskPlan plan) {
  const int64_t num_vertices = batch.num_vertices();
  plan.task_splits.resize(num_vertices + 1);
  std::iota(plan.task_splits.begin(), plan.task_splits.end(), 0);
  plan.task_type.assign(num_vertices, 0);
  for (int32_t task = 0; task < num_vertices; ++task) {
    const int32_t vertex = plan.vertices[task];
    plan.task_of[vertex] = task;
    if (!batch.vertex_type.empty()) {
      plan.task_type[task] = batch.vertex_type[vertex];
    }
  }
  return plan;
}

constexpr Policy kPolicies[] = {
    {"depth", PlanByDepth},
    {"ratio", PlanByRatio},
    {"serial", PlanSerially},
};

}  // namespace

Span<Policy> Policies() { return {kPolicies, std::size(kPolicies)}; }

std::string PolicyNames() {
  std::string names;
  for (const Policy& policy : Policies()) {
    names += StrCat(names.empty() ? "" : ", ", "'", policy.name, "'");
  }
  return names;
}

Status FindPolicy(const std::string& name, const Policy** policy) {
  for (const Policy& known : Policies()) {
    if (known.name != name) continue;
    *policy = &known;
    return Status();
  }
  return InvalidArgument("policy: got '", name, "' but expected one of ",
                         PolicyNames(), ". Leave it out for '",
                         Policies()[0].name, "'.");
}

}  // namespace cavs
