// ProgramRun's side of sums over rows.
#include <algorithm>
#include <cassert>
#include <functional>
#include <map>
#include <vector>

#include "cc/exec/program_run.h"

namespace cavs {
namespace {

// A tile of a weight's gradient is at most this high and wide, as what it reads
// is copied for it; smaller if that makes too few of them to share out.
constexpr int64_t kLargestHeight = 256;
constexpr int64_t kLargestWidth = 512;
constexpr int64_t kSmallestTile = 64;
constexpr size_t kTilesPerWorker = 3;

ConstBlock Columns(ConstBlock block, DType dtype, int64_t begin, int64_t end) {
  block.data = static_cast<const char*>(block.data) +
               begin * static_cast<int64_t>(SizeOf(dtype));
  block.cols = end - begin;
  return block;
}

}  // namespace

// The same tiles whatever the number of rows, so that sums are too. Sums that
// are written to one symbol are of one kind, and so of one size.
std::vector<ProgramRun::SumTile> ProgramRun::TilesOf(const Phase& phase,
                                                     int64_t rows,
                                                     int64_t columns) const {
  std::map<int, std::vector<int>> nodes_of;  // By sum.
  for (int i : phase.nodes) {
    nodes_of[program_.nodes[i].outputs[0]].push_back(i);
  }
  std::vector<SumTile> tiles;
  for (int i : phase.nodes) {
    const Node& node = program_.nodes[i];
    SumTile tile;
    tile.nodes = nodes_of[node.outputs[0]];
    if (tile.nodes[0] != i) continue;
    assert(std::all_of(tile.nodes.begin(), tile.nodes.end(), [&](int j) {
      return program_.nodes[j].kind == node.kind;
    }));
    const bool weight = node.kind == NodeKind::kWeightGrad;
    const int64_t height = weight ? symbol(node.inputs[0]).columns() : 1;
    const int64_t width = symbol(node.inputs.back()).columns();
    for (int64_t row = 0; row < height; row += rows) {
      for (int64_t column = 0; column < width; column += columns) {
        tile.first_row = row;
        tile.end_row = std::min(height, row + rows);
        tile.first_column = column;
        tile.end_column = std::min(width, column + columns);
        tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

// Once per run, because sums that are not lazy are formed task by task.
void ProgramRun::PlanSums() {
  const int workers = env_.workers == nullptr ? 1 : env_.workers->count();
  const size_t enough = workers == 1 ? 1 : kTilesPerWorker * workers;
  for (size_t stage = 0; stage < kNumStages; ++stage) {
    for (const Phase& phase : program_.plans[stage].by_rows) {
      if (phase.sharing != Sharing::kSums) continue;
      std::vector<SumTile>& tiles = sum_tiles_[stage];
      int64_t rows = kLargestHeight, columns = kLargestWidth;
      tiles = TilesOf(phase, rows, columns);
      while (tiles.size() < enough && rows > kSmallestTile) {
        (columns > kSmallestTile ? columns : rows) /= 2;
        tiles = TilesOf(phase, rows, columns);
      }
    }
  }
}

void ProgramRun::RunSums(Stage stage, const Phase& phase, const Place& at) {
  const std::vector<SumTile>& tiles = sum_tiles_[static_cast<int>(stage)];
  if (env_.workers == nullptr) {
    for (const SumTile& tile : tiles) AddUp(tile, at, *env_.backend);
  } else {
    const auto add_up = [&](int i) { AddUp(tiles[i], at, *env_.serial); };
    env_.workers->Run(static_cast<int>(tiles.size()), std::ref(add_up));
  }
  for (int i : phase.nodes) {
    values_[program_.nodes[i].outputs[0]].written = true;
  }
}

// The first sum that is written overwrites what was there.
void ProgramRun::AddUp(const SumTile& tile, const Place& at,
                       const Backend& backend) {
  for (int i : tile.nodes) {
    const Node& node = program_.nodes[i];
    const bool accumulate =
        values_[node.outputs[0]].written || i != tile.nodes[0];
    AddUp(node, tile, at, accumulate, backend);
  }
}

void ProgramRun::AddUp(const Node& node, const SumTile& tile, const Place& all,
                       bool accumulate, const Backend& backend) {
  const TraceScope scope(env_.tracer, node.stage, [&] { return node.label; });
  const DType dtype = symbol(node.outputs[0]).dtype;
  const int64_t sum_size = SizeOf(SumType(dtype));
  const Place at = WithoutZeros(node, tile, all, backend);
  const int64_t width = symbol(node.inputs.back()).columns();
  const ConstBlock y = Last(node, tile, at);
  char* sum = static_cast<char*>(values_[node.outputs[0]].dense.data);
  if (node.kind == NodeKind::kSumRows) {
    const Block out{sum + tile.first_column * sum_size, 1, y.cols, y.cols};
    return backend.SumRows(dtype, y, out, accumulate);
  }
  const ConstBlock x = First(node, tile, at);
  const Block out{sum + (tile.first_row * width + tile.first_column) * sum_size,
                  x.cols, y.cols, width};
  backend.MatMulTransposeA(dtype, x, y, out, accumulate);
}

ConstBlock ProgramRun::First(const Node& sum, const SumTile& tile,
                             const Place& at) const {
  return Columns(Operand(sum.inputs[0], at), symbol(sum.inputs[0]).dtype,
                 tile.first_row, tile.end_row);
}

ConstBlock ProgramRun::Last(const Node& sum, const SumTile& tile,
                            const Place& at) const {
  return Columns(Operand(sum.inputs.back(), at),
                 symbol(sum.inputs.back()).dtype, tile.first_column,
                 tile.end_column);
}

// Zero times the other operand is zero, unless that is infinite or NaN.
ProgramRun::Place ProgramRun::WithoutZeros(const Node& node,
                                           const SumTile& tile, const Place& at,
                                           const Backend& backend) const {
  const int64_t zeros = std::min(at.childless_end - at.first, at.count);
  if (zeros <= 0) return at;
  const bool x = IsZeroWithoutChildren(node.inputs[0]);
  const bool y = IsZeroWithoutChildren(node.inputs.back());
  const DType dtype = symbol(node.inputs[0]).dtype;
  const Place leaves = at.Part(0, zeros);
  const bool add_zero =
      (x && y) || (x && backend.IsFinite(dtype, Last(node, tile, leaves))) ||
      (y && backend.IsFinite(dtype, First(node, tile, leaves)));
  return add_zero ? at.Part(zeros, at.count) : at;
}

}  // namespace cavs
