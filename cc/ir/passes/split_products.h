// Splits products of concatenations into sums of products.
#ifndef CAVS_CC_IR_PASSES_SPLIT_PRODUCTS_H_
#define CAVS_CC_IR_PASSES_SPLIT_PRODUCTS_H_

#include <functional>

#include "cc/ir/program.h"

namespace cavs {

// [x, h] W = x W_x + h W_h, where W_x and W_h are rows of W. Runs on a
// classified program, which must be classified again afterwards. Therefore:
//
// - The columns of an operand that are known in an earlier stage than others
//   (inputs, beside what is gathered) are multiplied in that stage, over all
//   rows.
// - The columns of a result that are needed in a later stage than others (the
//   gradients of inputs) are computed in that stage, and those that no
//   node reads are not computed.
// - Weight gradients of a concatenation are computed in rows of the gradient,
//   from the values that were concatenated.
//
// Products whose operands or results have one stage stay as they are. If a
// product runs over all rows, its operand is split where W is not transposed,
// and its result where W is transposed.
void SplitProducts(Program* program);

// Columns of operands to which only zeros are written are not multiplied, if
// `is_finite` holds for the weight, a symbol.
void LeaveOutZeroColumns(const std::function<bool(int)>& is_finite,
                         Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_SPLIT_PRODUCTS_H_
