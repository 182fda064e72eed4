// A task takes no memory from the system: what it needs is there before the
// first one begins.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "tests/cc/core/random_cell.h"
#include "tests/cc/core/tree_lstm_cell.h"

namespace {

std::atomic<int64_t> num_allocations{0};

void* Allocate(std::size_t bytes, std::size_t alignment) {
  ++num_allocations;
  const std::size_t padded = (bytes + alignment) / alignment * alignment;
  if (void* data = std::aligned_alloc(alignment, padded)) return data;
  throw std::bad_alloc();
}

}  // namespace

// Not inlined, so that the compiler sees no mismatched pair.
// Not inlined, or the compiler sees free() of what operator new returned.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return Allocate(bytes, 16);
}
[[gnu::noinline]] void* operator new(std::size_t bytes,
                                     std::align_val_t alignment) {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept {
  std::free(data);
}
[[gnu::noinline]] void operator delete(void* data, std::align_val_t) noexcept {
  std::free(data);
}
[[gnu::noinline]] void operator delete(void* data, std::size_t,
                                       std::align_val_t) noexcept {
  std::free(data);
}

namespace cavs {
namespace {

// As a team, but everything on the calling thread.
class CountedWorkers : public SerialWorkers {
 public:
  int count() const override { return 2; }
};

// Allocations between the first task of a step and the last, both passes, after
// a step that warmed up.
std::vector<int64_t> AllocationsByTask(const Cell& cell, const Graph& graph,
                                       PassOptions options, bool as_team) {
  const Experiment experiment(cell, graph, 1);
  const CellExecutor executor(cell, options);
  SerialWorkers alone;
  CountedWorkers workers;
  const CpuBackend backend(&workers), serial(&alone);
  std::vector<int64_t> counts;
  counts.reserve(100000);
  Environment environment;
  environment.backend = &backend;
  if (as_team) {
    environment.workers = &workers;
    environment.serial = &serial;
    environment.nanos_to_share = 0;
  }
  environment.cancelled = [&counts] {
    counts.push_back(num_allocations);
    return false;
  };
  executor.Run(experiment, environment);
  counts.clear();
  executor.Run(experiment, environment);
  std::vector<int64_t> differences;
  for (size_t i = 0; i + 1 < counts.size(); ++i) {
    // From the last task of the forward pass to the first of the backward pass
    // many things happen.
    if (2 * (i + 1) == counts.size()) continue;
    differences.push_back(counts[i + 1] - counts[i]);
  }
  return differences;
}

void ExpectNone(const std::vector<int64_t>& by_task, size_t num_tasks) {
  ASSERT_EQ(by_task.size(), 2 * (num_tasks - 1));
  for (size_t i = 0; i < by_task.size(); ++i) {
    ASSERT_EQ(by_task[i], 0) << "task " << i;
  }
}

TEST(AllocationsTest, OneTaskOrAThousandTakeTheSameMemory) {
  PassOptions task_by_task;
  task_by_task.eager = task_by_task.lazy = false;
  PassOptions plain;
  plain.fuse = plain.merge = plain.skip_zeros = false;
  const Cell cell = TreeLstmCell(DType::kFloat32, 32, 64);
  for (const PassOptions& options : {PassOptions(), task_by_task, plain}) {
    for (bool as_team : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << "lazy " << options.lazy << ", team " << as_team);
      ExpectNone(AllocationsByTask(cell, Chain(10), options, as_team), 10);
      ExpectNone(AllocationsByTask(cell, Join({Chain(1000), Chain(300)}),
                                   options, as_team),
                 1000);
    }
  }
}

}  // namespace
}  // namespace cavs
