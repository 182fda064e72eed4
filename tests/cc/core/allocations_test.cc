// A task takes no memory from the system: what it needs is there before the
// first one begins.
#include <gtest/gtest.h>
#include <sys/resource.h>

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

// Not inlined, or the compiler sees free() of what operator new returned.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return Allocate(bytes, 16);
}
[[gnu::noinline]] void* operator new(std::size_t bytes,
                                     const std::nothrow_t&) noexcept {
  ++num_allocations;
  return std::malloc(bytes);
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

struct Count {
  int64_t allocations, page_faults;
};

Count Now() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return {num_allocations, usage.ru_minflt + usage.ru_majflt};
}

// What happens from the beginning of each task to that of the next, in both
// passes of one step after `warm_up` others.
std::vector<Count> CountByTask(const Cell& cell, const Graph& graph,
                               PassOptions options, bool as_team, int warm_up) {
  const Experiment experiment(cell, graph, 1);
  const CellExecutor executor(cell, options);
  SerialWorkers alone;
  CountedWorkers workers;
  const CpuBackend backend(&workers), serial(&alone);
  std::vector<Count> at(4096);
  size_t size = 0;
  Environment environment;
  environment.backend = &backend;
  if (as_team) {
    environment.workers = &workers;
    environment.serial = &serial;
    environment.nanos_to_call = 0;
    environment.nanos_to_share = 0;
  }
  environment.cancelled = [&] {  // Asked before each task.
    at[size++] = Now();
    return false;
  };
  for (int step = 0; step <= warm_up; ++step) {
    size = 0;
    executor.Run(experiment, environment);
  }
  std::vector<Count> differences;
  for (size_t i = 0; i + 1 < size; ++i) {
    // Not from the last task of the forward pass to the first of the backward
    // pass.
    if (2 * (i + 1) == size) continue;
    differences.push_back({at[i + 1].allocations - at[i].allocations,
                           at[i + 1].page_faults - at[i].page_faults});
  }
  return differences;
}

int64_t PageFaults(const std::vector<Count>& by_task) {
  int64_t sum = 0;
  for (const Count& count : by_task) sum += count.page_faults;
  return sum;
}

void ExpectNone(const std::vector<Count>& by_task, size_t num_tasks) {
  ASSERT_EQ(by_task.size(), 2 * (num_tasks - 1));
  for (size_t i = 0; i < by_task.size(); ++i) {
    ASSERT_EQ(by_task[i].allocations, 0) << "task " << i;
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
      ExpectNone(CountByTask(cell, Chain(10), options, as_team, 1), 10);
      ExpectNone(CountByTask(cell, Join({Chain(1000), Chain(300)}), options,
                             as_team, 1),
                 1000);
    }
  }
}

TEST(AllocationsTest, TasksOfALaterStepTouchNoFreshPage) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 32, 128);
  const Graph graph = Join({Chain(1000), Chain(300)});
  const auto faults = [&](int warm_up) {
    return PageFaults(
        CountByTask(cell, graph, PassOptions(), /*as_team=*/false, warm_up));
  };
  EXPECT_GT(faults(0), 100);
  // The system may take a page away at any time.
  EXPECT_LT(faults(3), 20);
}

}  // namespace
}  // namespace cavs
