#include "cc/exec/streams.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "cc/base/no_throw.h"

namespace cavs {
namespace {

constexpr int kCriticalStream = 0;
constexpr int kOtherStream = 1;

// How many chunks the eager steps are ahead: enough for the critical path not
// to wait, few enough for what they wrote to be in the cache.
constexpr int64_t kAhead = 2;

// The variables of one call. What was pushed under them is done when they go,
// also where an exception ends the call: it reads what the call has on its
// stack.
class Variables {
 public:
  Variables(engine::Engine* engine, int64_t count) : engine_(engine) {
    variables_.reserve(count);
  }
  ~Variables() {
    for (const engine::Variable& variable : variables_) {
      (void)NoThrow([&] {
        engine_->WaitFor(variable);
        return Status();
      });
      (void)NoThrow([&] {
        engine_->DeleteVariable(variable);
        return Status();
      });
    }
  }
  Variables(const Variables&) = delete;

  engine::Variable New(const char* name) {
    variables_.push_back(engine_->NewVariable(name));
    return variables_.back();
  }

  void Wait() {
    for (const engine::Variable& variable : variables_) {
      engine_->WaitFor(variable);
    }
  }

 private:
  engine::Engine* const engine_;
  std::vector<engine::Variable> variables_;
};

}  // namespace

Status RunInOneStream(int64_t num_chunks, const ChunkSteps& steps) {
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    CAVS_RETURN_IF_ERROR(steps.eager(chunk));
    CAVS_RETURN_IF_ERROR(steps.critical(chunk));
    CAVS_RETURN_IF_ERROR(steps.lazy(chunk));
  }
  return Status();
}

Status RunInTwoStreams(int64_t num_chunks, const ChunkSteps& steps,
                       engine::Engine* engine) {
  std::vector<Status> outcome(num_chunks);  // Of a chunk: its steps conflict.
  std::atomic<bool> failed{false};
  const auto run = [&](const std::function<Status(int64_t)>& step,
                       int64_t chunk) {
    if (failed.load(std::memory_order_relaxed)) return;
    Status status = NoThrow([&] { return step(chunk); });
    if (status.ok()) return;
    outcome[chunk] = std::move(status);
    failed.store(true, std::memory_order_relaxed);
  };
  Variables variables(engine, num_chunks + 2);
  std::vector<engine::Variable> rows;  // What a chunk's steps hand on.
  for (int64_t i = 0; i < num_chunks; ++i) {
    rows.push_back(variables.New("chunk"));
  }
  const engine::Variable state = variables.New("state");
  const engine::Variable sums = variables.New("sums");
  const auto eager = [&](int64_t chunk) {
    engine->Push([&run, &steps, chunk] { run(steps.eager, chunk); }, {},
                 {rows[chunk]}, {0, kOtherStream, "eager"});
  };
  for (int64_t i = 0; i < std::min(kAhead, num_chunks); ++i) eager(i);
  for (int64_t i = 0; i < num_chunks; ++i) {
    engine->Push([&run, &steps, i] { run(steps.critical, i); }, {},
                 {rows[i], state}, {0, kCriticalStream, "critical"});
    if (i + kAhead < num_chunks) eager(i + kAhead);
    engine->Push([&run, &steps, i] { run(steps.lazy, i); }, {}, {rows[i], sums},
                 {0, kOtherStream, "lazy"});
  }
  variables.Wait();
  for (const Status& status : outcome) CAVS_RETURN_IF_ERROR(status);
  return Status();
}

}  // namespace cavs
