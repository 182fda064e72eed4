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

// The type of one row of an input or output. There is no shape if no program
// reads or writes the rows; any shape is valid then.
struct RowType {
  tensorflow::DataType dtype = tensorflow::DT_INVALID;
  std::optional<std::vector<int64_t>> shape;
};

// Finds the types of the rows that nodes of `kind` read or write. types[i] is
// for the tensor of number i, and there is one tensor for each of `dtypes`.
// Returns kInvalidArgument, naming `name`, if a node has the number of no
// tensor, if it has another type than its tensor, or if two nodes of a tensor
// have different shapes.
absl::Status FindRowTypes(const Model& model, NodeKind kind,
                          const std::string& name,
                          const std::vector<tensorflow::DataType>& dtypes,
                          std::vector<RowType>* types);

// Checks that `counts` has a number of captures for each of `types` vertex
// functions, and that these numbers add up to `captures`.
absl::Status CheckCaptureCounts(const std::vector<int>& counts, size_t types,
                                size_t captures);

// Checks that `shapes`, the value of attribute `name`, are fully known and
// agree with `types`.
absl::Status CheckRowShapes(
    const std::string& name, const std::vector<RowType>& types,
    const std::vector<tensorflow::PartialTensorShape>& shapes);

// Checks that the tensor called `name`, of shape `shape`, has rows of type
// `type`.
absl::Status CheckRows(ArgumentName name, const RowType& type,
                       const tensorflow::TensorShape& shape);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_CHECK_ROWS_H_
