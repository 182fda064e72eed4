// Checks the rows of an op's inputs and outputs against its programs.
#ifndef CAVS_CC_KERNELS_CHECK_ROWS_H_
#define CAVS_CC_KERNELS_CHECK_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/base/status.h"
#include "cc/exec/model.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace cavs {

// The type of one row of an input or output. Without a shape, no program reads
// or writes the rows, and any shape is valid.
struct RowType {
  tensorflow::DataType dtype = tensorflow::DT_INVALID;
  std::optional<std::vector<int64_t>> shape;
};

// Finds the rows that nodes of `kind` read or write, by number; there are as
// many tensors as `dtypes`. kInvalidArgument, which names `name`, if a node has
// another number or type, or if two nodes differ.
absl::Status FindRowTypes(const Model& model, NodeKind kind,
                          const std::string& name,
                          const std::vector<tensorflow::DataType>& dtypes,
                          std::vector<RowType>* types);

// Checks that there is a number of captures for each vertex function, and that
// they add up to `captures`.
absl::Status CheckCaptureCounts(const std::vector<int>& counts, size_t types,
                                size_t captures);

// Checks that `shapes`, attribute `name`, are fully known and those of `types`.
absl::Status CheckRowShapes(
    const std::string& name, const std::vector<RowType>& types,
    const std::vector<tensorflow::PartialTensorShape>& shapes);

// Checks that `shape` is that of rows of type `type`. `name` is that of the
// tensor.
absl::Status CheckRows(ArgumentName name, const RowType& type,
                       const tensorflow::TensorShape& shape);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_CHECK_ROWS_H_
