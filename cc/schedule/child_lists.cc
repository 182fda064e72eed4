#include "cc/schedule/child_lists.h"

#include <algorithm>
#include <limits>

namespace cavs {
namespace {

bool Ascend(Span<int32_t> splits, int64_t total) {
  return splits.empty() || (splits[0] >= 0 && splits.end()[-1] <= total &&
                            std::is_sorted(splits.begin(), splits.end()));
}

}  // namespace

void MakeAbsolute(const GraphBatchView& batch, int32_t* absolute) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  std::copy(batch.child_ids.begin(), batch.child_ids.end(), absolute);
  if (!Ascend(batch.graph_splits, batch.num_vertices()) ||
      !Ascend(batch.child_splits, batch.child_ids.size())) {
    return;
  }
  for (int64_t graph = 0; graph < batch.num_graphs(); ++graph) {
    const int32_t first = batch.graph_splits[graph];
    const int32_t last = batch.graph_splits[graph + 1];
    if (first == last) continue;
    const int32_t end = batch.child_splits[last];
    for (int32_t edge = batch.child_splits[first]; edge < end; ++edge) {
      const int32_t id = absolute[edge];
      if (id >= 0) absolute[edge] = id < kMax - first ? id + first : kMax;
    }
  }
}

void FindChildren(const GraphBatchView& batch, int arity, bool* has_child) {
  const int64_t size = batch.child_ids.size();
  for (int64_t vertex = 0; vertex < batch.num_vertices(); ++vertex) {
    const int64_t first = batch.child_splits[vertex];
    const int64_t end = std::min<int64_t>(batch.child_splits[vertex + 1], size);
    for (int k = 0; k < arity; ++k) {
      *has_child++ =
          first >= 0 && first + k < end && batch.child_ids[first + k] >= 0;
    }
  }
}

}  // namespace cavs
