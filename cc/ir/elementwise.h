// Groups of elementwise operators that run as one kernel.
#ifndef CAVS_CC_IR_ELEMENTWISE_H_
#define CAVS_CC_IR_ELEMENTWISE_H_

#include <cstdint>
#include <vector>

#include "cc/ir/operators.h"

namespace cavs {

// Products read rows of at most so many columns by an index.
constexpr int64_t kMaxIndexedColumns = 1024;

// Several elementwise operators as one. Values are numbered: first those in
// memory, then those that live in a tile of scratch only.
struct ElementwiseGroup {
  // out = op(x, y); of a pair, out = then(op(x, y)) or then(z, op(x, y)), where
  // no operand is a `column`.
  struct Step {
    Elementwise op;
    int16_t x, y, out;  // Values; y is x for operators of one operand.
    Elementwise then = Elementwise::kIdentity;  // No pair.
    int16_t z = 0;
  };
  std::vector<Step> steps;
  int num_operands = 0;  // Values in memory.
  int num_scratch = 0;   // At most kMaxScratch.
  static constexpr int kMaxScratch = 16;
  static constexpr int kMaxValues = 64;  // Of both kinds.
};

}  // namespace cavs

#endif  // CAVS_CC_IR_ELEMENTWISE_H_
