// The wiring of one example, and how the wiring of a minibatch is made from
// several.

#ifndef CAVS_BENCHMARKS_PEERS_FOLD_SCHEDULE_H_
#define CAVS_BENCHMARKS_PEERS_FOLD_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "graph.h"
#include "program.h"

namespace fold {

// For every depth and piece, the rows of the depth before that are taken.
//
// Only the depth before is there to take from, so a value that is needed later
// passes through every depth in between: once, however many need it. All
// outputs pass through to the last depth.
struct Schedule {
  Schedule(const Program& program, Graph graph);

  int32_t depths;
  std::vector<int32_t> counts;  // [depths + 1, segments]: rows.
  std::vector<Ref> refs;        // Depth by depth, piece by piece.
  std::vector<std::vector<int32_t>> literals;  // By source.
  std::vector<std::vector<Ref>> finished;  // By type: the outputs, each once.
  std::vector<std::vector<int32_t>> outputs;  // By tag: which of `finished`.
};

// What the loop over depths is fed with, one section after the other:
//
// - for every type: its wiring, depth by depth and piece by piece; the number
//   of rows at every depth; that of every piece at every depth; then for every
//   row of the depth before its place in the wiring, or the wiring's length if
//   nobody takes it; how many those are at every depth; and the number of rows
//   that every operation makes, and that pass through, at every depth;
// - for every argument that is looked up: numbers of rows, from the last depth
//   to the first; how many at a depth;
// - for every source: the numbers that its results carry;
// - for every tag: the outputs' rows at the last depth, example by example;
// - for every type whether a row is taken twice.
struct Wiring {
  std::vector<int32_t> sections;  // Their lengths.
  std::vector<int32_t> ints;
};

// Merges examples into a minibatch, on that many threads.
Wiring Merge(const Program& program,
             const std::vector<const Schedule*>& examples, int threads);

}  // namespace fold

#endif  // CAVS_BENCHMARKS_PEERS_FOLD_SCHEDULE_H_
