// Where the values of a program may live.
#ifndef CAVS_CC_IR_PLACEMENT_H_
#define CAVS_CC_IR_PLACEMENT_H_

#include <cstdint>
#include <vector>

namespace cavs {

// How many rows a dynamic tensor has room for at a time.
enum class Extent : uint8_t {
  kStep,   // The rows of the whole minibatch.
  kChunk,  // The rows of a chunk (see cc/schedule/chunks.h).
  kBlock,  // The rows of a block, of an eager or lazy stage.
  kTask,   // The rows of a task.
  // Columns of the state, which has rows of the whole minibatch, of all vertex
  // types.
  kState,
  // Rows of the state as well: the adjacent rows of a vertex's children are one
  // row of the tensor.
  kChildren,
};
// The first extents, which take memory of their own.
constexpr int kNumStoredExtents = 4;

// The states of a vertex's children, or their gradients, concatenated in one
// row.
struct JoinedChildren {
  // Number of slots joined, counted from slot 0; 0 if the symbol is not a
  // concatenation of gathered states.
  int slots = 0;
  bool are_sent_back = false;  // The rows are gradients.
  bool by_task = false;        // Only critical nodes read or write it.
  // Whether only nodes that are skipped in tasks without children read or write
  // it.
  bool only_for_children = false;
};

// The places where one root, and with it the views of that root, may live. A
// step chooses among them, depending on the schedule.
struct Candidate {
  // Whether any node reads or writes it, or a view of it, in memory.
  bool used = false;
  // Whether the backward direction reads it, so that it must outlive the step.
  bool on_tape = false;
  // The rows that it has room for if it takes memory of its own.
  Extent extent = Extent::kStep;
  // It is scattered, or the gradient of what was scattered: the state itself
  // may hold it.
  bool in_state = false;
  // All its readers can read rows by an index, so rows that are gathered or
  // pulled may stay where they are. `source` is then the slot of the gather, or
  // the number of the input. For a saved symbol: its rows may come with an
  // index.
  bool by_index = false;
  bool gathered = false;
  int source = -1;
  // Where the children of each vertex are adjacent rows, it may be those rows.
  JoinedChildren joined;
  // A sum over rows that is formed in SumType(dtype), and rounded when all rows
  // have been added.
  bool rounded_last = false;
  // Number of foreign nodes that write it, if it is a sum over rows. Each
  // computes the sum over the rows of one run only, so their results are added
  // up.
  int foreign_writers = 0;
  bool foreign_by_task = false;  // Whether one of these nodes is critical.
  // A sum over rows that is result number `result` of the type's program, and
  // that may be formed in the caller's memory; else -1.
  int result = -1;
};

// The result of the pass `place`: one candidate per symbol, empty for views.
struct Placement {
  std::vector<Candidate> candidates;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_PLACEMENT_H_
