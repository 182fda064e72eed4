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
#include "cc/ir/passes/spread_products.h"
#include "cc/ir/print.h"
#include "cc/ir/verify.h"

namespace cavs {
namespace {

Status Check(const PassOptions& options, const char* pass,
             const Program& program, bool always = false) {
  if (!options.verify && !always) return Status();
  const Status status = VerifyProgram(program);
  if (status.ok()) return Status();
  return Internal("pass ", pass, ": ", status.message(), "\n", Print(program));
}

}  // namespace

Status RunPasses(const PassOptions& options, const Capabilities& capabilities,
                 CompiledProgram* program) {
  CAVS_RETURN_IF_ERROR(Simplify(options, program));
  return Arrange(options, capabilities, program);
}

Status Simplify(const PassOptions& options, Program* program) {
  CAVS_RETURN_IF_ERROR(Classify(options, program));
  CAVS_RETURN_IF_ERROR(Check(options, "classify", *program));
  if (options.merge) MergeSumsOverRows(program);
  CAVS_RETURN_IF_ERROR(Check(options, "merge_sums_over_rows", *program));
  if (options.split) SplitProducts(program);
  CAVS_RETURN_IF_ERROR(Check(options, "split_products", *program));
  if (options.split) SpreadProducts(program);
  CAVS_RETURN_IF_ERROR(Check(options, "spread_products", *program));
  if (options.share) MergeDuplicates(program);
  CAVS_RETURN_IF_ERROR(Check(options, "merge_duplicates", *program));
  RemoveUnused(program);
  return Check(options, "remove_unused", *program);
}

Status SimplifyTogether(const PassOptions& options, Program* function,
                        Program* derivative) {
  if (!options.split) return Status();
  SaveBeforeSpread(function, derivative);
  for (Program* program : {function, derivative}) {
    if (options.share) MergeDuplicates(program);
    RemoveUnused(program);
    CAVS_RETURN_IF_ERROR(Check(options, "save_before_spread", *program));
  }
  return Status();
}

Status Arrange(const PassOptions& options, const Capabilities& capabilities,
               CompiledProgram* program) {
  // Some of the new products run earlier or later than the original.
  CAVS_RETURN_IF_ERROR(Classify(options, program));
  CAVS_RETURN_IF_ERROR(Check(options, "classify", *program));
  if (options.merge) {
    MergeSumsOfProducts(program);
    if (options.share) FactorSums(program);
    CAVS_RETURN_IF_ERROR(Check(options, "merge_sums", *program));
    MergeMatMuls(capabilities, program);
    CAVS_RETURN_IF_ERROR(Check(options, "merge_matmuls", *program));
  }
  if (options.fuse) FuseElementwise(program);
  CAVS_RETURN_IF_ERROR(
      Check(options, "fuse_elementwise", *program, /*always=*/true));
  RemoveUnusedSymbols(program);
  CAVS_RETURN_IF_ERROR(Check(options, "remove_unused_symbols", *program));
  program->zeros = options.skip_zeros ? FindZeros(*program) : Zeros(*program);
  program->placement =
      Place(*program, program->zeros, capabilities, options.views);
  program->layout = LayoutOf(*program);
  for (Node& node : program->nodes) node.label = Label(node);
  return Status();
}

}  // namespace cavs
