// Can a program be run at all?
#ifndef CAVS_CC_IR_VERIFY_H_
#define CAVS_CC_IR_VERIFY_H_

#include "cc/base/status.h"
#include "cc/ir/program.h"

namespace cavs {

// Checks all that passes and executor rely on, before, between and after the
// passes that rewrite a program: every symbol that is named exists, has sizes
// that can be multiplied and lies in what it is a piece of; every node reads
// elements that were all written before, by nodes of earlier stages or by
// earlier ones of its own; and reads and writes as many elements of the types
// that its kind says. kInvalidArgument otherwise, naming the node. What was
// traced in this process always passes; what comes from a file need not.
Status VerifyProgram(const Program& program);

}  // namespace cavs

#endif  // CAVS_CC_IR_VERIFY_H_
