// Multiplies rows of vertices instead of the rows of their edges.
#ifndef CAVS_CC_IR_PASSES_SPREAD_PRODUCTS_H_
#define CAVS_CC_IR_PASSES_SPREAD_PRODUCTS_H_

#include "cc/ir/program.h"

namespace cavs {

// The product of rows that were spread to edges is the product of the rows,
// spread; and the sum over edges of products is the product of the sum. Rows of
// vertices are then multiplied once, however many edges they have, together
// with the other products of the same rows. Runs on a classified program, which
// must be classified again afterwards.
void SpreadProducts(Program* program);

// Computes weight gradients from rows of vertices and the sums over edges of
// their gradients, instead of from rows that `function` spread to edges, which
// it then need not save. `derivative` is its derivative.
void SaveBeforeSpread(Program* function, Program* derivative);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_SPREAD_PRODUCTS_H_
