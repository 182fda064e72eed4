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
};

}  // namespace cavs

#endif  // CAVS_CC_IR_FOREIGN_OP_H_
