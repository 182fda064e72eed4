// Runs the vertex functions of a model, and their derivatives, over a schedule.
#ifndef CAVS_CC_CORE_EXECUTOR_H_
#define CAVS_CC_CORE_EXECUTOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/core/program.h"
#include "cc/core/program_run.h"
#include "cc/core/schedule.h"
#include "cc/core/status.h"
#include "cc/core/tape.h"

namespace cavs {

// One program per vertex type; one state for all.
struct Model {
  std::vector<Program> programs;
  DType state_dtype = DType::kFloat32;
  int64_t state_columns = 0;
};

// Reads the state's type and width off the programs' scatters (in a derivative:
// off scatter's gradient) and checks that gathers and types agree with it.
// kInvalidArgument otherwise; kUnimplemented if gradients of the state's type
// cannot be added up.
Status FinishModel(Model* model);

// Rows of blocks are in vertex order, V of them each.
struct ForwardArguments {
  ScheduleView schedule;
  std::vector<Block> pulls;  // Read only; they live as long as the tape.
  std::vector<Block>
      pushes;  // Zeroed by the caller where a type pushes nothing.
  std::vector<std::vector<TensorRef>> captures;  // Per type.
};

// Eager operators over all rows, then the critical ones task by task, then the
// lazy ones over all rows. Fills `tape`, unless it is null (inference). The
// schedule must be valid (see ValidateSchedule), blocks have V rows; columns
// and numbers of blocks and captures are checked, kInvalidArgument.
Status RunForward(const Model& model, const ForwardArguments& arguments,
                  const Environment& environment, Tape* tape);

struct BackwardArguments {
  std::vector<Block> push_grads;  // Read only.
  std::vector<Block>
      pull_grads;  // Zeroed by the caller where a type writes none.
  std::vector<std::vector<TensorRef>> capture_grads;  // Per type; dense.
};

// Replays the tasks of `tape` in reverse with the derivatives of the programs
// that filled it. Does not change the tape. Checks arguments as RunForward
// does, and that the tape is of a model with the same saved symbols.
Status RunBackward(const Model& derivative, const Tape& tape,
                   const BackwardArguments& arguments,
                   const Environment& environment);

}  // namespace cavs

#endif  // CAVS_CC_CORE_EXECUTOR_H_
