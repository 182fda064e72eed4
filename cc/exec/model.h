// The vertex functions of a model, compiled for a device.
#ifndef CAVS_CC_EXEC_MODEL_H_
#define CAVS_CC_EXEC_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/device.h"
#include "cc/ir/compiled_program.h"
#include "cc/ir/passes/run_passes.h"
#include "cc/schedule/row_plan.h"

namespace cavs {

// One program per vertex type, as one device runs it; one state for all.
struct Model {
  Model() = default;
  Model(const Model&) = delete;  // Executables point to the programs.
  Model& operator=(const Model&) = delete;

  std::vector<CompiledProgram> programs;
  std::vector<std::unique_ptr<Executable>> executables;
  const Device* device = nullptr;
  DType state_dtype = DType::kFloat32;
  int64_t state_columns = 0;
  // Two streams would write to one place at the same time: to a sum over rows
  // that both critical and other nodes form; or, where a row of the state is
  // gathered twice, to its gradient.
  bool streams_share_sums = false, streams_share_state = false;
  // The programs gather from, or send gradients to, slots below this.
  int64_t num_slots = 0;
  // Derivatives: by type and result of its program, the number of the capture
  // that it is the gradient of. Result 0 is that of capture 0, and so on,
  // unless the caller says something else.
  std::vector<std::vector<int>> result_captures;
};

// Makes a model of traced programs, which move into it: runs the passes, reads
// slots and the state's type and width off the programs' scatters (in a
// derivative: off scatter's gradient), checks that gathers and types agree with
// it, and compiles for `device`, which must outlive the model. Fails as
// RunPasses(); kInvalidArgument where types disagree about the state;
// kUnimplemented if gradients of the state's type cannot be added up.
Status CompileModel(std::vector<Program> traced, const PassOptions& options,
                    const Device* device, Model* model);

// Can it be the derivative of `model`: has it as many programs, of which each
// reads none but results of its own, as what they are?
bool MayBeDerivative(const Model& derivative, const Model& model);

// Has a program a node of this kind and index?
bool Touches(const Program& program, NodeKind kind, size_t index);

// By type: how often its program gathers from each slot, or sends gradients
// back to it.
std::vector<SlotCounts> CountSlots(const Model& model);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_MODEL_H_
