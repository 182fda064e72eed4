// The compiled blocks of a model. program.py makes it; it never changes.

#ifndef CAVS_BENCHMARKS_PEERS_FOLD_PROGRAM_H_
#define CAVS_BENCHMARKS_PEERS_FOLD_PROGRAM_H_

#include <cstdint>
#include <vector>

namespace fold {

// What a block does with its input. Each value has a fixed number of ints: an
// object or a result has one, a sequence two (where it begins, and its length),
// a tuple those of its items. The numbers of kinds are those of program.py.
enum class Kind : int32_t {
  kField,    // column: the object's field
  kItems,    // column of splits, column of values: the object's list
  kSlice,    // offset: a part of a tuple
  kAll,      // blocks: each of the same input, side by side
  kChain,    // blocks: each of what the one before made
  kOneOf,    // block of the key, then (key, block) pairs
  kMap,      // block of every item
  kFold,     // block of (state, item), for an input (state, sequence)
  kScan,     // block of (item, state) to (item, state), for an input (sequence,
             // state)
  kReduce,   // block of (left, right), block for an empty sequence
  kZip,      // widths of the items of all sequences
  kReverse,  // -
  kSource,   // source: a result at depth 0 that carries the input
  kCall,     // operation, of the results in the input
  kOutput,   // tag: marks the result
  kBroadcast,  // width of an item: of (sequence, value) the pairs (item, value)
};

struct Block {
  Kind kind;
  int32_t in_width;
  int32_t out_width;
  std::vector<int32_t> parts;
};

// An argument of an operation. If `looked_up`, the operation takes a row of a
// table, and the result holds its number.
struct Argument {
  int32_t type;
  bool looked_up;
};

struct Operation {
  std::vector<Argument> arguments;
  std::vector<int32_t> results;  // Types.
  int32_t first_segment;         // Of its results.
};

// Rows that are adjacent. At depth 0 the values of a type are those of its
// sources, one segment after the other; at other depths they are the results of
// its operations, then the values that pass through.
struct Segment {
  int32_t type;
  bool at_depth_0;
};

// A vector of wiring for every depth. It has an element for every row of its
// segment: the row of the previous depth that an argument takes or that passes
// through, or the number of a row to look up.
struct Piece {
  int32_t segment;
  bool literal;
};

struct Program {
  // Throws std::invalid_argument unless `ints` is what program.py writes.
  explicit Program(const std::vector<int32_t>& ints);

  int32_t pass(int32_t type) const { return first_pass + type; }
  int32_t source(int32_t number) const { return first_source + number; }

  int32_t num_types = 0;
  int32_t num_sources = 0;
  int32_t root = 0;
  std::vector<Block> blocks;
  std::vector<Operation> operations;
  std::vector<int32_t> tags;  // Types.
  std::vector<Segment> segments;
  int32_t first_pass = 0;    // A segment.
  int32_t first_source = 0;  // A segment.
  // The pieces of each type: the arguments, operation by operation, then the
  // values that pass through. Pieces to look up come last.
  std::vector<Piece> pieces;
  std::vector<int32_t> piece_splits;  // [num_types + 1]
  std::vector<std::vector<int32_t>>
      argument_at;  // Pieces, by operation and argument.
  std::vector<std::vector<int32_t>> lookup_at;  // Pieces, or -1.
  std::vector<int32_t> pass_at;                 // Pieces, by type.
};

}  // namespace fold

#endif  // CAVS_BENCHMARKS_PEERS_FOLD_PROGRAM_H_
