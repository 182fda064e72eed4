#include "cc/core/streams.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace cavs {
namespace {

constexpr int kCriticalStream = 0;
constexpr int kOtherStream = 1;

// How many chunks the eager steps are ahead: enough for the critical path not
// to wait, few enough for what they wrote to be in the cache.
constexpr int64_t kAhead = 2;

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
  std::vector<engine::Variable> rows;  // What a chunk's steps hand on.
  for (int64_t i = 0; i < num_chunks; ++i) {
    rows.push_back(engine->NewVariable("chunk"));
  }
  const engine::Variable state = engine->NewVariable("state");
  const engine::Variable sums = engine->NewVariable("sums");

  std::vector<Status> outcome(num_chunks);  // Of a chunk: its steps conflict.
  std::atomic<bool> failed{false};
  const auto run = [&](const std::function<Status(int64_t)>& step,
                       int64_t chunk) {
    if (failed.load(std::memory_order_relaxed)) return;
    const Status status = step(chunk);
    if (status.ok()) return;
    outcome[chunk] = status;
    failed.store(true, std::memory_order_relaxed);
  };
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
  engine->WaitFor(state);
  engine->WaitFor(sums);
  for (const engine::Variable& variable : rows) {
    engine->WaitFor(variable);
    engine->DeleteVariable(variable);
  }
  engine->DeleteVariable(state);
  engine->DeleteVariable(sums);
  for (const Status& status : outcome) CAVS_RETURN_IF_ERROR(status);
  return Status();
}

}  // namespace cavs
