// Views of rows in memory.
#ifndef CAVS_CC_DEVICE_BLOCK_H_
#define CAVS_CC_DEVICE_BLOCK_H_

#include <cstdint>

namespace cavs {

// `rows` x `cols` elements of a row-major matrix whose rows start `pitch`
// elements apart (pitch >= cols). A view: it owns nothing. Some columns of a
// wider matrix (an output of a split, say) are a block with the pitch of the
// matrix.
struct Block {
  void* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t pitch = 0;
};

// With an `index`, row i is at index[i] rows from `data`, which may be before
// it. Only functions that say so accept an index.
struct ConstBlock {
  const void* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t pitch = 0;
  const int32_t* index = nullptr;

  ConstBlock() = default;
  ConstBlock(const void* data, int64_t rows, int64_t cols, int64_t pitch)
      : data(data), rows(rows), cols(cols), pitch(pitch) {}
  ConstBlock(const Block& block)  // NOLINT: an implicit conversion on purpose.
      : ConstBlock(block.data, block.rows, block.cols, block.pitch) {}
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_BLOCK_H_
