#include "cc/schedule/policies.h"

#include <iterator>

namespace cavs {
namespace {

TaskPlan PlanByDepth(const GraphBatchView&, Span<int32_t>, TaskPlan by_step) {
  return by_step;
}

constexpr Policy kPolicies[] = {
    {"depth", PlanByDepth},
    {"ratio", PlanByRatio},
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
