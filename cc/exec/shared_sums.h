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
// Only where both programs write the same parts of a sum, in the same stream,
// and no node reads it; other sums of the variant are no results in place.
//
// Returns, by symbol of the variant, the symbol of `general` with the same
// elements of the sum; -1 for what is not shared.
std::vector<int> ShareSums(const CompiledProgram& general,
                           const std::vector<ResultPart>& parts,
                           CompiledProgram* variant);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_SHARED_SUMS_H_
