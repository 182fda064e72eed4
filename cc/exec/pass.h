// What a model is run for.
#ifndef CAVS_CC_EXEC_PASS_H_
#define CAVS_CC_EXEC_PASS_H_

#include <cstdint>

namespace cavs {

// A training step is a forward pass, which leaves a tape, and a backward pass
// of the derivative; inference leaves none.
enum class Pass : uint8_t { kForward, kBackward, kInference };

}  // namespace cavs

#endif  // CAVS_CC_EXEC_PASS_H_
