// Runs the threads of a launch.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_GRID_H_
#define CAVS_TESTS_CC_CUDA_FAKE_GRID_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tests/cc/cuda/fake/fiber.h"
#include "tests/cc/cuda/fake/launch.h"
#include "tests/cc/cuda/fake/races.h"

namespace cavs_fake {

// An error of the driver, and what a person should know of it.
struct Fault {
  int error = 0;
  std::string text;
};

// What a module has of a kernel.
struct KernelCode {
  std::string name;
  void (*bind)(Launch*);
  void (*entry)(const void* arguments);  // Runs a thread.
};

struct Shape {
  unsigned x, y, z, threads, shared_bytes;
  bool cooperative;
  int device = 0;
};

// Runs launches, one at a time. Threads of a block run one after another on
// one stack, until one of them waits: it keeps that stack.
//
// Blocks run one at a time, those of a cooperative launch all at once. Their
// order and that of their threads are drawn from the seed; with 0 they come as
// they are numbered.
//
// A barrier that a thread misses, memory out of bounds and (in texts compiled
// for it) races end the launch with an error that names the thread.
class Grid {
 public:
  // `may_touch` says whether kernels may use an address of the host; `inside`
  // whether bytes belong to memory that kernels may use.
  Grid(std::function<bool(const void*)> may_touch,
       std::function<bool(const void*, unsigned)> inside);

  Fault Run(const KernelCode& kernel, const Shape& shape, const void* arguments,
            uint64_t seed);

 private:
  struct Block;
  struct GridThread : Thread {
    Block* block;
    Fiber* fiber;
    Wait waits;
    const char* what;
  };
  struct Warp {
    int waiting = 0, ended = 0;
    const char* what = nullptr;
    Exchange exchanges[2];
  };
  struct Block {
    int index;
    int started, ended, waiting;
    uint32_t epoch;
    std::vector<char> memory;
    char* shared;
    std::vector<GridThread> threads;
    std::vector<Warp> warps;
  };

  static Grid& Of(Launch* launch);
  static void Body(void* self);
  void RunThreads();
  void RunBlocks(int first, int count);
  void SetUp(Block& block, int index);
  // Goes on with the first thread that can.
  bool Step();
  void Resume(GridThread* thread);
  void Start(Block& block);

  void Await(Wait why, const char* what);
  void Ended(GridThread& thread);
  void CheckBlock(Block& block);
  void CheckWarp(Block& block, int warp);
  void CheckGrid();
  void Release(GridThread& thread);
  void Touched(const void* at, unsigned bytes, Touch how);

  // Ends the launch, of which the first failure is kept. Its fibers do not run
  // on: they leave, when they hold nothing on their stacks.
  void Fail(int error, const std::string& what);
  void LeaveIfFailed();
  std::string Name(const Thread& thread) const;
  void NoThreadCanGoOn();
  uint32_t Draw(uint32_t below);
  void Shuffle(std::vector<int>* order);

  Launch launch_{};  // First: see Of().
  const std::function<bool(const void*)> may_touch_;
  const std::function<bool(const void*, unsigned)> inside_;
  Fibers fibers_;
  Races races_;

  const KernelCode* kernel_ = nullptr;
  const void* arguments_ = nullptr;
  Shape shape_{};
  uint64_t random_ = 0;
  bool permuted_ = false;
  bool touches_ = false;
  Fault fault_;
  std::vector<Block> blocks_;
  std::vector<int> block_order_, thread_order_;
  Block* starting_ = nullptr;  // Whose threads the fiber takes that is entered.
  std::deque<GridThread*> ready_;
  int at_once_ = 0;
  int64_t at_grid_ = 0, ended_ = 0, in_flight_ = 0;
  uint32_t grid_epoch_ = 0;
};

}  // namespace cavs_fake

#endif  // CAVS_TESTS_CC_CUDA_FAKE_GRID_H_
