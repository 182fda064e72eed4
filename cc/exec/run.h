// Runs a model over the chunks of a minibatch.
#ifndef CAVS_CC_EXEC_RUN_H_
#define CAVS_CC_EXEC_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/device/device.h"
#include "cc/exec/foreign_nodes.h"
#include "cc/exec/guards.h"
#include "cc/exec/model.h"
#include "cc/exec/step_context.h"
#include "cc/exec/step_plan.h"
#include "cc/schedule/row_plan.h"

namespace cavs {

// Bytes of a result that no program writes, and that are set to zero.
struct Unwritten {
  int output = -1;  // The output in which they lie, at `offset` ...
  size_t offset = 0;
  void* data = nullptr;  // ... or their address, if they lie in no output.
  size_t bytes = 0;
};

// The inputs and outputs of a run. All memory is the device's.
struct RunArguments {
  // Copies lists to memory of the plan and sets those of the arguments that are
  // copies. May be empty.
  std::function<Status(void* memory, RunArguments*)> upload;
  Span<IndexLists> lists;              // Indexed by type.
  std::vector<Block> inputs, outputs;  // See Bindings.
  // Indexed by type, then by input or output.
  std::vector<std::vector<const int32_t*>> input_rows, output_rows;
  // Forward: by vertex type; they must outlive the results.
  const std::vector<std::vector<TensorRef>>* captures = nullptr;
  // Backward: the tape, by type; and the gradients of captures.
  const std::vector<std::vector<Slot>>* saved = nullptr;
  std::vector<std::vector<void*>> results;
  std::vector<Unwritten> unwritten;
};

// One direction of one step. The constructor's arguments must outlive it. Not
// thread safe.
class Run {
 public:
  Run(const StepPlan& plan, const Model& model, const RowPlan& rows,
      const StepContext& context, RunArguments arguments, Guards* guards);
  Run(const Run&) = delete;
  // Retires the work that it has put into the streams.
  ~Run();

  // Takes all memory of the plan, before anything is computed; returns refuse()
  // if there is not enough.
  Status Start(const std::function<Status()>& refuse);
  // Zeroes the rows of the state's gradient that no node writes, and those to
  // which several nodes add. `writes` says how often each row is written. For
  // the backward direction.
  Status ZeroState(const std::vector<int32_t>& writes);

  // Runs the prologue; all chunks in order, backward in reverse; and the
  // epilogue.
  Status Compute();

  // The results of the programs, by type. They lie in kept(), the only memory
  // that outlives this object.
  std::vector<std::vector<Slot>> Results() const;
  const std::shared_ptr<void>& kept() const { return kept_; }

 private:
  // What runs the program of a type.
  struct Part {
    Bindings bindings;
    std::unique_ptr<ForeignNodes> foreign;
    std::unique_ptr<BoundProgram> bound;
    std::unique_ptr<bool[]> sums_begun;  // By symbol: see Bindings::sum_begun.
    std::vector<int> chunk_views;  // The views of symbols of Home::kChunk.
  };

  Status BindState();
  Status BindInputs();
  void BindProgram(int type);
  void BindSums(int type);
  void BindSlot(int type, int id);
  void BindView(int type, int id);
  Status BindChunk(const Chunk& chunk);
  void BindInChunk(int type, char* shared);
  DynamicTensor RowsAt(int type, int id, void* data) const;

  Status ZeroUnwritten();
  Status Prologue();
  Status CheckWeights(int type) const;
  Status Epilogue();
  Status CopyResult(int type, size_t i);
  Status RunChunks();
  Status RunBlocks(Stage stage, const Chunk& chunk, Stream* stream);
  Status RunTasks(const Chunk& chunk);
  Status RunTask(int64_t task);
  // Work that is put into the streams from now on begins after all earlier
  // work, and bindings may be changed.
  Status Barrier();
  // Checks the guard zones, if there are any, when the stream reaches this
  // point.
  template <typename Title>
  Status Checked(Status status, Stream* stream, const Title& title) const;

  const StepPlan& plan_;
  const Model& model_;
  const RowPlan& rows_;
  const StepContext& context_;
  Stream* const critical_;
  Stream* const other_;
  RunArguments arguments_;
  Guards* const guards_;
  size_t zones_before_ = 0, zones_of_run_ = 0;
  std::shared_ptr<void> kept_, arena_memory_;
  char* kept_begin_ = nullptr;
  char* arena_ = nullptr;
  Block state_;
  std::vector<Part> parts_;  // By type.
  // The places in the chunk that is bound: see StepPlan::PlaceInChunk(). Kept
  // so that no chunk but the first allocates.
  std::vector<RowRange> chunk_rows_;
  std::vector<std::vector<size_t>> chunk_offsets_;
  std::vector<RowRange> task_rows_;  // By type, of the chunk whose tasks run.
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_RUN_H_
