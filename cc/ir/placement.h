// Where the values of a program may live.
#ifndef CAVS_CC_IR_PLACEMENT_H_
#define CAVS_CC_IR_PLACEMENT_H_

#include <cstdint>
#include <vector>

namespace cavs {

// Whose rows a dynamic tensor has room for at a time.
enum class Extent : uint8_t {
  kStep,      // Those of the whole minibatch.
  kChunk,     // Those of a chunk (see cc/schedule/chunks.h).
  kBlock,     // Those of a block, which an eager or lazy stage runs over.
  kTask,      // Those of a task.
  kState,     // It is a part of the state, which has rows of the whole
              // minibatch, of all vertex types.
  kChildren,  // Of the state too: the rows of a vertex's children, which are
              // adjacent, are one row of it.
};
constexpr int kNumStoredExtents = 4;  // The first of them: counted in rows.

// The states of children, or their gradients, side by side in one row.
struct JoinedChildren {
  int slots = 0;  // Number of slots joined, counted from slot 0; 0: it is not
                  // a concatenation of gathered states.
  bool are_sent_back = false;      // They are gradients.
  bool by_task = false;            // Only critical nodes touch it,
  bool only_for_children = false;  // and only where some row has a child.
};

// Where one root may live; the views of a root live in it. Which of the places
// it takes depends on a schedule, and is a step's choice.
struct Candidate {
  // Does any node read or write it in memory, or a view of it?
  bool used = false;
  // Must it outlive the step, as a result of the forward direction?
  bool on_tape = false;
  // The rows that it has room for if it takes memory of its own.
  Extent extent = Extent::kStep;
  // It is what is scattered, or the gradient of what was: the state itself may
  // hold it.
  bool in_state = false;
  // Everyone who reads it can read rows by an index. What is gathered or passed
  // in then stays where it is: `source` is the slot of the gather, or the
  // number of the input. For a saved symbol: its rows may come with an index.
  bool by_index = false;
  bool gathered = false;
  int source = -1;
  // Where the children of each vertex are adjacent rows, it may be them.
  JoinedChildren joined;
  // A sum over rows that is formed in SumType(dtype), and rounded when all rows
  // are in.
  bool rounded_last = false;
  // How many foreign nodes write it, if it is a sum over rows. What they give
  // for some of the rows has to be added up.
  int foreign_writers = 0;
  bool foreign_by_task = false;  // Is one of them critical?
  // It is a sum that the caller gets as result number `result`, and may be
  // formed where that goes; -1: it is not.
  int result = -1;
};

// What the pass `place` finds. One per symbol; those of views are empty.
struct Placement {
  std::vector<Candidate> candidates;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_PLACEMENT_H_
