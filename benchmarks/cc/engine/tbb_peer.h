// The flow graph of oneTBB, if its headers are installed.
#ifndef CAVS_BENCHMARKS_CC_ENGINE_TBB_PEER_H_
#define CAVS_BENCHMARKS_CC_ENGINE_TBB_PEER_H_

#include "benchmarks/cc/engine/peers.h"

#if __has_include(<tbb/flow_graph.h>)
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>

#include <deque>
#include <set>

namespace cavs::bench {

class TbbPeer : public Peer {
 public:
  TbbPeer(const Shape& shape, int workers)
      : threads_(tbb::global_control::max_allowed_parallelism, workers),
        before_(shape.operations.size()) {
    struct Uses {
      int last_mutation = -1;
      std::vector<int> reads_since;
    };
    std::vector<Uses> uses(shape.variables);
    for (int i = 0; i < static_cast<int>(shape.operations.size()); ++i) {
      const Operation& op = shape.operations[i];
      std::set<int> before = {uses[op.mutate].last_mutation};
      before.insert(uses[op.mutate].reads_since.begin(),
                    uses[op.mutate].reads_since.end());
      for (int r : op.read) before.insert(uses[r].last_mutation);
      for (int r : op.read) uses[r].reads_since.push_back(i);
      uses[op.mutate] = {i, {}};
      before.erase(-1);
      before.erase(i);
      before_[i].assign(before.begin(), before.end());
    }
  }

  void Run(std::atomic<int64_t>* count) override {
    using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;
    tbb::flow::graph graph;
    std::deque<Node> nodes;
    for (const std::vector<int>& before : before_) {
      Node& node =
          nodes.emplace_back(graph, [count](const tbb::flow::continue_msg&) {
            if (count != nullptr) ++*count;
          });
      for (int i : before) tbb::flow::make_edge(nodes[i], node);
    }
    for (size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].empty()) nodes[i].try_put(tbb::flow::continue_msg());
    }
    graph.wait_for_all();
  }

 private:
  tbb::global_control threads_;
  std::vector<std::vector<int>> before_;  // Those that each one waits for.
};

inline std::unique_ptr<Peer> MakeTbb(const Shape& shape, int workers) {
  if (workers == 0) return nullptr;
  return std::make_unique<TbbPeer>(shape, workers);
}

}  // namespace cavs::bench

#else

namespace cavs::bench {

inline std::unique_ptr<Peer> MakeTbb(const Shape&, int) { return nullptr; }

}  // namespace cavs::bench

#endif

#endif  // CAVS_BENCHMARKS_CC_ENGINE_TBB_PEER_H_
