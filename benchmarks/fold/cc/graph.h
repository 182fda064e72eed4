// The graph of one example: results of operations, each at its depth.

#ifndef CAVS_BENCHMARKS_PEERS_FOLD_GRAPH_H_
#define CAVS_BENCHMARKS_PEERS_FOLD_GRAPH_H_

#include <cstdint>
#include <vector>

#include "program.h"

namespace fold {

// A row of a segment, at a depth that follows from the context. For a literal,
// the number itself.
struct Ref {
  int32_t segment;
  int32_t rank;
};
constexpr int32_t kLiteral = -1;

// Grows with each call. Results are numbered in the order in which they are
// made.
class Graph {
 public:
  struct Value {
    Ref own;
    int32_t depth;
    int32_t type;
  };
  struct Call {
    int32_t operation;
    int32_t depth;
    int32_t rank;
    int32_t first_argument;
  };

  explicit Graph(const Program& program);

  // Makes a result at depth 0 that carries a number; with `shared`, the same
  // result every time.
  int32_t AddSource(int32_t source, int32_t number, bool shared);

  // Calls an operation, one depth below the deepest argument. Its results have
  // the returned number and those that follow it.
  int32_t AddCall(int32_t operation, const int32_t* arguments);

  void AddOutput(int32_t tag, int32_t value) { outputs[tag].push_back(value); }

  // The number of rows of a segment at a depth.
  int32_t& count(int32_t depth, int32_t segment) {
    return counts[depth * num_segments_ + segment];
  }

  std::vector<Value> values;
  std::vector<Call> calls;
  std::vector<int32_t> arguments;
  std::vector<std::vector<int32_t>> literals;  // By source.
  std::vector<std::vector<int32_t>> outputs;   // Numbers of results, by tag.
  std::vector<int32_t> counts;                 // [depths + 1, segments]
  int32_t depths = 0;

 private:
  const Program& program_;
  const int32_t num_segments_;
  std::vector<int32_t> shared_;  // Results, by source; -1: not made yet.
};

}  // namespace fold

#endif  // CAVS_BENCHMARKS_PEERS_FOLD_GRAPH_H_
