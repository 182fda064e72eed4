// A program as it runs.
#ifndef CAVS_CC_IR_COMPILED_PROGRAM_H_
#define CAVS_CC_IR_COMPILED_PROGRAM_H_

#include <utility>

#include "cc/ir/layout.h"
#include "cc/ir/placement.h"
#include "cc/ir/program.h"
#include "cc/ir/zeros.h"

namespace cavs {

// What RunPasses() makes of a program, and what it has found out about it.
struct CompiledProgram : Program {
  // As it was traced: nothing is known yet.
  explicit CompiledProgram(Program program)
      : Program(std::move(program)), zeros(*this) {}

  Zeros zeros;
  Placement placement;
  Layout layout;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_COMPILED_PROGRAM_H_
