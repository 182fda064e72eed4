// Guard zones for what is not carved from an arena.
#ifndef CAVS_CC_EXEC_GUARDED_OUTPUTS_H_
#define CAVS_CC_EXEC_GUARDED_OUTPUTS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cc/exec/program_run.h"
#include "cc/ir/model.h"

namespace cavs {

// The caller's buffers lie anywhere. With guard zones a pass writes to copies
// of them, each with a zone before and behind it. Lives for one step.
class GuardedOutputs {
 public:
  // Does nothing if the environment has no guards. Else replaces outputs and
  // results in `externals`, one per program, which are as the programs expect.
  GuardedOutputs(const Model& model, const Environment& environment,
                 std::vector<Externals>* externals);
  GuardedOutputs(const GuardedOutputs&) = delete;
  ~GuardedOutputs();

  // Gives the caller what was written.
  void CopyBack() const;

 private:
  struct Copy {
    void* given;
    void* data;
    size_t bytes;
    std::shared_ptr<void> memory;
  };

  void* Replace(void* given, size_t bytes, const std::string& name);

  const Environment& env_;
  std::vector<Copy> copies_;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_GUARDED_OUTPUTS_H_
