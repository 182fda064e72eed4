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
  // Runs all operations of the shape, each as soon as it may run. Operations do
  // nothing or, to check that all of them run, add one to *count.
  virtual void Run(std::atomic<int64_t>* count) = 0;
};

// Each peer has a function Make...(shape, workers), where 0 workers stands for
// the pushing thread. It returns null if the machine does not have the engine,
// or the engine cannot run with that many workers.
//
// MXNet 1.9.1 is the libmxnet.so at $CAVS_MXNET_LIBRARY, used through its C
// API; it has one number of workers per process. oneTBB's flow graph has edges
// instead of variables: Run() builds the graph, but does not include finding
// the edges.

}  // namespace cavs::bench

#endif  // CAVS_BENCHMARKS_CC_ENGINE_PEERS_H_
