// Storage of one symbol for all vertices of a minibatch.
#ifndef CAVS_CC_DEVICE_DYNAMIC_TENSOR_H_
#define CAVS_CC_DEVICE_DYNAMIC_TENSOR_H_

#include <cassert>
#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/device/block.h"
#include "cc/ir/placement.h"

namespace cavs {

// Rows in execution order; a task sees the view `View(offset, bs)` of the rows
// that it evaluates (arXiv:1712.04048, section 3.3: the offset and bs of a
// dynamic tensor). Owns nothing: the memory belongs to an arena. Some columns
// (an output of a split, say) are a dynamic tensor on the same memory with the
// same pitch.
class DynamicTensor {
 public:
  DynamicTensor() = default;

  // `capacity` rows of `columns` elements, `pitch` elements apart.
  DynamicTensor(DType dtype, void* base, int64_t capacity, int64_t columns,
                int64_t pitch, Extent extent)
      : base_(static_cast<char*>(base)),
        capacity_(capacity),
        columns_(columns),
        pitch_(pitch),
        row_bytes_(pitch * static_cast<int64_t>(SizeOf(dtype))),
        dtype_(dtype),
        extent_(extent) {}

  // The rows [offset, offset + bs).
  Block View(int64_t offset, int64_t bs) const {
    assert(offset + bs <= capacity_);
    return {base_ + offset * row_bytes_, bs, columns_, pitch_};
  }

  // The columns [first, first + count) of every row.
  DynamicTensor Columns(int64_t first, int64_t count) const {
    assert(first + count <= columns_);
    DynamicTensor narrow = *this;
    if (base_ != nullptr) {  // There may be no storage yet.
      narrow.base_ += first * static_cast<int64_t>(SizeOf(dtype_));
    }
    narrow.columns_ = count;
    return narrow;
  }

  DType dtype() const { return dtype_; }
  int64_t capacity() const { return capacity_; }
  int64_t columns() const { return columns_; }
  int64_t pitch() const { return pitch_; }
  Extent extent() const { return extent_; }

 private:
  char* base_ = nullptr;
  int64_t capacity_ = 0;
  int64_t columns_ = 0;
  int64_t pitch_ = 0;
  int64_t row_bytes_ = 0;  // Bytes between the starts of two rows.
  DType dtype_ = DType::kOther;
  Extent extent_ = Extent::kStep;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_DYNAMIC_TENSOR_H_
