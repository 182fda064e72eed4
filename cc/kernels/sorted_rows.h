// Finds the rows of a gradient that belong to one row of a table.
#ifndef CAVS_CC_KERNELS_SORTED_ROWS_H_
#define CAVS_CC_KERNELS_SORTED_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"

namespace cavs {

// A SortedRows owns the arrays of a RowGroups.
struct SortedRows {
  std::vector<int64_t> rows, splits, order;

  RowGroups groups() const {
    return {rows.data(), splits.data(), order.data(),
            static_cast<int64_t>(rows.size())};
  }
};

// Groups `count` rows of a gradient by their rows in a table, `indices`, which
// are at most `largest`. It sorts by the digits of these numbers, because
// comparisons would take longer than the update.
template <typename Index>
SortedRows SortRows(const Index* indices, int64_t count, int64_t largest) {
  constexpr int kBits = 11;
  std::vector<int64_t> order(count), next(count);
  std::iota(order.begin(), order.end(), 0);
  // Rows that were looked up are sorted already, so there is nothing to sort.
  if (std::is_sorted(indices, indices + count)) largest = 0;
  for (int shift = 0; shift < 64 && largest >> shift > 0; shift += kBits) {
    const auto digit = [&](int64_t position) {
      return (int64_t{indices[position]} >> shift) & ((1 << kBits) - 1);
    };
    std::vector<int64_t> begin((1 << kBits) + 1);  // The rows with each digit.
    for (int64_t i = 0; i < count; ++i) ++begin[digit(i) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (int64_t position : order) next[begin[digit(position)]++] = position;
    order.swap(next);
  }
  SortedRows result;
  result.rows.reserve(count);
  result.splits.reserve(count + 1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = indices[order[i]];
    if (i > 0 && result.rows.back() == row) continue;
    result.rows.push_back(row);
    result.splits.push_back(i);
  }
  result.splits.push_back(count);
  result.order = std::move(order);
  return result;
}

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_SORTED_ROWS_H_
