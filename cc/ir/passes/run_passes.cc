#include "cc/ir/passes/run_passes.h"

#include "cc/ir/label.h"
#include "cc/ir/passes/find_zeros.h"
#include "cc/ir/passes/fuse_elementwise.h"
#include "cc/ir/passes/merge_matmuls.h"
#include "cc/ir/passes/place.h"
#include "cc/ir/print.h"
#include "cc/ir/verify.h"

namespace cavs {

Status RunPasses(const PassOptions& options, const Capabilities& capabilities,
                 CompiledProgram* program) {
  const auto check = [&](const char* pass) {
    if (!options.verify) return Status();
    const Status status = VerifyProgram(*program);
    if (status.ok()) return Status();
    return Internal("pass ", pass, ": ", status.message(), "\n",
                    Print(*program));
  };
  CAVS_RETURN_IF_ERROR(Classify(options, program));
  CAVS_RETURN_IF_ERROR(check("classify"));
  if (options.merge) MergeMatMuls(capabilities, program);
  CAVS_RETURN_IF_ERROR(check("merge_matmuls"));
  if (options.fuse) FuseElementwise(program);
  CAVS_RETURN_IF_ERROR(check("fuse_elementwise"));
  program->zeros = options.skip_zeros ? FindZeros(*program) : Zeros(*program);
  program->placement =
      Place(*program, program->zeros, capabilities, options.views);
  program->layout = LayoutOf(*program);
  for (Node& node : program->nodes) node.label = Label(node);
  return Status();
}

}  // namespace cavs
