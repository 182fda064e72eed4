// Operators that devices leave to the framework.
#ifndef CAVS_CC_IR_FOREIGN_OP_H_
#define CAVS_CC_IR_FOREIGN_OP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/status.h"

namespace cavs {

// A tensor without the framework's type: rows, perhaps strided, or a dense
// array.
struct TensorRef {
  DType dtype = DType::kOther;
  // Includes the leading row dimension, if there is one.
  std::vector<int64_t> shape;
  void* data = nullptr;
  int64_t pitch = 0;  // Elements between the starts of two rows; 0: dense.
  // The framework's own tensor, if there is one; it keeps `data` alive.
  std::shared_ptr<void> handle;
  bool opaque = false;           // `handle` is the only valid field.
  std::vector<int64_t> numbers;  // The values of a kRowCount symbol.
};

// A mask of dropout: zero with a probability, else 1 / (1 - rate). Each row is
// drawn by itself, by a counter-based generator (Threefry4x32-20) that has the
// seed as its key, and the row's number, the mask's number and the column as
// its counter: the same numbers on every device.
struct DrawnMask {
  float rate = 0;
  uint32_t number = 0;  // Masks of other numbers are independent.

  // The share that is dropped, times 2^32.
  uint32_t threshold() const {
    return static_cast<uint32_t>(double{rate} * 4294967296.0);
  }
  double kept() const { return 1 / (1 - double{rate}); }
};

// One operator, run by the framework that the vertex function came from.
//
// Thread safety: Run() may be called from several threads at once.
class ForeignOp {
 public:
  virtual ~ForeignOp() = default;

  // Reads `inputs`, which it must not change, and fills `outputs`: where `data`
  // is set, with values of exactly that shape; where it is opaque, or `data` is
  // null, by setting `handle` (and data, shape, pitch unless opaque). `host` is
  // the pointer that the caller of the run passed.
  virtual Status Run(void* host, const std::vector<TensorRef>& inputs,
                     std::vector<TensorRef>* outputs) const = 0;

  // The mask that the operator draws from the numbers of rows and a seed of two
  // int64, if it draws one. Else null.
  virtual const DrawnMask* mask() const { return nullptr; }

  // Whether the operator converts numbers to the type of its output, where each
  // becomes the nearest number.
  virtual bool casts() const { return false; }
};

struct Node;
struct Program;

// The mask that a node of the framework draws for rows, if a device can draw it
// itself. Else null.
const DrawnMask* MaskOf(const Program& program, const Node& node);

// Whether a node of the framework only converts rows of numbers, between types
// that devices know, so that a device can do so itself.
bool IsCast(const Program& program, const Node& node);

}  // namespace cavs

#endif  // CAVS_CC_IR_FOREIGN_OP_H_
