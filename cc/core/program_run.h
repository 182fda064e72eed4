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
#include "cc/core/dynamic_tensor.h"
#include "cc/core/program.h"
#include "cc/core/status.h"
#include "cc/core/storage_pool.h"
#include "cc/core/type_rows.h"

namespace cavs {

// Who computes, for one call of an op.
struct Environment {
  const Backend* backend = nullptr;
  StoragePool* pool = nullptr;
  void* host = nullptr;             // Handed to foreign operators.
  std::function<bool()> cancelled;  // Asked between tasks; may be empty.
};

// The value of one symbol: rows, one tensor, or one opaque value per task.
struct Value {
  DynamicTensor rows;
  TensorRef dense;
  std::vector<TensorRef> per_task;
  bool written = false;  // kReduced: is there a sum to add to?
};

// Where a program's data comes from and goes. Rows of `inputs` and `outputs`
// are in vertex order, those of `state` in execution order of the whole
// minibatch.
struct Externals {
  Block state;                 // Derivative: the gradient of the state.
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
  Status RunEager() { return RunRows(Stage::kEager); }
  // Evaluates the task's rows [first, first + count).
  Status RunTask(int64_t task, int64_t first, int64_t count) {
    return RunStage(Stage::kCritical, first, count, task);
  }
  Status RunLazy() { return RunRows(Stage::kLazy); }
  // Also writes Externals::results.
  Status RunEpilogue();

  // The values of Program::results, and the memory that holds them.
  std::vector<Value> TakeResults(std::vector<std::shared_ptr<void>>* memory);

 private:
  Status RunRows(Stage stage);
  Status RunStage(Stage stage, int64_t first, int64_t count, int64_t task);
  Status RunNode(const Node& node, int64_t first, int64_t count, int64_t task);
  Status RunForeign(const Node& node, int64_t first, int64_t count,
                    int64_t task);
  void RunProduct(const Node& node, int64_t first, int64_t count);
  void RunPassing(const Node& node, int64_t first, int64_t count);
  void AddUp(const Node& node, int64_t first, int64_t count);

  TensorRef Reference(int symbol, int64_t first, int64_t count, int64_t task);
  Block Rows(int symbol, int64_t first, int64_t count) const;
  // Rows, or a row-free value as one row to broadcast.
  ConstBlock Operand(int symbol, int64_t first, int64_t count) const;
  int64_t RowsToStore(const Symbol& symbol) const;
  // Does the run take memory for it? (Else it is given, a view, or has none.)
  bool IsStored(const Symbol& symbol) const;
  size_t BytesToStore(const Symbol& symbol) const;
  Status BindStored(const std::vector<bool>& wanted,
                    std::shared_ptr<void>* memory, size_t extra_bytes);
  void BindGiven();
  void BindViews();
  size_t PlanPacking();

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  const Program& program_;
  const TypeRows& rows_;
  const Environment& env_;
  Externals ext_;
  std::vector<Value> values_;
  std::shared_ptr<void> kept_, scratch_;
  // Weights in the layout of the product kernel, by (symbol, transposed).
  struct Packed {
    void* data = nullptr;
    bool ready = false;
  };
  std::map<std::pair<int, bool>, Packed> packed_;
};

}  // namespace cavs

#endif  // CAVS_CC_CORE_PROGRAM_RUN_H_
