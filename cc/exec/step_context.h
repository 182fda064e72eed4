// The resources with which one call of the executor runs.
#ifndef CAVS_CC_EXEC_STEP_CONTEXT_H_
#define CAVS_CC_EXEC_STEP_CONTEXT_H_

#include <functional>

#include "cc/device/stream.h"
#include "cc/device/tracer.h"
#include "cc/exec/storage_pool.h"

namespace cavs {

// Everything that it points to must outlive the call.
struct StepContext {
  Stream* stream = nullptr;
  // The stream of eager and lazy operators. If there is one, they run at the
  // same time as critical operators. Null: they run in `stream`, one after the
  // other.
  Stream* other = nullptr;
  StoragePool* pool = nullptr;
  void* host = nullptr;             // Passed on to foreign operators.
  std::function<bool()> cancelled;  // Asked between tasks; may be empty.
  Tracer* tracer = nullptr;         // Told which nodes run; may be null.
  // Told of one scope, "programs": the time between setting up and cleaning up.
  // May be null.
  Tracer* outline = nullptr;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_STEP_CONTEXT_H_
