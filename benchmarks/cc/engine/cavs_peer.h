// This project's engine.
#ifndef CAVS_BENCHMARKS_CC_ENGINE_CAVS_PEER_H_
#define CAVS_BENCHMARKS_CC_ENGINE_CAVS_PEER_H_

#include "benchmarks/cc/engine/peers.h"
#include "cc/engine/engine.h"

namespace cavs::bench {

class CavsPeer : public Peer {
 public:
  CavsPeer(const Shape& shape, int workers)
      : shape_(shape),
        engine_(workers == 0 ? engine::Naive() : engine::Threaded(workers)) {
    for (int i = 0; i < shape.variables; ++i) {
      variables_.push_back(engine_.NewVariable());
    }
  }

  void Run(std::atomic<int64_t>* count) override {
    for (const Operation& op : shape_.operations) {
      engine_.Push(
          [count] {
            if (count != nullptr) ++*count;
          },
          {variables_[op.read[0]], variables_[op.read[1]]},
          {variables_[op.mutate]});
    }
    engine_.WaitAll();
  }

 private:
  const Shape shape_;
  engine::Engine engine_;
  std::vector<engine::Variable> variables_;
};

inline std::unique_ptr<Peer> MakeCavs(const Shape& shape, int workers) {
  return std::make_unique<CavsPeer>(shape, workers);
}

}  // namespace cavs::bench

#endif  // CAVS_BENCHMARKS_CC_ENGINE_CAVS_PEER_H_
