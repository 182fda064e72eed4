// One program bound to the storage of one step.
#ifndef CAVS_CC_CORE_PROGRAM_RUN_H_
#define CAVS_CC_CORE_PROGRAM_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cc/backend/backend.h"
#include "cc/backend/workers.h"
#include "cc/core/dynamic_tensor.h"
#include "cc/core/program.h"
#include "cc/core/status.h"
#include "cc/core/storage_pool.h"
#include "cc/core/type_rows.h"

namespace cavs {

// Who computes, for one call of an op.
struct Environment {
  // Its kernels share out their own work.
  const Backend* backend = nullptr;
  // Where the executor shares out the work itself: who does it, and with what
  // kernels, which stay on the thread that calls them. Both or neither.
  Workers* workers = nullptr;
  const Backend* serial = nullptr;
  // Work that takes one worker no longer than this is not shared out.
  double nanos_to_share = 4000;
  StoragePool* pool = nullptr;
  void* host = nullptr;             // Handed to foreign operators.
  std::function<bool()> cancelled;  // Asked between tasks; may be empty.
};

// The value of one symbol: rows, one tensor, or one opaque value per task.
struct Value {
  DynamicTensor rows;
  TensorRef dense;
  std::vector<TensorRef> per_task;
  bool written = false;                // kReduced: is there a sum to add to?
  bool zero_without_children = false;  // As Symbol's; on a tape.
};

// Where a program's data comes from and goes. Rows of `inputs` and `outputs`
// are in vertex order, those of `state` in execution order of the whole
// minibatch.
struct Externals {
  Block state;  // Derivative: the gradient of the state.
  // Are the rows of every chunk adjacent there?
  bool state_is_adjacent = false;
  // Derivative: no row of the state is gathered twice, so what would be added
  // to its gradient is all there is.
  bool gathered_once = false;
  int64_t largest_chunk = -1;  // Rows of the program; -1: all.
  std::vector<Block> inputs;   // Pulls; derivative: gradients of pushes.
  std::vector<Block> outputs;  // Pushes; derivative: gradients of pulls.
  std::vector<TensorRef> captures;
  const std::vector<Value>* saved = nullptr;  // Derivative: the tape.
  std::vector<TensorRef> results;  // Derivative: gradients of captures.
};

// Runs the nodes of one program stage by stage. Not thread safe; lives for one
// step. The program, rows and environment must outlive it.
class ProgramRun {
 public:
  ProgramRun(const Program& program, const TypeRows& rows,
             const Environment& environment, Externals externals);

  // Takes storage. Before anything else; kResourceExhausted if there is none.
  Status Bind();

  // Also checks that the weights which native kernels read are as traced.
  Status RunPrologue();
  // The rows [first, first + count) of the program are a chunk, which the next
  // calls are about.
  // `childless` rows, at its beginning, have no children.
  void BeginChunk(int64_t first, int64_t count, int64_t childless);
  Status RunEager() { return RunRows(Stage::kEager); }
  // Evaluates the task's rows [first, first + count).
  Status RunTask(int64_t task, int64_t first, int64_t count) {
    return RunStage(Stage::kCritical, first, count, task);
  }
  Status RunLazy() { return RunRows(Stage::kLazy); }
  // Also writes Externals::results.
  Status RunEpilogue();

  // Is anything stored in the memory of the state?
  bool uses_state() const { return uses_state_; }

  // The values of Program::results, and the memory that holds them.
  std::vector<Value> TakeResults(std::vector<std::shared_ptr<void>>* memory);

 private:
  // The columns [begin, end) of each `unit` columns; all if there is no unit.
  struct Share {
    int64_t unit = 0, begin = 0, end = 0;
  };
  // A tile of a sum over rows, and the nodes of a phase that add to it.
  struct SumTile {
    std::vector<int> nodes;
    int64_t first_row, end_row, first_column, end_column;
  };
  // Weights side by side in the layout of the product kernel.
  struct Packed {
    void* data = nullptr;
    int64_t depth = 0, columns = 0;
  };

  Status RunRows(Stage stage);
  Status RunStage(Stage stage, int64_t first, int64_t count, int64_t task);
  Status RunWhole(const Phase& phase, int64_t first, int64_t count,
                  int64_t task);
  void RunByRows(const Phase& phase, int64_t first, int64_t count,
                 int64_t block);
  void RunByColumns(const Phase& phase, int64_t unit, int64_t first,
                    int64_t count, int parts);
  void RunSums(const Phase& phase, int64_t first, int64_t count);
  std::vector<SumTile> TilesOf(const Phase& phase) const;
  void AddUp(const SumTile& tile, int64_t first, int64_t count,
             const Backend& backend);
  void AddUp(const Node& node, const SumTile& tile, int64_t first,
             int64_t count, bool accumulate, const Backend& backend);

  // One native node for rows [first, first + count) and a share of its columns.
  void Compute(const Node& node, int64_t first, int64_t count,
               const Share& share, const Backend& backend);
  void ComputeProduct(const Node& node, int64_t first, int64_t count,
                      const Share& share, const Backend& backend);
  void ComputeGroup(const Node& node, int64_t first, int64_t count,
                    const Share& share, const Backend& backend);
  void ComputePassing(const Node& node, int64_t first, int64_t count,
                      const Share& share, const Backend& backend);
  Status RunForeign(const Node& node, int64_t first, int64_t count,
                    int64_t task);

  TensorRef Reference(int symbol, int64_t first, int64_t count, int64_t task);
  Block Rows(int symbol, int64_t first, int64_t count) const;
  // Rows, or a row-free value as one row to broadcast.
  ConstBlock Operand(int symbol, int64_t first, int64_t count) const;
  bool IsZeroWithoutChildren(int symbol) const;
  // Where a row-free value, or a piece of one, begins.
  char* Dense(int symbol) const;
  int64_t RowsToStore(int symbol, bool kept) const;
  // Does the run take memory for it? (Else it is given, a view, or has none.)
  bool IsStored(int symbol) const;
  size_t BytesToStore(int symbol, bool kept) const;
  void BindToState();
  Status BindStored(const std::vector<bool>& wanted, bool kept,
                    std::shared_ptr<void>* memory, size_t extra_bytes);
  void BindGiven();
  void BindViews();
  static std::pair<std::vector<int>, bool> PackingKey(const Node& node);
  size_t PackedBytes(const Packed& packed, int weight) const;
  size_t PlanPacking();
  void PackWeights();

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  const Program& program_;
  const TypeRows& rows_;
  const Environment& env_;
  Externals ext_;
  std::vector<Value> values_;
  bool uses_state_ = false;
  std::shared_ptr<void> kept_, scratch_;
  int64_t first_of_chunk_ = 0, chunk_size_ = 0;
  int64_t childless_ = 0;  // Rows at the beginning of the chunk.
  int64_t first_of_task_ = 0;
  bool task_is_childless_ = false;
  // By (weights, transposed).
  std::map<std::pair<std::vector<int>, bool>, Packed> packed_;
};

}  // namespace cavs

#endif  // CAVS_CC_CORE_PROGRAM_RUN_H_
