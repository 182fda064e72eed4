// CAVS_MAX_CPU_ISA: an upper bound of the instruction sets of the CPU kernels.
#ifndef CAVS_CC_DEVICE_CPU_ISA_LIMIT_H_
#define CAVS_CC_DEVICE_CPU_ISA_LIMIT_H_

#include "cc/base/status.h"
#include "cc/device/cpu/isa.h"

namespace cavs {

// The instruction set that a value of the variable allows; `value` may be null,
// where it is not set: everything. Rejects values that do not name an
// instruction set.
Status ReadIsaLimit(const char* value, Isa* most);

// Whether the variable has a valid value. The variable is read once.
Status CheckIsaLimit();

// The widest instruction set that the variable allows; of a value that is not
// valid, the widest of all.
Isa IsaLimit();

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_ISA_LIMIT_H_
