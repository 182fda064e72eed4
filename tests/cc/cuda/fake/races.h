// Looks for touches of memory that nothing orders.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_RACES_H_
#define CAVS_TESTS_CC_CUDA_FAKE_RACES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cc/cuda/fake/launch.h"

namespace cavs_fake {

// A touch of a thread, with what orders it: touches of one block in two epochs
// of its barriers, and touches in two epochs of the grid.
// `time` counts atomic operations, by which blocks hand results to each other.
struct Moment {
  int block = -1;
  int thread = 0;
  uint32_t grid_epoch = 0, block_epoch = 0, time = 0;
};

class Races {
 public:
  // Forgets all touches.
  void Begin(int blocks);
  // What is wrong with the touch, or nothing.
  std::string Touched(const void* at, unsigned bytes, Touch how, Moment moment);

 private:
  static constexpr int kBytesPerCell = 2;
  static constexpr int kCells = 128;
  // The last write and the last reads. Reads are by threads that differ, the
  // third one by another block than the first.
  struct Cell {
    Moment write, reads[3];
    uint32_t launch = 0;  // In which these touches were.
  };
  struct Page {
    Cell cells[kCells];
  };

  Cell& At(uint64_t cell);
  bool Ordered(const Moment& before, const Moment& now) const;

  uint32_t launch_ = 0;
  uint32_t time_ = 0;
  std::vector<uint32_t> last_add_;  // Of each block; 0: none.
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  // Pages that were touched lately, each in the place that its number has here.
  static constexpr int kRecent = 1024;
  struct Recent {
    uint64_t number = ~uint64_t{0};
    Page* page = nullptr;
  };
  std::vector<Recent> recent_;
};

}  // namespace cavs_fake

#endif  // CAVS_TESTS_CC_CUDA_FAKE_RACES_H_
