#include "cc/ir/passes/run_passes.h"

#include "cc/ir/label.h"
#include "cc/ir/passes/find_zeros.h"
#include "cc/ir/passes/fuse_elementwise.h"
#include "cc/ir/passes/merge_duplicates.h"
#include "cc/ir/passes/merge_matmuls.h"
#include "cc/ir/passes/merge_sums.h"
#include "cc/ir/passes/place.h"
#include "cc/ir/passes/remove_unused.h"
#include "cc/ir/passes/split_products.h"
#include "cc/ir/print.h"
#include "cc/ir/verify.h"

namespace cavs {

Status RunPasses(const PassOptions& options, const Capabilities& capabilities,
                 CompiledProgram* program) {
  const auto check = [&](const char* pass, bool always = false) {
    if (!options.verify && !always) return Status();
    const Status status = VerifyProgram(*program);
    if (status.ok()) return Status();
    return Internal("pass ", pass, ": ", status.message(), "\n",
                    Print(*program));
  };
  CAVS_RETURN_IF_ERROR(Classify(options, program));
  CAVS_RETURN_IF_ERROR(check("classify"));
  if (options.merge) MergeSumsOverRows(program);
  if (options.split) SplitProducts(program);
  CAVS_RETURN_IF_ERROR(check("split_products"));
  if (options.share) MergeDuplicates(program);
  CAVS_RETURN_IF_ERROR(check("merge_duplicates"));
  RemoveUnused(program);
  CAVS_RETURN_IF_ERROR(check("remove_unused"));
  // Some of the new products run earlier or later than the original.
  CAVS_RETURN_IF_ERROR(Classify(options, program));
  if (options.merge) {
    MergeSumsOfProducts(program);
    if (options.share) FactorSums(program);
    CAVS_RETURN_IF_ERROR(check("merge_sums"));
    MergeMatMuls(capabilities, program);
    CAVS_RETURN_IF_ERROR(check("merge_matmuls"));
  }
  if (options.fuse) FuseElementwise(program);
  CAVS_RETURN_IF_ERROR(check("fuse_elementwise", /*always=*/true));
  program->zeros = options.skip_zeros ? FindZeros(*program) : Zeros(*program);
  program->placement =
      Place(*program, program->zeros, capabilities, options.views);
  program->layout = LayoutOf(*program);
  for (Node& node : program->nodes) node.label = Label(node);
  return Status();
}

}  // namespace cavs
