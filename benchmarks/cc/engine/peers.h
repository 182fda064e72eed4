// The engines that are compared, behind one interface.
#ifndef CAVS_BENCHMARKS_CC_ENGINE_PEERS_H_
#define CAVS_BENCHMARKS_CC_ENGINE_PEERS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "benchmarks/cc/engine/shapes.h"

namespace cavs::bench {

class Peer {
 public:
  virtual ~Peer() = default;
  // Runs all operations of the shape, each as soon as it may. What they do is
  // nothing, or, to check that all of them run, adding one to *count.
  virtual void Run(std::atomic<int64_t>* count) = 0;
};

// Each peer has a function Make...(shape, workers), where 0 workers stands for
// the pushing thread. It returns null where there is no such engine on this
// machine, or no such way to run it.
//
// MXNet 1.9.1 is libmxnet.so where $CAVS_MXNET_LIBRARY says, used through its C
// API; it has one number of workers per process. oneTBB's flow graph knows
// edges rather than variables: finding them is not part of Run(), building the
// graph is.

}  // namespace cavs::bench

#endif  // CAVS_BENCHMARKS_CC_ENGINE_PEERS_H_
