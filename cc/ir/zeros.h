// Values and nodes that need not be computed for vertices without children.
#ifndef CAVS_CC_IR_ZEROS_H_
#define CAVS_CC_IR_ZEROS_H_

#include <vector>

#include "cc/ir/program.h"

namespace cavs {

// The result of FindZeros(): what holds in a task in which no row has a child.
struct Zeros {
  // No value is known to be zero, and every node has to run.
  explicit Zeros(const Program& program)
      : symbols(program.symbols.size(), false),
        only_for_children(program.nodes.size(), false) {}

  std::vector<bool> symbols;            // By symbol: whether it is zero.
  std::vector<bool> only_for_children;  // By node: whether it need not run.
};

}  // namespace cavs

#endif  // CAVS_CC_IR_ZEROS_H_
