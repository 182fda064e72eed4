// A program after all passes, as devices run it.
#ifndef CAVS_CC_IR_COMPILED_PROGRAM_H_
#define CAVS_CC_IR_COMPILED_PROGRAM_H_

#include <utility>

#include "cc/ir/layout.h"
#include "cc/ir/placement.h"
#include "cc/ir/program.h"
#include "cc/ir/zeros.h"

namespace cavs {

// A program with the side tables that RunPasses() has computed for it.
struct CompiledProgram : Program {
  // For a traced program, before any pass: its side tables are empty.
  explicit CompiledProgram(Program program)
      : Program(std::move(program)), zeros(*this) {}

  Zeros zeros;
  Placement placement;
  Layout layout;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_COMPILED_PROGRAM_H_
