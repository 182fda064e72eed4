// Checks that a program can be run.
#ifndef CAVS_CC_IR_VERIFY_H_
#define CAVS_CC_IR_VERIFY_H_

#include "cc/base/status.h"
#include "cc/ir/program.h"

namespace cavs {

// Checks everything that passes and executor rely on, before, between and after
// the passes that rewrite a program: every symbol that is used exists, has a
// size that does not overflow, and lies within the symbol that it is a view of;
// every node reads only elements that nodes of earlier stages, or earlier nodes
// of its own, have written; and reads and writes as many elements, of the
// types, that its kind requires. kInvalidArgument otherwise, naming the node.
// Programs that were traced in this process always pass; those from a file need
// not.
Status VerifyProgram(const Program& program);

}  // namespace cavs

#endif  // CAVS_CC_IR_VERIFY_H_
