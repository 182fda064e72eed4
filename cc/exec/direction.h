// The directions in which a model runs.
#ifndef CAVS_CC_EXEC_DIRECTION_H_
#define CAVS_CC_EXEC_DIRECTION_H_

#include <cstdint>

namespace cavs {

// A training step runs forward, which leaves a tape, and then backward over the
// derivative; inference leaves no tape.
enum class Direction : uint8_t { kForward, kBackward, kInference };

}  // namespace cavs

#endif  // CAVS_CC_EXEC_DIRECTION_H_
