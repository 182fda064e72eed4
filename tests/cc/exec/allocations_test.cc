// Tasks allocate no memory and take no lock: memory is allocated before the
// first task begins, and no two threads need the same.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cc/device/cpu/team.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm_cell.h"

// Sanitizers replace the functions that this test counts calls of.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAVS_COUNTS_LOCKS 0
#else
#define CAVS_COUNTS_LOCKS 1
#endif

namespace {

std::atomic<int64_t> num_allocations{0}, num_locks{0};

void* Allocate(std::size_t bytes, std::size_t alignment) {
  ++num_allocations;
  const std::size_t padded = (bytes + alignment) / alignment * alignment;
  if (void* data = std::aligned_alloc(alignment, padded)) return data;
  throw std::bad_alloc();
}

}  // namespace

// If they were inlined, compilers would warn that free() gets what operator new
// returned.
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

#if CAVS_COUNTS_LOCKS
// Counts the calls of std::mutex and std::shared_mutex to the system's library.
#define CAVS_COUNT_LOCK(function, Lock)                          \
  extern "C" int function(Lock* lock) noexcept {                 \
    using Function = int (*)(Lock*);                             \
    static const auto next =                                     \
        reinterpret_cast<Function>(dlsym(RTLD_NEXT, #function)); \
    ++num_locks;                                                 \
    return next(lock);                                           \
  }
CAVS_COUNT_LOCK(pthread_mutex_lock, pthread_mutex_t)
CAVS_COUNT_LOCK(pthread_mutex_trylock, pthread_mutex_t)
CAVS_COUNT_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
CAVS_COUNT_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
#undef CAVS_COUNT_LOCK
#endif

namespace cavs {
namespace {

// Divides work as a team does, but does it all on the calling thread.
class CountedWorkers : public SerialWorkers {
 public:
  int count() const override { return 2; }
};

// The thread of the helper in a team of two. It waits for the team without
// taking a lock.
class HelperThread {
 public:
  HelperThread() {
    sem_init(&waiting_, 0, 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~HelperThread() {
    Schedule(nullptr);
    thread_.join();
    sem_destroy(&waiting_);
  }
  Team::Schedule schedule() {
    return [this](std::function<void()> help) { Schedule(std::move(help)); };
  }
  int64_t num_called() const { return num_called_; }

 private:
  void Schedule(std::function<void()> help) {
    calls_[num_called_++ % calls_.size()] = std::move(help);
    sem_post(&waiting_);
  }
  void Serve() {
    for (size_t i = 0;; ++i) {
      while (sem_wait(&waiting_) != 0) {
      }
      const std::function<void()> help = std::move(calls_[i % calls_.size()]);
      if (help == nullptr) return;
      help();
    }
  }

  sem_t waiting_;
  // Calls for help that have not been answered. A team calls when the last
  // helper is about to leave, so there are rarely two.
  std::array<std::function<void()>, 64> calls_;
  int64_t num_called_ = 0;
  std::thread thread_;
};

struct Count {
  int64_t allocations, page_faults, locks;
};

Count Now() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return {num_allocations, usage.ru_minflt + usage.ru_majflt, num_locks};
}

// What is counted from the beginning of each task to that of the next, in both
// directions of one step that follows `warm_up` others. `workers` may be null.
std::vector<Count> CountByTask(const Cell& cell, const Graph& graph,
                               PassOptions options, Workers* workers,
                               int warm_up) {
  const Experiment experiment(cell, graph, 1);
  const CellExecutor executor(cell, options, /*measured=*/true);
  std::vector<Count> at(4096);
  size_t size = 0;
  Setting setting;
  if (workers != nullptr) {
    setting.workers = workers;
    setting.costs.nanos_to_call = 0;
    setting.costs.nanos_to_divide = 0;
  }
  setting.cancelled = [&] {  // It is called before each task.
    at[size++] = Now();
    return false;
  };
  for (int step = 0; step <= warm_up; ++step) {
    size = 0;
    executor.Run(experiment, setting);
  }
  std::vector<Count> differences;
  for (size_t i = 0; i + 1 < size; ++i) {
    // Leaves out what lies between the last task forward and the first
    // backward.
    if (2 * (i + 1) == size) continue;
    differences.push_back({at[i + 1].allocations - at[i].allocations,
                           at[i + 1].page_faults - at[i].page_faults,
                           at[i + 1].locks - at[i].locks});
  }
  return differences;
}

int64_t PageFaults(const std::vector<Count>& by_task) {
  int64_t sum = 0;
  for (const Count& count : by_task) sum += count.page_faults;
  return sum;
}

// Repeats a count, up to five times, until it is below `bound`, and returns the
// last one. A busy machine may add to a count but never lowers it, so each
// repetition includes all that the code itself does.
template <typename Fn>
int64_t CountUntilBelow(int64_t bound, const Fn& count) {
  int64_t last = count();
  for (int i = 1; i < 5 && last >= bound; ++i) last = count();
  return last;
}

void ExpectNone(const std::vector<Count>& by_task, size_t num_tasks) {
  ASSERT_EQ(by_task.size(), 2 * (num_tasks - 1));
  for (size_t i = 0; i < by_task.size(); ++i) {
    ASSERT_EQ(by_task[i].allocations, 0) << "task " << i;
  }
}

std::vector<PassOptions> SomeSwitches() {
  PassOptions task_by_task;
  task_by_task.eager = task_by_task.lazy = false;
  PassOptions plain;
  plain.fuse = plain.merge = plain.skip_zeros = false;
  return {PassOptions(), task_by_task, plain};
}

TEST(AllocationsTest, OneTaskOrAThousandTakeTheSameMemory) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 32, 64);
  CountedWorkers counted;
  for (const PassOptions& options : SomeSwitches()) {
    for (Workers* workers :
         {static_cast<Workers*>(nullptr), static_cast<Workers*>(&counted)}) {
      SCOPED_TRACE(testing::Message() << "lazy " << options.lazy << ", team "
                                      << (workers != nullptr));
      ExpectNone(CountByTask(cell, Chain(10), options, workers, 1), 10);
      ExpectNone(CountByTask(cell, Join({Chain(1000), Chain(300)}), options,
                             workers, 1),
                 1000);
    }
  }
}

TEST(AllocationsTest, ATeamAllocatesOnlyWhenItCallsAHelper) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 32, 64);
  HelperThread thread;
  Team team(2, thread.schedule());
  for (const PassOptions& options : SomeSwitches()) {
    const int64_t called = thread.num_called();
    int64_t allocations = 0;
    for (const Count& count :
         CountByTask(cell, Chain(1000), options, &team, /*warm_up=*/1)) {
      allocations += count.allocations;
    }
    EXPECT_LE(allocations, thread.num_called() - called);
  }
}

// Setting up takes a large part of a step of one small tree.
TEST(AllocationsTest, BothDirectionsOfAStepAllocateFewTimes) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 32, 64);
  const Experiment experiment(cell, Chain(10), 1);
  const CellExecutor executor(cell, PassOptions(), /*measured=*/true);
  std::vector<int64_t> at;
  at.reserve(8);
  Setting setting;
  setting.around = [&] { at.push_back(num_allocations); };
  executor.Run(experiment, setting);
  executor.Run(experiment, setting);
  ASSERT_EQ(at.size(), 8);
  EXPECT_LE(at[5] - at[4], 113) << "forward";
  EXPECT_LE(at[7] - at[6], 140) << "backward";
}

