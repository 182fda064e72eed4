// Storage of one symbol for all vertices of a minibatch.
#ifndef CAVS_CC_EXEC_DYNAMIC_TENSOR_H_
#define CAVS_CC_EXEC_DYNAMIC_TENSOR_H_

#include <cassert>
#include <cstdint>

#include "cc/device/cpu/backend.h"

namespace cavs {

// Rows in execution order; a task sees the view `View(offset, bs)` of the rows
// it evaluates (arXiv:1712.04048, section 3.3: the offset and bs of a dynamic
// tensor). Owns nothing: the memory is an arena's. Views of columns (the pieces
// of a split) are dynamic tensors on the same memory with the same pitch.
class DynamicTensor {
 public:
  // Whose rows it has room for at a time; View() counts from the first of them.
  enum class Span : uint8_t {
    kStep,      // Of the whole minibatch.
    kChunk,     // Of a chunk (see chunks.h).
    kPiece,     // Of a piece of what an eager or lazy stage runs over.
    kTask,      // Of a task.
    kState,     // Of the state of the whole minibatch, of which it is a part.
    kChildren,  // Of the state too: the rows of children are one of its rows.
  };

  DynamicTensor() = default;

  // `capacity` rows of `columns` elements, `pitch` elements apart.
  DynamicTensor(DType dtype, void* base, int64_t capacity, int64_t columns,
                int64_t pitch, Span span)
      : base_(static_cast<char*>(base)),
        capacity_(capacity),
        columns_(columns),
        pitch_(pitch),
        dtype_(dtype),
        span_(span) {}

  // The rows [offset, offset + bs).
  Block View(int64_t offset, int64_t bs) const {
    assert(offset + bs <= capacity_);
    return {base_ + offset * pitch_ * static_cast<int64_t>(SizeOf(dtype_)), bs,
            columns_, pitch_};
  }

  // The columns [first, first + count) of every row.
  DynamicTensor Columns(int64_t first, int64_t count) const {
    assert(first + count <= columns_);
    DynamicTensor piece = *this;
    if (base_ != nullptr) {  // It may have no storage yet.
      piece.base_ += first * static_cast<int64_t>(SizeOf(dtype_));
    }
    piece.columns_ = count;
    return piece;
  }

  DType dtype() const { return dtype_; }
  int64_t capacity() const { return capacity_; }
  int64_t columns() const { return columns_; }
  int64_t pitch() const { return pitch_; }
  Span span() const { return span_; }

 private:
  char* base_ = nullptr;
  int64_t capacity_ = 0;
  int64_t columns_ = 0;
  int64_t pitch_ = 0;
  DType dtype_ = DType::kOther;
  Span span_ = Span::kStep;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_DYNAMIC_TENSOR_H_
