// Random minibatches, and random programs that use everything a program can.
#ifndef CAVS_TESTS_CC_EXEC_RANDOM_CELL_H_
#define CAVS_TESTS_CC_EXEC_RANDOM_CELL_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/oracle.h"

namespace cavs {

// A random DAG: vertices may have several parents, the same child twice, and
// missing children.
inline Graph RandomDag(int size, int arity, std::mt19937* random) {
  Graph graph;
  for (int v = 0; v < size; ++v) {
    graph.children.emplace_back();
    const int count = (*random)() % (arity + 1);
    for (int k = 0; k < count; ++k) {
      graph.children.back().push_back(static_cast<int>((*random)() % (v + 1)) -
                                      1);
    }
  }
  return graph;
}

// Every vertex but the last has one parent.
inline Graph RandomTree(int size, int arity, std::mt19937* random) {
  Graph graph;
  std::vector<int> roots;
  for (int v = 0; v < size; ++v) {
    graph.children.emplace_back();
    const bool last = v == size - 1;
    while (!roots.empty() &&
           static_cast<int>(graph.children[v].size()) < arity &&
           (last || (*random)() % 2 == 0)) {
      graph.children[v].push_back(roots.back());
      roots.pop_back();
    }
    roots.push_back(v);
  }
  return graph;
}

inline Graph Chain(int length) {
  Graph graph;
  for (int v = 0; v < length; ++v) {
    graph.children.emplace_back();
    if (v > 0) graph.children[v] = {v - 1};
  }
  return graph;
}

// Joins graphs, which may be empty, to one minibatch.
inline Graph Join(const std::vector<Graph>& graphs) {
  Graph all;
  for (const Graph& graph : graphs) {
    const int first = all.size();
    for (std::vector<int> list : graph.children) {
      for (int& child : list) child += child < 0 ? 0 : first;
      all.children.push_back(std::move(list));
    }
    all.graph_sizes.push_back(graph.size());
  }
  return all;
}

inline Graph WithRandomTypes(Graph graph, int num_types, std::mt19937* random) {
  for (int v = 0; v < graph.size(); ++v) {
    graph.type.push_back((*random)() % num_types);
  }
  return graph;
}

// How many random cells to try. Sanitizers take six to ten times as long, and a
// sixth of the cells is enough for them, since most cells would show the faults
// that they look for. All run as shipped in `make test-all`.
constexpr uint32_t SanitizedSeeds(uint32_t count) { return (count + 5) / 6; }
constexpr uint32_t NumSeeds(uint32_t count) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return SanitizedSeeds(count);
#else
  return count;
#endif
}

// Widths are multiples of `unit`, except those of symbols with one column or
// none. Every other cell reads edges.
Cell RandomCell(DType dtype, int num_types, std::mt19937* random,
                int64_t unit = 1);

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_RANDOM_CELL_H_
