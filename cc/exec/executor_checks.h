// Do the arguments of a run fit its programs? Internal to the executor.
#ifndef CAVS_CC_EXEC_EXECUTOR_CHECKS_H_
#define CAVS_CC_EXEC_EXECUTOR_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/bindings.h"
#include "cc/exec/model.h"
#include "cc/exec/run.h"
#include "cc/ir/program.h"
#include "cc/schedule/schedule.h"

namespace cavs {

// "[3, 2]".
std::string ShapeText(const std::vector<int64_t>& shape);

// All return kInvalidArgument where something does not fit.

// Do the blocks that rows pass through have their columns? The names are what
// messages call the inputs and the outputs.
Status CheckPassing(const Program& program, const RunArguments& arguments,
                    const char* input_name, const char* output_name);

// Is there a capture for every symbol that is one, and has it that shape?
// `before`: captures of other types before these, for messages.
Status CheckCaptures(const Program& program,
                     const std::vector<TensorRef>& captures, size_t before);

// Has the schedule the slots that the model gathers from?
Status CheckSlots(const Model& model, const ScheduleView& schedule);

// Was the tape filled by the program that `program` is the derivative of?
Status CheckSaved(const Program& program, const std::vector<Slot>& saved);

// Have the gradients of captures the elements of the program's results? Result
// i is that of captures[i]; `before` as above.
Status CheckResults(const Program& program, const std::vector<int>& captures,
                    const std::vector<TensorRef>& grads, size_t before);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_EXECUTOR_CHECKS_H_
