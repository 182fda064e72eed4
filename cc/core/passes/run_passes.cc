#include "cc/core/passes/run_passes.h"

#include "cc/core/label.h"
#include "cc/core/passes/find_zeros.h"
#include "cc/core/passes/fuse_elementwise.h"
#include "cc/core/passes/join_children.h"
#include "cc/core/passes/merge_matmuls.h"
#include "cc/core/passes/plan_memory.h"
#include "cc/core/passes/plan_phases.h"
#include "cc/core/passes/view_rows.h"

namespace cavs {

Status RunPasses(const PassOptions& options, Program* program) {
  CAVS_RETURN_IF_ERROR(Classify(options, program));
  if (options.skip_zeros) FindZeros(program);
  if (options.merge) MergeMatMuls(program);
  if (options.fuse) FuseElementwise(program);
  if (options.views) ViewRows(program);
  if (options.views) JoinChildren(program);
  PlanMemory(program);
  PlanPhases(program);
  for (Node& node : program->nodes) node.label = Label(node);
  return Status();
}

}  // namespace cavs
