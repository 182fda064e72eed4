#include <sstream>
#include <string>

#include "cc/kernels/compile.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Bytes per vertex of every result of a program that has rows.
int64_t TapeBytesPerRow(const Program& program) {
  int64_t bytes = 0;
  std::vector<bool> counted(program.symbols.size(), false);
  for (int id : program.results) {
    int64_t offset;
    const int root = program.Root(id, &offset);
    const Symbol& symbol = program.symbols[root];
    if (counted[root] || symbol.kind != SymbolKind::kRows) continue;
    counted[root] = true;
    bytes += symbol.columns() * static_cast<int64_t>(SizeOf(symbol.dtype));
  }
  return bytes;
}

const char* ToString(NodeKind kind) {
  switch (kind) {
    case NodeKind::kGather:
      return "gather";
    case NodeKind::kScatter:
      return "scatter";
    case NodeKind::kPull:
      return "pull";
    case NodeKind::kPush:
      return "push";
    case NodeKind::kScatterGrad:
      return "scatter_grad";
    case NodeKind::kGatherGrad:
      return "gather_grad";
    case NodeKind::kPullGrad:
      return "pull_grad";
    case NodeKind::kPushGrad:
      return "push_grad";
    case NodeKind::kVertexIds:
      return "vertex_ids";
    case NodeKind::kMatMul:
      return "matmul";
    case NodeKind::kWeightGrad:
      return "weight_grad";
    case NodeKind::kSumRows:
      return "sum_rows";
    case NodeKind::kSumColumns:
      return "sum_columns";
    case NodeKind::kElementwise:
      return "elementwise";
    case NodeKind::kCopy:
      return "copy";
    case NodeKind::kZero:
      return "zero";
    case NodeKind::kGroup:
      return "group";
    case NodeKind::kForeign:
      return "tensorflow";
  }
  return "unknown";
}

// Names of traced nodes hold no character that JSON would have to escape.
std::string ToJson(const Program& program) {
  std::ostringstream out;
  out << "{\"tape_bytes_per_row\": " << TapeBytesPerRow(program)
      << ", \"nodes\": [";
  const char* separator = "";
  for (const Node& node : program.nodes) {
    out << separator << "{\"name\": \"" << node.name << "\", \"op\": \""
        << node.op << "\", \"kind\": \"" << ToString(node.kind)
        << "\", \"stage\": \"" << ToString(node.stage) << "\", \"native\": "
        << (node.kind == NodeKind::kForeign ? "false" : "true")
        << ", \"index\": " << node.index << "}";
    separator = ", ";
  }
  out << "]}";
  return out.str();
}

class DescribeOp : public OpKernel {
 public:
  explicit DescribeOp(OpKernelConstruction* context) : OpKernel(context) {
    CompiledModel compiled;
    OP_REQUIRES_OK(
        context, Compile(context, "vertex", /*keep_results=*/true, &compiled));
    description_ = "[";
    for (const Program& program : compiled.model.programs) {
      if (description_.size() > 1) description_ += ", ";
      description_ += ToJson(program);
    }
    description_ += "]";
  }

  void Compute(OpKernelContext* context) override {
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({}), &output));
    output->scalar<tensorflow::tstring>()() = description_;
  }

 private:
  std::string description_;
};

REGISTER_KERNEL_BUILDER(Name("CavsDescribe").Device(tensorflow::DEVICE_CPU),
                        DescribeOp);

}  // namespace
}  // namespace cavs
