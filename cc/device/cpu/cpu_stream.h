// Streams of the CPU.
#ifndef CAVS_CC_DEVICE_CPU_CPU_STREAM_H_
#define CAVS_CC_DEVICE_CPU_CPU_STREAM_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/bindings.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/workers.h"
#include "cc/device/stream.h"
#include "cc/engine/engine.h"

namespace cavs {

class InlineStream;

// Work that a CPU stream runs without a closure, thousands of times a step.
class CpuTask {
 public:
  virtual ~CpuTask() = default;
  virtual Status RunNow(Stage stage, const RowRange& rows,
                        InlineStream* stream) = 0;
};

class CpuStream : public Stream {
 public:
  virtual Status Run(CpuTask* task, Stage stage, const RowRange& rows) = 0;
};

// The least work for which other workers are called.
struct CpuCosts {
  // An op that takes one worker no longer than this calls no other worker:
  // waking a sleeping thread takes about 100 us.
  double nanos_to_call = 300000;
  // Work that takes one worker no longer than this runs on that worker alone.
  double nanos_to_divide = 4000;
};

// Does all work at once, on the calling thread and its workers. Its only state
// is its first error, so it costs nothing to make.
class InlineStream : public CpuStream {
 public:
  // `workers` must outlive it.
  explicit InlineStream(Workers* workers, CpuCosts costs = {});
  // A stream of one thread, with the kernels of a test.
  explicit InlineStream(const CpuBackend* kernels);
  InlineStream(const InlineStream&) = delete;

  Status Call(std::function<Status()> work) override;
  Status Zero(void* to, size_t bytes) override;
  Status Copy(void* to, const void* from, size_t bytes) override;
  Status Add(DType dtype, const void* terms, int64_t n, void* sums) override;
  Status ClearUnlessFinite(DType dtype, const void* numbers, int64_t n,
                           bool* finite) override;
  std::shared_ptr<Event> Record() override { return nullptr; }
  Status Wait(std::shared_ptr<Event>) override { return Status(); }
  Status Synchronize() override { return Status(); }
  void Expect(double nanos) override;

  Status Run(CpuTask* task, Stage stage, const RowRange& rows) override {
    return task->RunNow(stage, rows, this);
  }

  // The workers of the stream, or the caller alone if the expected work would
  // be done before they wake.
  Workers& workers() const { return *workers_; }
  // A backend whose kernels use the workers.
  const CpuBackend& backend() const { return *backend_; }
  // A backend whose kernels stay on the calling thread.
  const CpuBackend& serial() const { return *serial_; }
  double nanos_to_divide() const { return costs_.nanos_to_divide; }

 private:
  const CpuCosts costs_;
  SerialWorkers alone_;
  Workers* workers_;
  const CpuBackend shared_, unshared_;
  const CpuBackend *backend_, *serial_;
};

// A stream on a worker of a dependency engine.
class EngineStream : public CpuStream {
 public:
  // The first error of several streams, which stops all of them.
  class Outcome {
   public:
    bool ok() const { return !failed_.load(std::memory_order_relaxed); }
    void Set(Status status);
    // Returns the error, if there is one, and forgets it.
    Status Take();

   private:
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    Status status_;  // GUARDED_BY(mutex_)
  };

  // `number` is that of the engine's stream. All arguments must outlive the
  // object.
  EngineStream(engine::Engine* engine, int number, Outcome* outcome,
               Workers* workers, CpuCosts costs = {});
  // Waits for all work in the stream.
  ~EngineStream() override;
  EngineStream(const EngineStream&) = delete;

  Status Call(std::function<Status()> work) override;
  Status Zero(void* to, size_t bytes) override;
  Status Copy(void* to, const void* from, size_t bytes) override;
  Status Add(DType dtype, const void* terms, int64_t n, void* sums) override;
  Status ClearUnlessFinite(DType dtype, const void* numbers, int64_t n,
                           bool* finite) override;
  std::shared_ptr<Event> Record() override;
  Status Wait(std::shared_ptr<Event> event) override;
  Status Synchronize() override;
  Status Run(CpuTask* task, Stage stage, const RowRange& rows) override;

 private:
  // One entry of the queue: a task, or a call.
  struct Work {
    CpuTask* task;
    Stage stage;
    RowRange rows;
    std::function<Status()> call;
  };

  // Passes the queue to the engine as one operation, since each push locks the
  // engine.
  void Flush(std::vector<engine::Variable> mutated);
  Status Do(const Work& work);

  InlineStream now_;  // Runs work that the engine has reached.
  engine::Engine* const engine_;
  const int number_;
  Outcome* const outcome_;
  const engine::Variable order_;
  std::vector<Work> queue_;
  std::vector<std::shared_ptr<Event>> awaited_;
};

// Two streams of one engine, for one step.
class TwoCpuStreams {
 public:
  // With two workers or fewer, each stream works alone: two streams on two
  // threads leave no worker to either.
  TwoCpuStreams(engine::Engine* engine, Workers* workers, CpuCosts costs = {});

  Stream* critical() { return &critical_; }
  Stream* other() { return &other_; }

 private:
  SerialWorkers alone_;
  EngineStream::Outcome outcome_;
  EngineStream critical_, other_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_CPU_STREAM_H_
