#include "cc/device/cpu/row_sums.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <map>
#include <utility>

#include "cc/device/cpu/blocks.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

// The largest height and width of a tile of a weight's gradient, since its
// operands are copied for it, and the smallest that are worth these copies: the
// width is that of a panel.
constexpr int64_t kLargestHeight = 256;
constexpr int64_t kLargestWidth = 512;
constexpr int64_t kSmallestHeight = 32;
constexpr int64_t kSmallestWidth = 64;
// With several workers no tile takes more than this share of a worker's work,
// unless it is one of the smallest.
constexpr double kLargestShare = 0.25;

// The size of one sum: [1, width] for SumRows.
struct SumSize {
  int64_t height, width;
};

SumSize SizeOfSum(const Program& program, const Node& node) {
  const bool weight = node.kind == NodeKind::kWeightGrad;
  return {weight ? program.symbols[node.inputs[0]].columns() : 1,
          program.symbols[node.inputs.back()].columns()};
}

// The multiply-adds of one row.
int64_t Cost(const SumTile& tile) {
  return static_cast<int64_t>(tile.nodes.size()) *
         (tile.end_row - tile.first_row) *
         (tile.end_column - tile.first_column);
}

// Halves tiles, to multiples of the smallest, until one costs at most `limit`
// or is one of the smallest.
SumSize SizeOfTiles(const SumSize& sum, size_t nodes, double limit) {
  SumSize tile = {std::min(sum.height, kLargestHeight),
                  std::min(sum.width, kLargestWidth)};
  const auto too_large = [&] {
    return static_cast<double>(nodes) * tile.height * tile.width > limit;
  };
  const auto halve = [](int64_t* side, int64_t smallest) {
    *side = CeilDiv(CeilDiv(*side, 2), smallest) * smallest;
  };
  while (too_large()) {
    if (tile.width > kSmallestWidth && tile.width >= tile.height) {
      halve(&tile.width, kSmallestWidth);
    } else if (tile.height > kSmallestHeight) {
      halve(&tile.height, kSmallestHeight);
    } else {
      break;
    }
  }
  return tile;
}

void AddTiles(const std::vector<int>& nodes, const SumSize& sum,
              const SumSize& size, std::vector<SumTile>* tiles) {
  for (int64_t row = 0; row < sum.height; row += size.height) {
    for (int64_t column = 0; column < sum.width; column += size.width) {
      tiles->push_back({nodes, row, std::min(sum.height, row + size.height),
                        column, std::min(sum.width, column + size.width)});
    }
  }
}

// Deals the tiles out like cards, the largest first. Each worker begins with
// its own range of jobs, and when these are done takes the first that is left.
std::vector<SumTile> Dealt(std::vector<SumTile> tiles, int workers) {
  std::stable_sort(
      tiles.begin(), tiles.end(),
      [](const SumTile& a, const SumTile& b) { return Cost(a) > Cost(b); });
  std::vector<SumTile> dealt;
  dealt.reserve(tiles.size());
  for (int worker = 0; worker < workers; ++worker) {
    for (size_t i = worker; i < tiles.size(); i += workers) {
      dealt.push_back(std::move(tiles[i]));
    }
  }
  return dealt;
}

}  // namespace

std::vector<SumTile> MakeSumTiles(const Program& program,
                                  const std::vector<int>& nodes, int workers) {
  std::map<int, std::vector<int>> nodes_of;  // Indexed by sum.
  for (int i : nodes) nodes_of[program.nodes[i].outputs[0]].push_back(i);
  double all = 0;  // Multiply-adds of one row.
  for (int i : nodes) {
    const SumSize size = SizeOfSum(program, program.nodes[i]);
    all += static_cast<double>(size.height) * size.width;
  }
  const double limit = workers == 1 ? all : kLargestShare * all / workers;
  std::vector<SumTile> tiles;
  for (const auto& [id, own] : nodes_of) {
    assert(std::all_of(own.begin(), own.end(), [&, first = own[0]](int i) {
      return program.nodes[i].kind == program.nodes[first].kind;
    }));
    const SumSize sum = SizeOfSum(program, program.nodes[own[0]]);
    AddTiles(own, sum, SizeOfTiles(sum, own.size(), limit), &tiles);
  }
  return Dealt(std::move(tiles), workers);
}

