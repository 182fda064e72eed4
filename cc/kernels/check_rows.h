// Are the rows that an op is given, and gives, those of its programs?
#ifndef CAVS_CC_KERNELS_CHECK_ROWS_H_
#define CAVS_CC_KERNELS_CHECK_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/exec/model.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace cavs {

// One row of an input or output. No shape: no program reads or writes it, so it
// may be anything.
struct RowType {
  tensorflow::DataType dtype = tensorflow::DT_INVALID;
  std::optional<std::vector<int64_t>> shape;
};

// The rows that nodes of `kind` read or write, by number; there are as many
// tensors as `dtypes`. kInvalidArgument, which names `name`, if a node is of
// another number or type, or if two differ.
absl::Status FindRowTypes(const Model& model, NodeKind kind,
                          const std::string& name,
                          const std::vector<tensorflow::DataType>& dtypes,
                          std::vector<RowType>* types);

// Is there a number of captures per vertex function, of `captures` in all?
absl::Status CheckCaptureCounts(const std::vector<int>& counts, size_t types,
                                size_t captures);

// Are `shapes`, attribute `name`, fully known shapes of them?
absl::Status CheckRowShapes(
    const std::string& name, const std::vector<RowType>& types,
    const std::vector<tensorflow::PartialTensorShape>& shapes);

// Is `shape` that of rows of type `type`? `name` is that of the tensor.
absl::Status CheckRows(const std::string& name, const RowType& type,
                       const tensorflow::TensorShape& shape);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_CHECK_ROWS_H_
