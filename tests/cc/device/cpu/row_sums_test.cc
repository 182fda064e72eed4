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
      EXPECT_EQ(tile.first_row % 32, 0);
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

// The largest share of a worker where each takes the jobs of its own range, as
// Team divides them, and then the first that is left, relative to equal shares.
double BusiestShare(const std::vector<SumTile>& tiles, int workers) {
  const int jobs = static_cast<int>(tiles.size());
  std::vector<bool> taken(jobs, false);
  const auto next = [&](int first) {
    while (first < jobs && taken[first]) ++first;
    return first;
  };
  std::vector<int64_t> busy(workers, 0);
  int64_t all = 0;
  for (int i = 0; i < jobs; ++i) {
    const auto free = std::min_element(busy.begin(), busy.end());
    const int worker = static_cast<int>(free - busy.begin());
    int job = next((worker * jobs + workers - 1) / workers);
    if (job == jobs) job = next(0);
    taken[job] = true;
    *free += CostOf(tiles[job]);
    all += CostOf(tiles[job]);
  }
  return static_cast<double>(*std::max_element(busy.begin(), busy.end())) *
         workers / all;
}

TEST(MakeSumTilesTest, WorkersEndAtAboutTheSameTime) {
  for (int64_t units : {64, 128, 256, 512}) {
    const TreeSums sums(units);
    for (int workers : {2, 3, 4}) {
      if (units == 64 && workers > 2) continue;  // There are too few tiles.
      EXPECT_LE(BusiestShare(MakeSumTiles(sums.f.program, sums.nodes, workers),
                             workers),
                1.125)
          << units << " units, " << workers << " workers";
    }
  }
}

}  // namespace
}  // namespace cavs
