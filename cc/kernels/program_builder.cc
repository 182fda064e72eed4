#include "cc/kernels/program_builder.h"

#include <algorithm>
#include <memory>

#include "cc/base/byte_count.h"

namespace cavs {

DType ToDType(tensorflow::DataType dtype) {
  switch (dtype) {
    case tensorflow::DT_FLOAT:
      return DType::kFloat32;
    case tensorflow::DT_DOUBLE:
      return DType::kFloat64;
    case tensorflow::DT_INT32:
      return DType::kInt32;
    case tensorflow::DT_INT64:
      return DType::kInt64;
    case tensorflow::DT_BOOL:
      return DType::kBool;
    case tensorflow::DT_BFLOAT16:
      return DType::kBFloat16;
    case tensorflow::DT_HALF:
      return DType::kFloat16;
    case tensorflow::DT_INT8:
      return DType::kInt8;
    case tensorflow::DT_UINT8:
      return DType::kUInt8;
    case tensorflow::DT_INT16:
      return DType::kInt16;
    case tensorflow::DT_UINT16:
      return DType::kUInt16;
    case tensorflow::DT_UINT32:
      return DType::kUInt32;
    case tensorflow::DT_UINT64:
      return DType::kUInt64;
    default:
      return DType::kOther;
  }
}

tensorflow::DataType ToDataType(DType dtype) {
  constexpr tensorflow::DataType kTypes[] = {
      tensorflow::DT_FLOAT,  tensorflow::DT_DOUBLE, tensorflow::DT_INT32,
      tensorflow::DT_INT64,  tensorflow::DT_BOOL,   tensorflow::DT_BFLOAT16,
      tensorflow::DT_HALF,   tensorflow::DT_INT8,   tensorflow::DT_UINT8,
      tensorflow::DT_INT16,  tensorflow::DT_UINT16, tensorflow::DT_UINT32,
      tensorflow::DT_UINT64, tensorflow::DT_INVALID};
  return kTypes[static_cast<int>(dtype)];
}

TensorRef ReferTo(const tensorflow::Tensor& tensor) {
  TensorRef ref;
  ref.dtype = ToDType(tensor.dtype());
  const auto sizes = tensor.shape().dim_sizes();
  ref.shape.assign(sizes.begin(), sizes.end());
  if (ref.dtype != DType::kOther) ref.data = tensor.data();
  return ref;
}

TensorRef ToTensorRef(const tensorflow::Tensor& tensor) {
  TensorRef ref = ReferTo(tensor);
  ref.handle = std::make_shared<tensorflow::Tensor>(tensor);
  return ref;
}

int ProgramBuilder::AddSymbol(Symbol symbol) {
  program_.symbols.push_back(std::move(symbol));
  return static_cast<int>(program_.symbols.size()) - 1;
}

Node& ProgramBuilder::AddNode(NodeKind kind, const tensorflow::Node& from,
                              std::vector<int> inputs,
                              std::vector<int> outputs) {
  Node node;
  node.kind = kind;
  node.name = from.name();
  node.op = from.type_string();
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  program_.nodes.push_back(std::move(node));
  return program_.nodes.back();
}

Symbol ProgramBuilder::RowSymbol(const TracedNode& traced, int i) const {
  Symbol symbol;
  symbol.name = traced.node->name();
  symbol.dtype = ToDType(traced.node->output_type(i));
  symbol.kind = SymbolKind::kOpaque;
  symbol.space = traced.spaces[i];
  const tensorflow::PartialTensorShape& shape = traced.shapes[i];
  if (shape.unknown_rank() || symbol.dtype == DType::kOther) return symbol;
  const auto dims = shape.dim_sizes();
  const bool rows = !dims.empty() && dims[0] < 0;
  const std::vector<int64_t> rest(dims.begin() + (rows ? 1 : 0), dims.end());
  if (CheckedProduct(rest) < 0) return symbol;  // Unknown or too large.
  symbol.kind = rows ? SymbolKind::kRows : SymbolKind::kReduced;
  symbol.shape = rest;
  return symbol;
}

Symbol ProgramBuilder::InvariantSymbol(const TracedNode& traced,
                                       int output) const {
  Symbol symbol;
  symbol.name = traced.node->name();
  symbol.dtype = ToDType(traced.node->output_type(output));
  symbol.kind = SymbolKind::kInvariant;
  const tensorflow::PartialTensorShape& shape = traced.shapes[output];
  symbol.shape_known =
      shape.IsFullyDefined() && CheckedProduct(shape.dim_sizes()) >= 0;
  if (symbol.shape_known) {
    const auto dims = shape.dim_sizes();
    symbol.shape.assign(dims.begin(), dims.end());
  }
  return symbol;
}

int ProgramBuilder::AddView(int parent, int64_t offset, const Symbol& like) {
  Symbol view = like;
  view.kind = symbol(parent).kind;
  view.space = symbol(parent).space;
  view.parent = parent;
  view.offset = offset;
  return AddSymbol(std::move(view));
}

int ProgramBuilder::AddScalar(DType dtype, double value) {
  tensorflow::Tensor scalar(ToDataType(dtype), tensorflow::TensorShape());
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    *static_cast<T*>(scalar.data()) = FromWide<T>(static_cast<Wide<T>>(value));
  });
  Symbol symbol;
  symbol.kind = SymbolKind::kInvariant;
  symbol.source = SymbolSource::kConstant;
  symbol.dtype = dtype;
  symbol.constant = std::make_shared<const TensorRef>(ToTensorRef(scalar));
  return AddSymbol(std::move(symbol));
}

int ProgramBuilder::Find(const tensorflow::Node& node, int output) const {
  const auto it = symbol_of_.find({node.id(), output});
  return it == symbol_of_.end() ? -1 : it->second;
}

bool ProgramBuilder::Broadcasts(int id, const Symbol& out) const {
  const Symbol& x = symbol(id);
  if (x.dtype != out.dtype) return false;
  if (x.kind == SymbolKind::kRows) {
    const bool one_column = x.columns() == 1 && out.shape.size() == 1;
    return x.shape.size() == out.shape.size() &&
           (x.shape == out.shape || one_column);
  }
  if (x.kind != SymbolKind::kInvariant || !x.shape_known) return false;
  std::vector<int64_t> shape = x.shape;
  if (x.columns() == 1) return shape.size() <= out.shape.size() + 1;
  if (shape.size() == out.shape.size() + 1) {
    if (shape[0] != 1) return false;
    shape.erase(shape.begin());
  }
  return shape == out.shape;
}

bool ProgramBuilder::IsConstantZero(int id) const {
  const Symbol& value = symbol(id);
  if (value.source != SymbolSource::kConstant) return false;
  const char* bytes = static_cast<const char*>(value.constant->data);
  return bytes != nullptr &&
         std::all_of(bytes, bytes + value.columns() * SizeOf(value.dtype),
                     [](char byte) { return byte == 0; });
}

bool ProgramBuilder::ConstantIntegers(int id,
                                      std::vector<int64_t>* values) const {
  const Symbol& s = symbol(id);
  if (s.source != SymbolSource::kConstant) return false;
  const int64_t n = s.columns();
  const void* data = s.constant->data;
  if (s.dtype == DType::kInt32) {
    const int32_t* ints = static_cast<const int32_t*>(data);
    values->assign(ints, ints + n);
  } else if (s.dtype == DType::kInt64) {
    const int64_t* ints = static_cast<const int64_t*>(data);
    values->assign(ints, ints + n);
  } else {
    return false;
  }
  return true;
}

}  // namespace cavs
