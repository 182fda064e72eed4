// With what one call of the executor runs.
#ifndef CAVS_CC_EXEC_STEP_CONTEXT_H_
#define CAVS_CC_EXEC_STEP_CONTEXT_H_

#include <functional>

#include "cc/device/stream.h"
#include "cc/device/tracer.h"
#include "cc/exec/storage_pool.h"

namespace cavs {

// All that it points to must outlive the call.
struct StepContext {
  Stream* stream = nullptr;
  // Eager and lazy operators run in this one, beside the critical ones. Null:
  // in the same, one after the other.
  Stream* other = nullptr;
  StoragePool* pool = nullptr;
  void* host = nullptr;             // Handed to foreign operators.
  std::function<bool()> cancelled;  // Asked between tasks; may be empty.
  Tracer* tracer = nullptr;         // Told what runs; may be null.
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_STEP_CONTEXT_H_
