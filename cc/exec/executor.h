// Runs the vertex functions of a model, and their derivatives, over a schedule.
#ifndef CAVS_CC_EXEC_EXECUTOR_H_
#define CAVS_CC_EXEC_EXECUTOR_H_

#include <cstdint>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/block.h"
#include "cc/exec/memory_need.h"
#include "cc/exec/model.h"
#include "cc/exec/result_sizes.h"
#include "cc/exec/step_context.h"
#include "cc/exec/tape.h"
#include "cc/schedule/external_rows.h"
#include "cc/schedule/schedule.h"

namespace cavs {

struct ForwardArguments : StepInputs {
  // The sizes of these pushes, and of the gradients that follow. Never null.
  const ResultSizes* sizes = nullptr;
  // With a tape, if known: the model that RunBackward() will run on the same
  // pool.
  const Model* derivative = nullptr;
  bool use_variants = true;  // Whether variants evaluate leaves.
};

// Eager operators over all rows, then the critical ones task by task, then the
// lazy ones over all rows. Fills `tape`, unless it is null (inference). The
// schedule must be valid (see ValidateSchedule), blocks have the rows that
// their maps say; columns and numbers of blocks and captures are checked,
// kInvalidArgument.
// kResourceExhausted, before anything is computed, if there is not the memory
// that PredictTraining() says, or PredictInference().
Status RunForward(const Model& model, ForwardArguments arguments,
                  const StepContext& context, Tape* tape);

struct BackwardArguments {
  // The model that RunForward() ran, if known. Where a gradient is infinite or
  // NaN, and on a tape that the variants of this derivative cannot read, it
  // runs again without variants.
  const Model* model = nullptr;
  std::vector<Block> push_grads;  // Read only.
  std::vector<Block> pull_grads;  // Zero in rows of types that write none.
  std::vector<int> pulls;         // The pull whose gradient each one is.
  // Indexed by type and capture; dense. Zero where a type computes none.
  std::vector<std::vector<TensorRef>> capture_grads;
  // The sizes of these gradients. Never null.
  const ResultSizes* sizes = nullptr;
};

// Runs the tasks of `tape` in reverse with the derivatives of the programs that
// filled it. Does not change the tape. Checks arguments as RunForward does, and
// that the tape is of a model with the same saved symbols.
Status RunBackward(const Model& derivative, const Tape& tape,
                   const BackwardArguments& arguments,
                   const StepContext& context);

// The memory that a training step needs.
struct TrainingNeed {
  MemoryNeed forward, backward;
  size_t peak = 0;
};

// The bytes that RunForward() without a tape takes from the pool before it
// computes anything, and the bytes of its pushes. The model has no results. The
// schedule must be valid, and `pull_rows` has a map per pull.
MemoryNeed PredictInference(const Model& model, const ScheduleView& schedule,
                            const std::vector<RowMap>& pull_rows,
                            const ResultSizes& sizes, const ResultRows& rows);

// The bytes for RunForward() with a tape, and then RunBackward() of
// `derivative`, which may be null.
TrainingNeed PredictTraining(const Model& model, const Model* derivative,
                             const ScheduleView& schedule,
                             const std::vector<RowMap>& pull_rows,
                             const ResultSizes& sizes, const ResultRows& rows,
                             bool two_streams);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_EXECUTOR_H_
