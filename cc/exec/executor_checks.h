// Checks the arguments of a run against its programs. Internal to the executor.
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

// All of them return kInvalidArgument if something does not fit.

// Checks the columns of the blocks of inputs and outputs. The names are those
// of the inputs and outputs in messages.
Status CheckMovedRows(const Program& program, const RunArguments& arguments,
                      const char* input_name, const char* output_name);

// Checks that there is a capture for every symbol that is one, and its shape.
// `before` is the number of captures of earlier types, for messages.
Status CheckCaptures(const Program& program,
                     const std::vector<TensorRef>& captures, size_t before);

// Checks that the schedule has the slots that the model gathers from.
Status CheckSlots(const Model& model, const ScheduleView& schedule);

// Checks that the tape was filled by the function whose derivative `program`
// is.
Status CheckSaved(const Program& program, const std::vector<Slot>& saved,
                  bool has_rows);

// Checks that the gradients of captures have the elements of the program's
// results. Result i is the gradient of captures[i]; `before` is as above.
Status CheckResults(const Program& program, const std::vector<int>& captures,
                    const std::vector<TensorRef>& grads, size_t before);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_EXECUTOR_CHECKS_H_
