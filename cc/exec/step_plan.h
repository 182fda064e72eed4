// Decides where one direction of a step stores its values: the only source of
// sizes.
#ifndef CAVS_CC_EXEC_STEP_PLAN_H_
#define CAVS_CC_EXEC_STEP_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/device/bindings.h"
#include "cc/exec/direction.h"
#include "cc/exec/memory_need.h"
#include "cc/exec/model.h"
#include "cc/exec/result_sizes.h"
#include "cc/schedule/row_plan.h"

namespace cavs {

// The memory that holds the value of a root in a step.
enum class Home : uint8_t {
  kNone,   // No node reads or writes it in memory, or it is a view.
  kTape,   // Memory that outlives the step.
  kArena,  // Memory of the step.
  kChunk,  // Memory that is reused from chunk to chunk, for all vertex types.
  kState,  // Rows of the state or its gradient, or rows of children there.
  kGathered,  // Rows of children in the state, read by an index.
  kInput,     // Rows of an input, read by an index.
  kResult,    // Memory of the caller, for a result.
  // A capture, a constant, a value on the tape, or a tensor that the framework
  // makes.
  kGiven,
};

// Where one root lives in a step.
struct Place {
  Home home = Home::kNone;
  Extent extent = Extent::kStep;
  int64_t rows = 0;    // The rows that it has room for.
  int64_t stride = 1;  // For Extent::kChildren: see RowPlan::ChildStride().
  int source = -1;     // Number of the slot, input or result.
  DType dtype = DType::kOther;  // The type in which it is stored.
  bool copied = false;  // Copied from the tape, which holds it by an index.
  size_t offset = 0;    // For kTape and kArena.
  size_t bytes = 0;
  // For a sum that foreign operators compute over some of the rows at a time:
  // where these terms lie in the arena before they are added to the sum. 0
  // bytes if the operators run once, and compute the sum itself.
  size_t terms_offset = 0, terms_bytes = 0;
};

// A copy of an input that some vertices have no row of. A row of zeros precedes
// it.
struct InputCopy {
  // In the arena, or in the range that outlives the step; 0 bytes if the input
  // is not copied.
  size_t offset = 0, bytes = 0;
  size_t zeros_bytes = 0;  // The bytes before the first row.
  bool outlives = false;   // Whether the tape may hold these rows by an index.
};

// The places of one program.
struct ProgramPlan {
  // By symbol, for roots; empty if the program is idle.
  std::vector<Place> places;
  std::vector<int> in_chunk;  // The symbols of Home::kChunk.
  size_t workspace_offset = 0, workspace_bytes = 0;  // In the arena.
};

// The plan of one direction of a step. It divides two ranges of memory front to
// back: one that outlives the step (the state and the tape), and the arena.
struct StepPlan {
  Direction direction = Direction::kInference;
  bool two_streams = false;
  bool gathered_once = false;  // See Bindings.
  std::vector<Chunk> chunks;
  int64_t rows_per_block = 0;
  std::vector<ProgramPlan> programs;  // Indexed by vertex type.
  size_t zone = 0;  // Bytes of the guard zone behind every buffer.
  // Includes the row of zeros before the state.
  size_t state_offset = 0, state_bytes = 0;
  DType state_dtype = DType::kOther;  // See Bindings.
  size_t zeros_bytes = 0;             // Bytes of that row.
  size_t lists_offset = 0;  // Of lists of row numbers, beside the state.
  // The range of Home::kChunk in the arena.
  size_t shared_offset = 0, shared_bytes = 0;
  std::vector<InputCopy> inputs;  // By number; empty if none is copied.
  size_t kept_bytes = 0, arena_bytes = 0;  // Totals of the two ranges.
  MemoryNeed need;                         // Without guard zones.
  size_t taken = 0;  // Bytes of `need` that an earlier step has taken.

  // Finds the offsets of the values of Home::kChunk from shared_offset, by type
  // and in the order of `in_chunk`, for a chunk with these rows of each type:
  // none for a type without rows. Returns the bytes that they take.
  size_t PlaceInChunk(const Model& model, const std::vector<RowRange>& rows,
                      std::vector<std::vector<size_t>>* offsets) const;

  // The number of blocks in which eager and lazy operators run over the rows of
  // a chunk: see RowRange::Part().
  int64_t NumBlocks(const RowRange& rows) const {
    return (rows.count + rows_per_block - 1) / rows_per_block;
  }
};

// The inputs of a plan in addition to model and rows.
struct StepLimits {
  // Whether two streams are wanted. They are not used where both would write to
  // the same memory: see Model.
  bool two_streams = false;
  size_t zone = 0;        // See StepPlan.
  size_t list_bytes = 0;  // Of lists of row numbers: see Device::BytesOfList().
  // Derivatives: by type and saved symbol, whether the tape holds its rows by
  // an index.
  std::vector<std::vector<bool>> saved_by_index;
  // Derivatives: whether no row of the state is gathered twice.
  bool gathered_once = false;
  // Otherwise, by input and program: whether a vertex of the program has no row
  // of the input. Empty for an input that every vertex has.
  std::vector<std::vector<bool>> gaps;
  // The sizes of the values for the caller; null if there are none.
  const ResultSizes* sizes = nullptr;
  ResultRows rows;
};

// Whether a step does not run a program at all, since it is a variant without
// rows. The program of a type without rows does run: it has results, which are
// zero.
bool IsIdle(const Model& model, const RowPlan& rows, int program);

// The rows and edges of a program in a chunk.
RowRange RangeOf(const RowPlan& rows, int program, const Chunk& chunk);

// A pure function: predictions, messages and execution read the same plan.
StepPlan PlanStep(Direction direction, const Model& model, const RowPlan& rows,
                  StepLimits limits);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_STEP_PLAN_H_
