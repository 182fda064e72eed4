#include "tests/cc/cuda/fake/grid.h"

#include <xmmintrin.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

namespace cavs_fake {
namespace {

// Rounding to nearest, subnormal numbers kept: as on the device, whatever the
// thread does that runs the kernel.
constexpr unsigned kDeviceNumbers = 0x1f80;

class NumbersOfTheDevice {
 public:
  NumbersOfTheDevice() : before_(_mm_getcsr()) { _mm_setcsr(kDeviceNumbers); }
  ~NumbersOfTheDevice() { _mm_setcsr(before_); }

 private:
  const unsigned before_;
};

}  // namespace

Grid::Grid(std::function<bool(const void*)> may_touch,
           std::function<bool(const void*, unsigned)> inside)
    : may_touch_(std::move(may_touch)),
      inside_(std::move(inside)),
      fibers_(&Grid::Body, this) {
  launch_.wait = [](Launch* l, Wait why, const char* what) {
    Of(l).Await(why, what);
  };
  launch_.fail = [](Launch* l, KernelError error, const char* what,
                    const void* at) {
    char text[200];
    std::snprintf(text, sizeof(text), "touches %s: %p", what, at);
    Of(l).Fail(error, error == kLaunchFailed ? what : text);
    Of(l).LeaveIfFailed();
  };
  launch_.may_touch = [](Launch* l, const void* at) {
    return Of(l).may_touch_(at);
  };
  launch_.touch = [](Launch* l, const void* at, unsigned bytes, Touch how) {
    Of(l).Touched(at, bytes, how);
    Of(l).LeaveIfFailed();
  };
}

Grid& Grid::Of(Launch* launch) { return *reinterpret_cast<Grid*>(launch); }

Fault Grid::Run(const KernelCode& kernel, const Shape& shape,
                const void* arguments, uint64_t seed) {
  const NumbersOfTheDevice numbers;
  kernel_ = &kernel;
  shape_ = shape;
  arguments_ = arguments;
  permuted_ = seed != 0;
  random_ = seed * 0x9e3779b97f4a7c15 | 1;
  fault_ = {};
  touches_ = false;
  launch_.threads = shape.threads;
  launch_.grid_x = shape.x;
  launch_.grid_y = shape.y;
  launch_.grid_z = shape.z;
  launch_.cooperative = shape.cooperative;
  launch_.wall = WallOf(shape.device);
  kernel.bind(&launch_);

  const int blocks = shape.x * shape.y * shape.z;
  block_order_.resize(blocks);
  std::iota(block_order_.begin(), block_order_.end(), 0);
  thread_order_.resize(shape.threads);
  std::iota(thread_order_.begin(), thread_order_.end(), 0);
  if (permuted_) {
    Shuffle(&block_order_);
    if (Draw(4) == 0) Shuffle(&thread_order_);
    if (Draw(2) == 0) {
      std::reverse(thread_order_.begin(), thread_order_.end());
    }
  }
  const int at_once = shape.cooperative ? blocks : 1;
  for (int first = 0; first < blocks && fault_.error == 0; first += at_once) {
    RunBlocks(first, at_once);
  }
  return fault_;
}

void Grid::SetUp(Block& block, int index) {
  block.index = index;
  block.started = block.ended = block.waiting = 0;
  block.epoch = 0;
  block.memory.resize(shape_.shared_bytes + 16);
  std::memset(block.memory.data(), 0xff, block.memory.size());
  block.shared = block.memory.data();
  block.shared += -reinterpret_cast<uintptr_t>(block.shared) % 16;
  block.warps.resize((shape_.threads + kLanes - 1) / kLanes);
  for (Warp& warp : block.warps) warp.waiting = warp.ended = 0;
  block.threads.resize(shape_.threads);
  for (unsigned i = 0; i < shape_.threads; ++i) {
    GridThread& thread = block.threads[i];
    thread.index = i;
    thread.block_x = index % shape_.x;
    thread.block_y = index / shape_.x % shape_.y;
    thread.block_z = index / shape_.x / shape_.y;
    thread.shared = block.shared;
    thread.shared_bytes = shape_.shared_bytes;
    thread.exchanges = block.warps[i / kLanes].exchanges;
    thread.exchanged = 0;
    thread.block = &block;
    thread.fiber = nullptr;
    thread.waits = kRuns;
  }
}

void Grid::RunBlocks(int first, int count) {
  if (blocks_.size() < static_cast<size_t>(count)) blocks_.resize(count);
  for (int i = 0; i < count; ++i) SetUp(blocks_[i], block_order_[first + i]);
  ready_.clear();
  at_grid_ = ended_ = 0;
  grid_epoch_ = 0;
  at_once_ = count;
  in_flight_ = int64_t{count} * shape_.threads;
  while (ended_ < in_flight_ && fault_.error == 0) {
    if (!Step()) NoThreadCanGoOn();
  }
  if (fault_.error != 0) fibers_.Restart();
}

bool Grid::Step() {
  for (int i = 0; i < at_once_; ++i) {
    if (blocks_[i].started < launch_.threads) {
      Start(blocks_[i]);
      return true;
    }
  }
  if (ready_.empty()) return false;
  GridThread* thread = ready_.front();
  ready_.pop_front();
  Resume(thread);
  return true;
}

void Grid::Start(Block& block) {
  starting_ = &block;
  Fiber* fiber = fibers_.Take();
  fibers_.Enter(fiber);
}

void Grid::Resume(GridThread* thread) {
  thread->waits = kRuns;
  launch_.current = thread;
  starting_ = thread->block;
  fibers_.Enter(thread->fiber);
}

void Grid::Body(void* self) {
  Grid* grid = static_cast<Grid*>(self);
  grid->fibers_.Arrive();
  for (;;) {
    grid->RunThreads();
    grid->fibers_.Give(grid->fibers_.current());
    grid->fibers_.Leave();
  }
}

void Grid::RunThreads() {
  Block& block = *starting_;
  Fiber* fiber = fibers_.current();
  while (block.started < launch_.threads) {
    GridThread& thread = block.threads[thread_order_[block.started++]];
    thread.fiber = fiber;
    launch_.current = &thread;
    kernel_->entry(arguments_);
    Ended(thread);
    LeaveIfFailed();
  }
}

void Grid::Await(Wait why, const char* what) {
  GridThread& self = *static_cast<GridThread*>(launch_.current);
  Block& block = *self.block;
  self.waits = why;
  self.what = what;
  switch (why) {
    case kBlock:
      ++block.waiting;
      CheckBlock(block);
      break;
    case kWarp: {
      if (shape_.threads % kLanes != 0) {
        Fail(kLaunchFailed, std::string(what) + " needs full warps, but " +
                                std::to_string(shape_.threads) +
                                " threads run");
      }
      Warp& warp = block.warps[self.index / kLanes];
      if (warp.waiting++ == 0) {
        warp.what = what;
      } else if (std::strcmp(warp.what, what) != 0) {
        Fail(kLaunchFailed, std::string("does ") + what +
                                " while another lane of its warp does " +
                                warp.what);
      }
      CheckWarp(block, self.index / kLanes);
      break;
    }
    case kGrid:
      if (!shape_.cooperative) {
        Fail(kLaunchFailed,
             "waits for the grid, but the launch is not cooperative");
      }
      ++at_grid_;
      CheckGrid();
      break;
    default:
      break;
  }
  fibers_.Leave();
}

void Grid::Ended(GridThread& thread) {
  thread.waits = kEnded;
  if (fibers_.Overflown(*thread.fiber)) {
    Fail(kLaunchFailed, "needs more than a fiber's stack");
  }
  ++ended_;
  ++thread.block->ended;
  ++thread.block->warps[thread.index / kLanes].ended;
  CheckWarp(*thread.block, thread.index / kLanes);
  CheckBlock(*thread.block);
  CheckGrid();
}

void Grid::Release(GridThread& thread) {
  thread.waits = kRuns;
  ready_.push_back(&thread);
}

void Grid::CheckBlock(Block& block) {
  if (block.waiting == 0) return;
  if (block.waiting + block.ended < launch_.threads) return;
  if (block.ended > 0) {
    for (const GridThread& thread : block.threads) {
      if (thread.waits != kEnded) continue;
      Fail(kLaunchFailed,
           Name(thread) + " ends without a barrier at which others wait");
      return;
    }
  }
  block.waiting = 0;
  ++block.epoch;
  const int first = permuted_ ? Draw(launch_.threads) : 0;
  for (int i = 0; i < launch_.threads; ++i) {
    Release(block.threads[thread_order_[(first + i) % launch_.threads]]);
  }
}

void Grid::CheckWarp(Block& block, int index) {
  Warp& warp = block.warps[index];
  if (warp.waiting == 0 || warp.waiting + warp.ended < kLanes) return;
  GridThread* threads = &block.threads[index * kLanes];
  if (warp.ended > 0) {
    for (int i = 0; i < kLanes; ++i) {
      if (threads[i].waits != kEnded) continue;
      Fail(kLaunchFailed,
           Name(threads[i]) + " ends while its warp does " + warp.what);
      return;
    }
  }
  warp.waiting = 0;
  const int first = permuted_ ? Draw(kLanes) : 0;
  for (int i = 0; i < kLanes; ++i) Release(threads[(first + i) % kLanes]);
}

void Grid::CheckGrid() {
  if (at_grid_ == 0 || at_grid_ + ended_ < in_flight_) return;
  for (int b = 0; b < at_once_ && ended_ > 0; ++b) {
    for (GridThread& thread : blocks_[b].threads) {
      if (thread.waits != kEnded) continue;
      Fail(kLaunchFailed, Name(thread) + " ends without a barrier of the grid");
      return;
    }
  }
  at_grid_ = 0;
  ++grid_epoch_;
  for (int b = 0; b < at_once_; ++b) {
    for (int i : thread_order_) Release(blocks_[b].threads[i]);
  }
}

void Grid::Touched(const void* at, unsigned bytes, Touch how) {
  if (!touches_) {
    touches_ = true;
    races_.Begin(block_order_.size());
  }
  const GridThread& self = *static_cast<GridThread*>(launch_.current);
  const Block& block = *self.block;
  const char* begin = static_cast<const char*>(at);
  const bool shared =
      begin >= block.shared && begin < block.shared + shape_.shared_bytes;
  if (!shared && !inside_(at, bytes)) {
    Fail(kIllegalAddress, "touches memory out of bounds");
    return;
  }
  // Blocks use the same memory one after another: each has numbers of its own.
  if (shared) {
    const uint64_t offset = begin - block.shared;
    at = reinterpret_cast<const void*>(kWall + (uint64_t(block.index) << 20) +
                                       offset);
  }
  Moment now;
  now.block = block.index;
  now.thread = self.index;
  now.grid_epoch = grid_epoch_;
  now.block_epoch = block.epoch;
  const std::string race = races_.Touched(at, bytes, how, now);
  if (!race.empty()) Fail(kLaunchFailed, "RACE: it " + race);
}

std::string Grid::Name(const Thread& thread) const {
  std::string name = "block " + std::to_string(thread.block_x);
  if (shape_.y > 1 || shape_.z > 1)
    name += "," + std::to_string(thread.block_y);
  if (shape_.z > 1) name += "," + std::to_string(thread.block_z);
  return name + ", thread " + std::to_string(thread.index);
}

void Grid::Fail(int error, const std::string& what) {
  if (fault_.error == 0) {
    fault_.error = error;
    fault_.text = kernel_->name;
    if (fibers_.current() != nullptr) {
      fault_.text += ", " + Name(*launch_.current);
    }
    fault_.text += ": " + what;
  }
}

void Grid::LeaveIfFailed() {
  if (fault_.error != 0) fibers_.Leave();
}

void Grid::NoThreadCanGoOn() {
  std::string text = "no thread can go on:";
  int named = 0;
  for (int i = 0; i < at_once_ && named < 4; ++i) {
    Wait last = kRuns;
    for (const GridThread& thread : blocks_[i].threads) {
      if (thread.waits == last || thread.waits == kEnded || named == 4)
        continue;
      last = thread.waits;
      ++named;
      text += " " + Name(thread) + " waits in " + thread.what + ";";
    }
  }
  text.pop_back();
  Fail(kLaunchFailed, text);
}

uint32_t Grid::Draw(uint32_t below) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<uint32_t>(random_ >> 33) % below;
}

void Grid::Shuffle(std::vector<int>* order) {
  for (size_t i = order->size(); i > 1; --i) {
    std::swap((*order)[i - 1], (*order)[Draw(i)]);
  }
}

}  // namespace cavs_fake