TEST(AllocationsTest, TasksOfALaterStepTouchNoFreshPage) {
  // Makes free() return memory to the system, so that a first step touches new
  // pages.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  const Cell cell = TreeLstmCell(DType::kFloat32, 32, 128);
  const Graph graph = Join({Chain(1000), Chain(300)});
  HelperThread thread;
  Team team(2, thread.schedule());
  for (Workers* workers :
       {static_cast<Workers*>(nullptr), static_cast<Workers*>(&team)}) {
    SCOPED_TRACE(testing::Message() << "team " << (workers != nullptr));
    const auto faults = [&](int warm_up) {
      return PageFaults(
          CountByTask(cell, graph, PassOptions(), workers, warm_up));
    };
    EXPECT_GT(faults(0), 100);
    // The system may take a page away at any time.
    EXPECT_LT(CountUntilBelow(20, [&] { return faults(3); }), 20);
  }
}

int64_t Locks(const std::vector<Count>& by_task) {
  int64_t sum = 0;
  for (const Count& count : by_task) sum += count.locks;
  return sum;
}

// The number of locks taken by both directions of a step.
int64_t LocksOfStep(const Cell& cell, const Graph& graph,
                    const PassOptions& options, const Setting& setting) {
  const Experiment experiment(cell, graph, 1);
  const CellExecutor executor(cell, options, /*measured=*/true);
  executor.Run(experiment, setting);
  const int64_t before = num_locks;
  executor.Run(experiment, setting);
  return num_locks - before;
}

class LocksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CAVS_COUNTS_LOCKS) GTEST_SKIP() << "sanitizers count locks themselves";
    std::mutex mutex;
    std::shared_mutex shared;
    const int64_t before = num_locks;
    mutex.lock();
    mutex.unlock();
    shared.lock_shared();
    shared.unlock_shared();
    ASSERT_EQ(num_locks - before, 2) << "locks are not counted";
  }

  const Cell cell_ = TreeLstmCell(DType::kFloat32, 32, 64);
};

TEST_F(LocksTest, NoneIsTakenFromTheFirstTaskToTheLast) {
  CountedWorkers counted;
  HelperThread thread;
  Team team(2, thread.schedule());
  for (const PassOptions& options : SomeSwitches()) {
    for (Workers* workers :
         {static_cast<Workers*>(nullptr), static_cast<Workers*>(&counted),
          static_cast<Workers*>(&team)}) {
      EXPECT_EQ(Locks(CountByTask(cell_, Join({Chain(1000), Chain(300)}),
                                  options, workers, 1)),
                0);
    }
  }
}

TEST_F(LocksTest, TenTimesAsManyTasksTakeAsManyInAStep) {
  CountedWorkers counted;
  HelperThread thread;
  Team team(2, thread.schedule());
  for (Workers* workers :
       {static_cast<Workers*>(nullptr), static_cast<Workers*>(&counted),
        static_cast<Workers*>(&team)}) {
    Setting setting;
    setting.workers = workers;
    setting.costs.nanos_to_call = setting.costs.nanos_to_divide = 0;
    for (const PassOptions& options : SomeSwitches()) {
      const int64_t of_100 = LocksOfStep(cell_, Chain(100), options, setting);
      EXPECT_GT(of_100, 0) << "memory is taken, once, under a lock";
      EXPECT_EQ(LocksOfStep(cell_, Chain(1000), options, setting), of_100);
    }
  }
}

// The engine takes locks for each chunk, of which there are about eight.
TEST_F(LocksTest, TwoStreamsDoNotTakeThemByTask) {
  engine::Engine engine(engine::Streams(2));
  Setting setting;
  setting.engine = &engine;
  const auto locks = [&](int length) {
    return LocksOfStep(cell_, Chain(length), PassOptions(), setting);
  };
  // A thread that waits for another takes a lock whenever it looks. If each of
  // 900 more tasks took one lock in each direction, there would be 1800 more.
  const int64_t bound = locks(100) + 900;
  EXPECT_LT(CountUntilBelow(bound, [&] { return locks(1000); }), bound);
}

}  // namespace
}  // namespace cavs
