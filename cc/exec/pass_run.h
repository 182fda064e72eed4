// A model over the chunks of a schedule. Internal to the executor.
#ifndef CAVS_CC_EXEC_PASS_RUN_H_
#define CAVS_CC_EXEC_PASS_RUN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/status.h"
#include "cc/exec/memory_need.h"
#include "cc/exec/pass.h"
#include "cc/exec/program_run.h"
#include "cc/ir/model.h"
#include "cc/schedule/chunks.h"
#include "cc/schedule/schedule.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// One pass over a minibatch: the runs of the programs of all vertex types.
// Lives for one step. Not thread safe.
class PassRun {
 public:
  // Plans what is stored where, and takes nothing yet. What it is given must
  // outlive it. `rows` and `externals`: per vertex type; what depends on the
  // chunks is filled in here.
  PassRun(Pass pass, const Model& model, const ScheduleView& schedule,
          const std::vector<TypeRows>& rows, const Environment& environment,
          std::vector<Externals> externals);
  PassRun(const PassRun&) = delete;
  ~PassRun();

  // What Start() takes.
  const MemoryNeed& need() const { return need_; }

  // Takes all memory, before anything is computed; false if there is none.
  bool Start();
  // The state; in a backward pass, its gradient.
  void* state() const { return state_; }

  // What is computed from weights alone; all chunks in order, in a backward
  // pass in reverse; and what is computed from sums over them.
  Status Run();

  // Of the programs, per vertex type. What lies in kept() is all that outlives
  // this object.
  std::vector<std::vector<Value>> Results() const;
  // A forward pass's state and tape.
  const std::shared_ptr<void>& kept() const { return kept_; }

 private:
  std::vector<Chunk> PlanChunks(std::vector<Externals>* externals) const;
  ChunkRows RowsOf(size_t type, const Chunk& chunk) const;
  size_t BytesForChunk(const Chunk& chunk) const;
  size_t BytesOfZones() const;
  // `status`, of what `title` names, or that of a write to a guard zone.
  template <typename Title>
  Status Checked(Status status, const Title& title) const;
  void BindState(Arena* arena);
  void BindChunk(const Chunk& chunk);
  Status RunEager(const Chunk& chunk);
  Status RunTasks(const Chunk& chunk);
  Status RunTask(const Chunk& chunk, int64_t task);
  Status RunLazy(const Chunk& chunk);

  const Pass pass_;
  const Model& model_;
  const ScheduleView& schedule_;
  const std::vector<TypeRows>& rows_;
  const Environment& env_;
  std::vector<Chunk> chunks_;
  std::vector<ProgramRun> runs_;
  MemoryNeed need_;
  // Have all types one place for what they store for a chunk? Streams are at
  // several chunks at a time, and one type alone needs no other.
  const bool shares_;
  size_t shared_bytes_ = 0;
  // Guard zones that were there before, and those that are not of one chunk.
  size_t zones_before_ = 0, zones_of_pass_ = 0;
  void* shared_ = nullptr;
  void* state_ = nullptr;
  std::shared_ptr<void> kept_, scratch_;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_PASS_RUN_H_
