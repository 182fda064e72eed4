// Groups of elementwise operators.
#ifndef CAVS_CC_IR_PASSES_FUSE_ELEMENTWISE_H_
#define CAVS_CC_IR_PASSES_FUSE_ELEMENTWISE_H_

#include "cc/ir/program.h"

namespace cavs {

// Rewrites a classified program: elementwise operators of one stage that can
// run side by side become one node (arXiv:1712.04048, section 3.5, which joins
// connected ones; here those that do not depend on each other join too), and
// what only its members read never reaches memory.
//
// An operator whose outcome is only read piece by piece (a bias added to all
// gates at once, say) is first split into the pieces, so that it can join what
// reads them.
//
// Nodes are left in an order that respects what they read and write.
void FuseElementwise(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_FUSE_ELEMENTWISE_H_
