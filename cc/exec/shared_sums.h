// Finds the sums over rows that several programs of a vertex type add to.
#ifndef CAVS_CC_EXEC_SHARED_SUMS_H_
#define CAVS_CC_EXEC_SHARED_SUMS_H_

#include <vector>

#include "cc/ir/compiled_program.h"
#include "cc/ir/passes/specialize.h"

namespace cavs {

// Lets a variant of a derivative form its sums in the memory where the type's
// own program, `general`, forms them, so that they need not be added when all
// rows are done: sets Candidate::result to the number of the type's result.
// Both programs must write the same parts of the sum, in the same stream, and
// no node may read it. Other sums of the variant are not formed in memory of
// the caller.
//
// Returns, by symbol of the variant, the symbol of `general` with the same
// elements of the sum; -1 for symbols that are not shared.
std::vector<int> ShareSums(const CompiledProgram& general,
                           const std::vector<ResultPart>& parts,
                           CompiledProgram* variant);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_SHARED_SUMS_H_
