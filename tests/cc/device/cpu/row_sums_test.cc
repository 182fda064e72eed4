#include "cc/device/cpu/row_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// The sums of a Tree-LSTM of `units` units: gradients of a kernel for three
// gates, of one that two products read, and of a bias.
struct TreeSums {
  explicit TreeSums(int64_t units) {
    const int x = f.Gather(0, units), y = f.Gather(1, units);
    const int gates = f.Gather(2, 3 * units);
    f.WeightGrad(x, gates);
    const int twice = f.WeightGrad(x, y);
    f.WeightGrad(y, x);
    f.program.nodes.back().outputs[0] = twice;
    f.SumRows(gates);
    for (size_t i = 3; i < f.program.nodes.size(); ++i) {
      nodes.push_back(static_cast<int>(i));
    }
  }

  Sketch f;
  std::vector<int> nodes;
};

int64_t CostOf(const SumTile& tile) {
  return static_cast<int64_t>(tile.nodes.size()) *
         (tile.end_row - tile.first_row) *
         (tile.end_column - tile.first_column);
}

TEST(MakeSumTilesTest, TilesCoverEachSumOnce) {
  const int64_t units = 150;  // Tiles at the ends are smaller.
  const TreeSums sums(units);
  for (int workers : {1, 2, 7}) {
    std::vector<int64_t> covered(sums.f.program.symbols.size(), 0);
    for (const SumTile& tile :
         MakeSumTiles(sums.f.program, sums.nodes, workers)) {
      const int sum = sums.f.program.nodes[tile.nodes[0]].outputs[0];
      covered[sum] += (tile.end_row - tile.first_row) *
                      (tile.end_column - tile.first_column);
      // Else a tile would end in the middle of a vector, and of a panel.
      EXPECT_EQ(tile.first_row % 64, 0);
      EXPECT_EQ(tile.first_column % 64, 0);
    }
    for (int i : sums.nodes) {
      const Symbol& sum =
          sums.f.program.symbols[sums.f.program.nodes[i].outputs[0]];
      EXPECT_EQ(covered[sums.f.program.nodes[i].outputs[0]], sum.columns())
          << "node " << i << ", " << workers << " workers";
    }
  }
}

TEST(MakeSumTilesTest, WorkersEndAtAboutTheSameTime) {
  for (int64_t units : {128, 256, 512}) {
    const TreeSums sums(units);
    for (int workers : {2, 3, 4}) {
      std::vector<int64_t> busy(workers, 0);  // Each takes the next when done.
      int64_t all = 0;
      for (const SumTile& tile :
           MakeSumTiles(sums.f.program, sums.nodes, workers)) {
        *std::min_element(busy.begin(), busy.end()) += CostOf(tile);
        all += CostOf(tile);
      }
      EXPECT_LE(*std::max_element(busy.begin(), busy.end()) * workers,
                all * 9 / 8)
          << units << " units, " << workers << " workers";
    }
  }
}

}  // namespace
}  // namespace cavs
