// Guard zones around the caller's buffers.
#ifndef CAVS_CC_EXEC_GUARDED_OUTPUTS_H_
#define CAVS_CC_EXEC_GUARDED_OUTPUTS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cc/exec/guards.h"
#include "cc/exec/model.h"
#include "cc/exec/run.h"
#include "cc/exec/storage_pool.h"

namespace cavs {

// The caller's buffers may lie next to anything. With guard zones a run writes
// to copies of them, each with a zone before and behind it. Lives for one step.
class GuardedOutputs {
 public:
  // Does nothing without guards. Otherwise replaces the outputs and results in
  // `arguments`, which must have been checked.
  GuardedOutputs(const Model& model, StoragePool* pool, Guards* guards,
                 RunArguments* arguments);
  GuardedOutputs(const GuardedOutputs&) = delete;
  ~GuardedOutputs();

  // Copies the written values to the caller's buffers.
  void CopyBack() const;

 private:
  struct Copy {
    void* given;
    void* data;
    size_t bytes;
    std::shared_ptr<void> memory;
  };

  // The address in a copy that stands for one in memory that was replaced.
  void* Translate(void* given) const;
  void* Replace(void* given, size_t bytes, const std::string& name);

  StoragePool* const pool_;
  Guards* const guards_;
  std::vector<Copy> copies_;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_GUARDED_OUTPUTS_H_
