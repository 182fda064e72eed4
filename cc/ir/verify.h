// Can a program be run at all?
#ifndef CAVS_CC_IR_VERIFY_H_
#define CAVS_CC_IR_VERIFY_H_

#include "cc/base/status.h"
#include "cc/ir/program.h"

namespace cavs {

// Checks all that passes and executor rely on, before any pass: every symbol
// that is named exists, has sizes that can be multiplied and lies in what it is
// a piece of; every node reads what an earlier one wrote, and reads and writes
// as many elements of the types that its kind says. kInvalidArgument otherwise,
// naming the node. What was traced in this process always passes; what comes
// from a file need not.
Status VerifyProgram(const Program& program);

}  // namespace cavs

#endif  // CAVS_CC_IR_VERIFY_H_
