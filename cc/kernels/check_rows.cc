#include "cc/kernels/check_rows.h"

#include <algorithm>

#include "cc/kernels/program_builder.h"

namespace cavs {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::DataTypeString;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::TensorShape;

const Symbol& RowsOf(const Program& program, const Node& node) {
  return program
      .symbols[node.outputs.empty() ? node.inputs[0] : node.outputs[0]];
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return PartialTensorShape(shape).DebugString();
}

absl::Status CheckNumber(const std::string& name, const Node& node,
                         size_t count) {
  if (node.index >= 0 && node.index < static_cast<int64_t>(count)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat(name, ": got ", count, " of them but expected at least ",
             int64_t{node.index} + 1,
             ", as when the vertex function was traced. Give as many."));
}

}  // namespace

absl::Status FindRowTypes(const Model& model, NodeKind kind,
                          const std::string& name,
                          const std::vector<DataType>& dtypes,
                          std::vector<RowType>* types) {
  types->clear();
  for (DataType dtype : dtypes) types->push_back({dtype, std::nullopt});
  for (const Program& program : model.programs) {
    for (const Node& node : program.nodes) {
      if (node.kind != kind) continue;
      TF_RETURN_IF_ERROR(CheckNumber(name, node, types->size()));
      const Symbol& rows = RowsOf(program, node);
      RowType& type = (*types)[node.index];
      if (ToDType(type.dtype) != rows.dtype) {
        return absl::InvalidArgumentError(
            StrCat(name, "[", node.index, "]: got ", DataTypeString(type.dtype),
                   " but expected ", DataTypeString(ToDataType(rows.dtype)),
                   ", as when the vertex function was traced. Cast it."));
      }
      if (type.shape.has_value() && *type.shape != rows.shape) {
        return absl::InvalidArgumentError(
            StrCat(name, "[", node.index, "]: got rows of shapes ",
                   ShapeText(*type.shape), " and ", ShapeText(rows.shape),
                   " in two vertex functions but expected the same. Trace the "
                   "vertex functions again."));
      }
      type.shape = rows.shape;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCaptureCounts(const std::vector<int>& counts, size_t types,
                                size_t captures) {
  if (counts.size() != types) {
    return absl::InvalidArgumentError(
        StrCat("capture_counts: got ", counts.size(),
               " values but expected one per vertex function, ", types, "."));
  }
  int64_t sum = 0;
  for (size_t type = 0; type < types; ++type) {
    if (counts[type] < 0) {
      return absl::InvalidArgumentError(StrCat("capture_counts[", type,
                                               "]: got ", counts[type],
                                               " but expected at least 0."));
    }
    sum += counts[type];
  }
  if (sum == static_cast<int64_t>(captures)) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("captures: got ", captures,
                                           " tensors but expected ", sum,
                                           ", the sum of capture_counts."));
}

absl::Status CheckRowShapes(const std::string& name,
                            const std::vector<RowType>& types,
                            const std::vector<PartialTensorShape>& shapes) {
  if (shapes.size() != types.size()) {
    return absl::InvalidArgumentError(
        StrCat(name, ": got ", shapes.size(), " shapes but expected ",
               types.size(), ", one per tensor."));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string expected = types[i].shape.has_value()
                                     ? ShapeText(*types[i].shape)
                                     : std::string("a fully known shape");
    const bool fits =
        shapes[i].IsFullyDefined() &&
        (!types[i].shape.has_value() ||
         shapes[i].IsIdenticalTo(PartialTensorShape(*types[i].shape)));
    if (!fits) {
      return absl::InvalidArgumentError(
          StrCat(name, "[", i, "]: got ", shapes[i].DebugString(),
                 " but expected ", expected,
                 ", the shape of a row when the vertex function was traced."));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRows(ArgumentName name, const RowType& type,
                       const TensorShape& shape) {
  if (!type.shape.has_value()) return absl::OkStatus();
  bool fits = shape.dims() == 1 + static_cast<int>(type.shape->size());
  for (int i = 1; fits && i < shape.dims(); ++i) {
    fits = shape.dim_size(i) == (*type.shape)[i - 1];
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(name, ": got shape ", shape.DebugString(),
             " but expected rows of shape ", ShapeText(*type.shape),
             ", as when the vertex function was traced. Reshape it."));
}

}  // namespace cavs
