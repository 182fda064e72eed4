// Columns of blocks, and the number of rows in a block.
#ifndef CAVS_CC_DEVICE_CPU_BLOCKS_H_
#define CAVS_CC_DEVICE_CPU_BLOCKS_H_

#include <cassert>
#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/device/block.h"

namespace cavs {

// The most rows in a block that one worker takes through a stage. Their values
// stay in its cache from node to node, and there are enough of them for a
// product to read its weights seldom.
constexpr int64_t kBlockRows = 64;

// The columns [begin, end) of each `unit` columns; all if there is no unit.
struct ColumnRange {
  int64_t unit = 0, begin = 0, end = 0;
};

inline Block Columns(const Block& block, DType dtype, int64_t begin,
                     int64_t end) {
  return {static_cast<char*>(block.data) +
              begin * static_cast<int64_t>(SizeOf(dtype)),
          block.rows, end - begin, block.pitch};
}

inline ConstBlock Columns(const ConstBlock& block, DType dtype, int64_t begin,
                          int64_t end) {
  ConstBlock columns = block;
  columns.data = static_cast<const char*>(block.data) +
                 begin * static_cast<int64_t>(SizeOf(dtype));
  columns.cols = end - begin;
  return columns;
}

// Calls fn(begin, end) for the range's ranges of `columns` columns, which are
// whole units (see phases.h).
template <typename Fn>
void ForRanges(int64_t columns, const ColumnRange& range, const Fn& fn) {
  if (range.unit == 0) return fn(0, columns);
  assert(columns % range.unit == 0);
  for (int64_t first = 0; first < columns; first += range.unit) {
    fn(first + range.begin, first + range.end);
  }
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_BLOCKS_H_
