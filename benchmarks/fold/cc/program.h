// What the blocks of a model compile to. Made by program.py; never changes.

#ifndef CAVS_BENCHMARKS_PEERS_FOLD_PROGRAM_H_
#define CAVS_BENCHMARKS_PEERS_FOLD_PROGRAM_H_

#include <cstdint>
#include <vector>

namespace fold {

// What a block does with its input. A value has a fixed number of ints: an
// object or a result one, a sequence two (where it starts, and its length), a
// tuple those of its parts. The numbers are those of program.py.
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
  kAt,       // index; a negative one counts from the end
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

// An argument of an operation; `looked_up` if the operation wants a row of a
// table, and the result is the number of it.
struct Argument {
  int32_t type;
  bool looked_up;
};

struct Operation {
  std::vector<Argument> arguments;
  std::vector<int32_t> results;  // Types.
  int32_t first_segment;         // Of its results.
};

// Rows that are found together. At depth 0 the values of a type are those of
// its sources, one segment after the other; at other depths the results of its
// operations, then the values that pass through.
struct Segment {
  int32_t type;
  bool at_depth_0;
};

// A vector of wiring for every depth: the rows of the depth before that an
// argument takes, or that pass through, or numbers of rows to look up. As long
// as its segment.
struct Piece {
  int32_t segment;
  bool literal;
};

struct Program {
  // Raises std::invalid_argument unless `ints` is what program.py writes.
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
  int32_t first_pass = 0;    // Among segments.
  int32_t first_source = 0;  // Among segments.
  // Type by type the arguments, operation by operation, then what passes
  // through; in the end what is looked up.
  std::vector<Piece> pieces;
  std::vector<int32_t> piece_splits;  // [num_types + 1]
  std::vector<std::vector<int32_t>>
      argument_at;  // Piece, by operation and argument.
  std::vector<std::vector<int32_t>> lookup_at;  // Piece, or -1.
  std::vector<int32_t> pass_at;                 // Piece, by type.
};

}  // namespace fold

#endif  // CAVS_BENCHMARKS_PEERS_FOLD_PROGRAM_H_
