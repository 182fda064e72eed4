#include "cc/device/cpu/packed_weights.h"

#include <algorithm>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/device/cpu/blocks.h"
#include "cc/device/memory.h"

namespace cavs {
namespace {

constexpr int64_t kRowsToPack = 16;
constexpr int64_t kRowsAtATimeToPack = 7;
constexpr int64_t kTasksToPack = 8;
constexpr size_t kBytesToPack = size_t{64} << 10;

}  // namespace

Packing::Packing(const Program& program, const CpuBackend& backend) {
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    if (node.kind != NodeKind::kMatMul) continue;
    const std::vector<int> symbols(node.inputs.begin() + 1, node.inputs.end());
    auto own = std::find_if(weights_.begin(), weights_.end(),
                            [&](const Weights& weights) {
                              return weights.symbols == symbols &&
                                     weights.transpose == node.transpose;
                            });
    if (own == weights_.end()) {
      const int64_t depth = program.symbols[node.inputs[0]].columns();
      const int64_t columns = program.symbols[node.outputs[0]].columns();
      const DType dtype = program.symbols[symbols[0]].dtype;
      const size_t bytes =
          Memory::Padded(backend.PackedBytes(dtype, depth, columns));
      weights_.push_back({symbols, node.transpose, columns, bytes, {}});
      own = weights_.end() - 1;
    }
    own->products.push_back({static_cast<int>(i),
                             SpaceOf(program, node) == RowSpace::kEdges,
                             node.stage == Stage::kCritical});
  }
}

// A weight is packed if it is read for so many rows that packing pays, and by
// more than one run of a product: a single run packs as it goes, and every run
// packs a weight that is transposed. If a product reads another weight task by
// task, either tasks must have so many rows on average that the product would
// not read the weight in place; or the weight must be so large, and there must
// be so many tasks, that packing costs less than reading in place, where the
// rows of a panel lie far apart.
bool Packing::IsWorthPacking(const Weights& weights, const Product& product,
                             const TypeRows& types) {
  const int64_t rows = product.of_edges ? types.num_edges() : types.size();
  if (!product.critical) return rows > kBlockRows;
  const int64_t tasks = types.num_tasks();
  // It usually leads to children, which the vertices of one task do not have.
  if (weights.transpose) return rows >= kRowsToPack || tasks > 2;
  return rows >= kRowsToPack &&
         (rows >= kRowsAtATimeToPack * tasks ||
          (tasks >= kTasksToPack && weights.bytes > kBytesToPack));
}

bool Packing::ArePacked(const Weights& weights, const TypeRows& rows) {
  return std::any_of(
      weights.products.begin(), weights.products.end(),
      [&](const Product& own) { return IsWorthPacking(weights, own, rows); });
}

size_t Packing::Bytes(const TypeRows& rows) const {
  size_t bytes = 0;
  for (const Weights& weights : weights_) {
    if (ArePacked(weights, rows)) bytes = SaturatingAdd(bytes, weights.bytes);
  }
  return bytes;
}

void PackedWeights::Pack(const Bindings& bindings, const CpuBackend& backend,
                         void* memory) {
  char* next = static_cast<char*>(memory);
  for (const Packing::Weights& weights : packing_.weights()) {
    bool packed = false;
    for (const Packing::Product& product : weights.products) {
      if (!Packing::IsWorthPacking(weights, product, *bindings.rows)) continue;
      of_[product.node] = next;
      packed = true;
    }
    if (!packed) continue;
    int64_t column = 0;
    for (int id : weights.symbols) {
      const Symbol& w = program_.symbols[id];
      const ConstBlock block(bindings.Dense(program_, id), w.shape[0],
                             w.shape[1], w.row_pitch());
      backend.Pack(w.dtype, block, weights.transpose, weights.columns, column,
                   next);
      column += w.shape[weights.transpose ? 0 : 1];
    }
    next += weights.bytes;
  }
}

}  // namespace cavs
