// Decides which programs evaluate the tasks of a step.
#ifndef CAVS_CC_EXEC_CHOOSE_PROGRAMS_H_
#define CAVS_CC_EXEC_CHOOSE_PROGRAMS_H_

#include <vector>

#include "cc/base/status.h"
#include "cc/device/block.h"
#include "cc/exec/model.h"
#include "cc/exec/step_context.h"
#include "cc/exec/tape.h"
#include "cc/schedule/external_rows.h"
#include "cc/schedule/row_plan.h"
#include "cc/schedule/schedule.h"

namespace cavs {

// The traits of the tasks that programs of the model tell apart. `pull_rows`
// has a map per pull, or is empty: then every vertex has a row of all of them.
std::vector<int> TraitsOfTasks(const Model& model, const ScheduleView& schedule,
                               const std::vector<RowMap>& pull_rows);

// The programs that are expected to be fastest if all numbers are finite. A
// variant is among them if it saves more time than it takes to run one more
// program.
ProgramTable FastestPrograms(const Model& model, const ScheduleView& schedule,
                             const std::vector<int>& traits);

// By task, the traits that its program is made for, if those programs run:
// kNoTraits for that of all vertices of its type.
std::vector<int> TraitsOfPrograms(const Model& model,
                                  const ScheduleView& schedule,
                                  const std::vector<RowMap>& pull_rows);

// Finds FastestPrograms(), but no variants of types that have an infinity or
// NaN in a capture or input that must be finite.
Status ChoosePrograms(const Model& model, const StepInputs& inputs,
                      const std::vector<int>& traits,
                      const StepContext& context, ProgramTable* programs);

// Whether the variants of a derivative can read the values that the model's
// variants left on the tape.
bool CanReadVariants(const Model& derivative, const Tape& tape);

// Clears *finite if gradients from outside are not finite that must be so for a
// variant that runs.
Status CheckPushGrads(const Model& derivative, const Tape& tape,
                      const std::vector<Block>& push_grads,
                      const StepContext& context, bool* finite);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_CHOOSE_PROGRAMS_H_
