// What one direction of a step stores where: the only source of sizes.
#ifndef CAVS_CC_EXEC_STEP_PLAN_H_
#define CAVS_CC_EXEC_STEP_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/exec/direction.h"
#include "cc/exec/memory_need.h"
#include "cc/exec/model.h"
#include "cc/exec/result_sizes.h"
#include "cc/schedule/row_plan.h"

namespace cavs {

// What holds the value of a root in a step.
enum class Home : uint8_t {
  kNone,      // Nothing: nobody touches it in memory, or it is a view.
  kTape,      // Memory that outlives the step.
  kArena,     // Memory of the step.
  kChunk,     // Memory that all vertex types share, chunk by chunk.
  kState,     // The state, or its gradient: its rows, or those of children.
  kGathered,  // The rows of children in the state, by an index.
  kInput,     // The rows of an input, by an index.
  kResult,    // What the caller gets.
  kGiven,     // A capture, a constant, what the tape saved, or a tensor that
              // the framework makes.
};

// One decision per root.
struct Place {
  Home home = Home::kNone;
  Extent extent = Extent::kStep;
  int64_t rows = 0;    // That it has room for.
  int64_t stride = 1;  // Extent::kChildren: see RowPlan::ChildStride().
  int source = -1;     // Slot, input or result.
  DType dtype = DType::kOther;  // As it is stored.
  bool copied = false;          // From the tape, where it lies by an index.
  size_t offset = 0;            // kTape, kArena: in their memory.
  size_t bytes = 0;
  // In the arena: what foreign operators give for some of the rows, before it
  // is added to the sum. No bytes: they run once, and give the sum.
  size_t terms_offset = 0, terms_bytes = 0;
};

// Rows of an input that not every vertex has, copied behind a row of zeros.
struct InputCopy {
  size_t offset = 0, bytes = 0;  // In the arena; no bytes: it is not copied.
  size_t zeros_bytes = 0;        // Of them, before the first row.
};

// The places of one program, by symbol.
struct ProgramPlan {
  std::vector<Place> places;
  size_t workspace_offset = 0, workspace_bytes = 0;  // In the arena.
};

// Two stretches of memory, carved front to back: what outlives the step (the
// state and the tape), and the arena.
struct StepPlan {
  Direction direction = Direction::kInference;
  bool two_streams = false;
  bool gathered_once = false;  // See Bindings.
  std::vector<Chunk> chunks;
  int64_t rows_per_block = 0;
  std::vector<ProgramPlan> programs;  // By vertex type.
  size_t zone = 0;                    // Bytes behind every buffer, for guards.
  size_t state_offset = 0, state_bytes = 0;  // With the row of zeros before it.
  size_t zeros_bytes = 0;                    // Of that row.
  size_t shared_offset = 0, shared_bytes = 0;  // Of Home::kChunk, in the arena.
  std::vector<InputCopy> inputs;           // By number; empty: none is copied.
  size_t kept_bytes = 0, arena_bytes = 0;  // In all.
  MemoryNeed need;                         // Without zones.

  // Where the values of Home::kChunk lie while a chunk with so many rows of
  // each type runs: by type and symbol, from shared_offset. Returns the bytes.
  size_t PlaceInChunk(const Model& model, const std::vector<int64_t>& rows,
                      std::vector<std::vector<size_t>>* offsets) const;
};

// What a plan depends on, beside model and rows.
struct StepLimits {
  // Unless they would write to one place at the same time, see Model.
  bool two_streams = false;
  size_t zone = 0;  // See StepPlan.
  // Derivatives, by type and saved symbol: does the tape hold its rows by an
  // index?
  std::vector<std::vector<bool>> saved_by_index;
  // Derivatives: no row of the state is gathered twice.
  bool gathered_once = false;
  // What the caller gets; null: nothing.
  const ResultSizes* sizes = nullptr;
  ResultRows rows;
};

// A pure function: predictions, messages and execution read the same plan.
StepPlan PlanStep(Direction direction, const Model& model, const RowPlan& rows,
                  const StepLimits& limits);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_STEP_PLAN_H_
