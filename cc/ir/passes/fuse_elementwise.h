// Fuses elementwise operators into groups.
#ifndef CAVS_CC_IR_PASSES_FUSE_ELEMENTWISE_H_
#define CAVS_CC_IR_PASSES_FUSE_ELEMENTWISE_H_

#include "cc/ir/program.h"

namespace cavs {

// Rewrites a classified program: elementwise operators of one stage that can
// run side by side become one node, and values that only its members read never
// reach memory. (arXiv:1712.04048, section 3.5, joins connected operators; here
// operators that do not depend on each other join too.)
//
// An operator whose output is read only through views (a bias added to all
// gates at once, say) is first split into one operator per view, so that these
// can join the readers of the views.
//
// Afterwards, every node still stands behind the nodes whose results it reads.
void FuseElementwise(Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_FUSE_ELEMENTWISE_H_
