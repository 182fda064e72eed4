// What a model is run for.
#ifndef CAVS_CC_EXEC_DIRECTION_H_
#define CAVS_CC_EXEC_DIRECTION_H_

#include <cstdint>

namespace cavs {

// A training step goes forward, which leaves a tape, and backward over the
// derivative; inference leaves none.
enum class Direction : uint8_t { kForward, kBackward, kInference };

}  // namespace cavs

#endif  // CAVS_CC_EXEC_DIRECTION_H_
