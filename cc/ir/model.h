// The vertex functions of a model, compiled.
#ifndef CAVS_CC_IR_MODEL_H_
#define CAVS_CC_IR_MODEL_H_

#include <cstdint>
#include <vector>

#include "cc/base/status.h"
#include "cc/ir/compiled_program.h"

namespace cavs {

// One program per vertex type; one state for all.
struct Model {
  std::vector<CompiledProgram> programs;
  DType state_dtype = DType::kFloat32;
  int64_t state_columns = 0;
  // The programs gather from, or send gradients to, slots below this.
  int64_t num_slots = 0;
};

// Reads slots and the state's type and width off the programs' scatters (in a
// derivative: off scatter's gradient) and checks that gathers and types agree
// with it. kInvalidArgument otherwise; kUnimplemented if gradients of the
// state's type cannot be added up.
Status FinishModel(Model* model);

// Can it be the derivative of `model`: has it as many programs, of which each
// reads none but results of its own, as what they are?
bool MayBeDerivative(const Model& derivative, const Model& model);

}  // namespace cavs

#endif  // CAVS_CC_IR_MODEL_H_
