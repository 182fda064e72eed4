// Two-stream execution (arXiv:1712.04048, section 3.5).
#ifndef CAVS_CC_EXEC_STREAMS_H_
#define CAVS_CC_EXEC_STREAMS_H_

#include <cstdint>
#include <functional>

#include "cc/base/status.h"
#include "cc/engine/engine.h"

namespace cavs {

// What is done for each chunk, by its number. Calls for different chunks, and
// of `eager` or `lazy` and `critical`, may run at the same time.
struct ChunkSteps {
  std::function<Status(int64_t chunk)> eager, critical, lazy;
};

// One stream takes the critical path; the other runs the eager steps ahead of
// it and the lazy steps behind it. `engine` has two streams; it may be shared,
// also by several calls at once. Returns the error of the first chunk that had
// one; what comes after it is not run.
Status RunInTwoStreams(int64_t num_chunks, const ChunkSteps& steps,
                       engine::Engine* engine);

// The same steps one after the other.
Status RunInOneStream(int64_t num_chunks, const ChunkSteps& steps);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_STREAMS_H_
