// Groups of elementwise operators that run as one kernel.
#ifndef CAVS_CC_IR_ELEMENTWISE_GROUP_H_
#define CAVS_CC_IR_ELEMENTWISE_GROUP_H_

#include <cstdint>
#include <vector>

#include "cc/ir/elementwise.h"

namespace cavs {

// The widest rows that a product can read by an index, in columns.
constexpr int64_t kMaxIndexedColumns = 1024;

// Several elementwise operators that run as one kernel. Their values are
// numbered: first those in memory, then those that live only in a tile of
// scratch.
struct ElementwiseGroup {
  // out = op(x, y), or, for a pair of operators, out = then(op(x, y)) or
  // then(z, op(x, y)). No operand of a pair is a `column`.
  struct Instruction {
    Elementwise op;
    // Numbers of values; y is x for operators of one operand.
    int16_t x, y, out;
    Elementwise then = Elementwise::kIdentity;  // kIdentity: not a pair.
    int16_t z = 0;
  };
  std::vector<Instruction> instructions;
  int num_operands = 0;  // Number of values in memory.
  int num_scratch = 0;   // Number of values in scratch, at most kMaxScratch.
  static constexpr int kMaxScratch = 16;
  static constexpr int kMaxValues = 64;  // In memory and in scratch together.
};

}  // namespace cavs

#endif  // CAVS_CC_IR_ELEMENTWISE_GROUP_H_