StageTiles MakeStageTiles(const Program& program, const StagePlans& plans,
                          int workers) {
  StageTiles tiles;
  for (int stage = 0; stage < kNumStages; ++stage) {
    for (const Phase& phase : plans[stage].by_rows) {
      if (phase.division != Division::kSums) continue;
      tiles[stage] = MakeSumTiles(program, phase.nodes, workers);
    }
  }
  return tiles;
}

void RowSums::MakeTiles(const StagePlans& plans, int workers) {
  if (workers == 1) return;
  shared_ = MakeStageTiles(program_, plans, workers);
  tiles_ = &shared_;
}

void RowSums::Run(Stage stage, const Phase& phase, const RowRange& at,
                  InlineStream* stream) {
  const std::vector<SumTile>& tiles = (*tiles_)[static_cast<int>(stage)];
  const auto add_up = [&](int i) { AddUp(tiles[i], at, stream->serial()); };
  stream->workers().Run(static_cast<int>(tiles.size()), std::ref(add_up));
  for (int i : phase.nodes) {
    *bindings_.sum_begun[program_.nodes[i].outputs[0]] = true;
  }
}

// The first product or sum that is written overwrites the memory.
void RowSums::AddUp(const SumTile& tile, const RowRange& at,
                    const CpuBackend& backend) const {
  for (int i : tile.nodes) {
    const Node& node = program_.nodes[i];
    const bool accumulate =
        *bindings_.sum_begun[node.outputs[0]] || i != tile.nodes[0];
    AddUp(node, tile, at, accumulate, backend);
  }
}

void RowSums::AddUp(const Node& node, const SumTile& tile, const RowRange& all,
                    bool accumulate, const CpuBackend& backend) const {
  const TraceScope scope(bindings_.tracer, node.stage,
                         [&] { return node.label; });
  const DType dtype = program_.symbols[node.outputs[0]].dtype;
  const int64_t sum_size = SizeOf(SumType(dtype));
  const RowRange at = WithoutZeros(node, tile, all, backend);
  const int64_t width = program_.symbols[node.inputs.back()].columns();
  const ConstBlock y = Last(node, tile, at);
  char* sum = operands_.Sum(node.outputs[0]);
  if (node.kind == NodeKind::kSumRows) {
    const Block out{sum + tile.first_column * sum_size, 1, y.cols, y.cols};
    return backend.SumRows(dtype, y, out, accumulate);
  }
  const ConstBlock x = First(node, tile, at);
  const Block out{sum + (tile.first_row * width + tile.first_column) * sum_size,
                  x.cols, y.cols, width};
  backend.MatMulTransposeA(dtype, x, y, out, accumulate);
}

ConstBlock RowSums::First(const Node& sum, const SumTile& tile,
                          const RowRange& at) const {
  return Columns(operands_.Read(sum.inputs[0], at),
                 program_.symbols[sum.inputs[0]].dtype, tile.first_row,
                 tile.end_row);
}

ConstBlock RowSums::Last(const Node& sum, const SumTile& tile,
                         const RowRange& at) const {
  return Columns(operands_.Read(sum.inputs.back(), at),
                 program_.symbols[sum.inputs.back()].dtype, tile.first_column,
                 tile.end_column);
}

// Zero times the other operand is zero, unless that is infinite or NaN.
RowRange RowSums::WithoutZeros(const Node& node, const SumTile& tile,
                               const RowRange& at,
                               const CpuBackend& backend) const {
  const int64_t zeros = std::min(at.childless_end - at.first, at.count);
  if (zeros <= 0) return at;
  const bool x = operands_.IsZeroWithoutChildren(node.inputs[0]);
  const bool y = operands_.IsZeroWithoutChildren(node.inputs.back());
  const DType dtype = program_.symbols[node.inputs[0]].dtype;
  const RowRange leaves = at.Rows(0, zeros);
  const bool add_zero =
      (x && y) || (x && backend.IsFinite(dtype, Last(node, tile, leaves))) ||
      (y && backend.IsFinite(dtype, First(node, tile, leaves)));
  return add_zero ? at.Rows(zeros, at.count) : at;
}

}  // namespace cavs
