// A model over the chunks of a minibatch.
#ifndef CAVS_CC_EXEC_RUN_H_
#define CAVS_CC_EXEC_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/device.h"
#include "cc/exec/foreign_nodes.h"
#include "cc/exec/guards.h"
#include "cc/exec/model.h"
#include "cc/exec/step_context.h"
#include "cc/exec/step_plan.h"
#include "cc/schedule/row_plan.h"

namespace cavs {

// Bytes that no program writes: they become zero.
struct Unwritten {
  int output = -1;  // They lie there, so many bytes from its beginning;
  size_t offset = 0;
  void* data = nullptr;  // or here, if there is no output.
  size_t bytes = 0;
};

// What passes in and out of a run. All memory is the device's.
struct RunArguments {
  std::vector<IndexLists> lists;       // By type.
  std::vector<Block> inputs, outputs;  // See Bindings.
  // By type, then by input or output.
  std::vector<std::vector<const int32_t*>> input_rows, output_rows;
  std::vector<std::vector<TensorRef>> captures;  // By type.
  // Backward: the tape, by type; and where gradients of captures go.
  const std::vector<std::vector<Slot>>* saved = nullptr;
  std::vector<std::vector<TensorRef>> results;
  std::vector<Unwritten> unwritten;
};

// One direction of one step. What it is given must outlive it. Not thread safe.
class Run {
 public:
  Run(const StepPlan& plan, const Model& model, const RowPlan& rows,
      const StepContext& context, RunArguments arguments, Guards* guards);
  Run(const Run&) = delete;
  // Waits for what it has put into the streams.
  ~Run();

  // Takes all memory that the plan asks for, before anything is computed; false
  // if there is not as much.
  bool Start();
  // In the backward direction, of the state's gradient: how often each row is
  // written. What no one writes is zero; what several add to begins with zero.
  Status ZeroState(const std::vector<int32_t>& writes);

  // What is computed from weights alone; all chunks in order, backward in
  // reverse; and what is computed from sums over them.
  Status Compute();

  // The results of the programs, by type. They lie in kept(), which is all that
  // outlives this object.
  std::vector<std::vector<Slot>> Results() const;
  const std::shared_ptr<void>& kept() const { return kept_; }

 private:
  void BindState();
  void BindInputs();
  void BindProgram(int type);
  void BindSlot(int type, int id);
  void BindViews(int type);
  Status BindChunk(const Chunk& chunk);
  DynamicTensor RowsAt(int type, int id, void* data) const;

  Status ZeroUnwritten();
  Status Prologue();
  Status CheckWeights(int type) const;
  Status Epilogue();
  Status CopyResult(int type, size_t i);
  Status RunChunks();
  Status RunBlocks(Stage stage, const Chunk& chunk, Stream* stream);
  Status RunTasks(const Chunk& chunk);
  Status RunTask(const Chunk& chunk, int64_t task);
  Status Synchronize();
  // Looks at the guard zones, if there are any, when the stream has come here.
  template <typename Title>
  Status Checked(Status status, Stream* stream, const Title& title) const;
  RowRange RangeOf(int type, const Chunk& chunk) const;

  const StepPlan& plan_;
  const Model& model_;
  const RowPlan& rows_;
  const StepContext& context_;
  Stream* const critical_;
  Stream* const other_;
  const RunArguments arguments_;
  Guards* const guards_;
  size_t zones_before_ = 0, zones_of_run_ = 0;
  std::shared_ptr<void> kept_, arena_memory_;
  char* kept_begin_ = nullptr;
  char* arena_ = nullptr;
  Block state_;
  std::vector<Block> inputs_;
  std::vector<Bindings> bindings_;  // By type, as the next two.
  std::vector<std::unique_ptr<ForeignNodes>> foreign_;
  std::vector<std::unique_ptr<BoundProgram>> bound_;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_RUN_H_
