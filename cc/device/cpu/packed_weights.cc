#include "cc/device/cpu/packed_weights.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/device/cpu/blocks.h"
#include "cc/device/memory.h"

namespace cavs {
namespace {

// A weight is packed if it is read for so many rows that packing pays, and by
// more than one run of a product: a single run packs as it goes. If a product
// reads it task by task, either tasks must have so many rows on average that
// the product would not read the weight in place; or there must be so many
// tasks that packing costs less than reading in place, where the rows of a
// panel lie far apart.
constexpr int64_t kRowsToPack = 16;
constexpr int64_t kRowsAtATimeToPack = 7;
constexpr int64_t kTasksToPack = 8;

bool IsWorthPacking(const Program& program, const Node& product,
                    const TypeRows& types) {
  const bool of_edges = SpaceOf(program, product) == RowSpace::kEdges;
  const int64_t rows = of_edges ? types.num_edges() : types.size();
  if (rows < kRowsToPack) return false;
  if (product.stage != Stage::kCritical) return rows > kBlockRows;
  return product.transpose || types.num_tasks() >= kTasksToPack ||
         rows >= kRowsAtATimeToPack * types.num_tasks();
}

}  // namespace

Packing::Packing(const Program& program) : program_(program) {
  std::map<std::pair<std::vector<int>, bool>, int> number;
  for (const Node& node : program.nodes) {
    weights_of_.push_back(-1);
    if (node.kind != NodeKind::kMatMul) continue;
    std::vector<int> symbols(node.inputs.begin() + 1, node.inputs.end());
    const auto [found, is_new] = number.emplace(
        std::make_pair(symbols, node.transpose), weights_.size());
    weights_of_.back() = found->second;
    if (!is_new) continue;
    weights_.push_back({std::move(symbols), node.transpose,
                        program.symbols[node.inputs[0]].columns(),
                        program.symbols[node.outputs[0]].columns()});
  }
}

const Packing::Weights* Packing::Of(int node, const TypeRows& rows) const {
  const int weights = weights_of_[node];
  const bool packed =
      weights >= 0 && IsWorthPacking(program_, program_.nodes[node], rows);
  return packed ? &weights_[weights] : nullptr;
}

std::vector<const Packing::Weights*> Packing::Packed(
    const TypeRows& rows) const {
  std::vector<const Weights*> packed;
  for (size_t i = 0; i < weights_of_.size(); ++i) {
    const Weights* weights = Of(static_cast<int>(i), rows);
    if (weights != nullptr &&
        std::count(packed.begin(), packed.end(), weights) == 0) {
      packed.push_back(weights);
    }
  }
  return packed;
}

size_t Packing::Bytes(const Weights& weights, const CpuBackend& backend) const {
  const DType dtype = program_.symbols[weights.symbols[0]].dtype;
  return Memory::Padded(
      backend.PackedBytes(dtype, weights.depth, weights.columns));
}

PackedWeights::PackedWeights(const Program& program, const Packing& packing,
                             const TypeRows& rows)
    : program_(program),
      packing_(packing),
      rows_(rows),
      of_(program.nodes.size(), nullptr) {}

void PackedWeights::Pack(const Bindings& bindings, const CpuBackend& backend,
                         void* memory) {
  std::map<const Packing::Weights*, const void*> packed;
  char* next = static_cast<char*>(memory);
  for (const Packing::Weights* weights : packing_.Packed(rows_)) {
    int64_t column = 0;
    for (int id : weights->symbols) {
      const Symbol& w = program_.symbols[id];
      const ConstBlock block(bindings.Dense(program_, id), w.shape[0],
                             w.shape[1], w.row_pitch());
      backend.Pack(w.dtype, block, weights->transpose, weights->columns, column,
                   next);
      column += w.shape[weights->transpose ? 0 : 1];
    }
    packed[weights] = next;
    next += packing_.Bytes(*weights, backend);
  }
  for (size_t i = 0; i < of_.size(); ++i) {
    const Packing::Weights* weights = packing_.Of(static_cast<int>(i), rows_);
    if (weights != nullptr) of_[i] = packed[weights];
  }
}

}  // namespace cavs
