// Builds a program while a function is lowered to it.
#ifndef CAVS_CC_KERNELS_PROGRAM_BUILDER_H_
#define CAVS_CC_KERNELS_PROGRAM_BUILDER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cc/ir/program.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"

namespace cavs {

DType ToDType(tensorflow::DataType dtype);
tensorflow::DataType ToDataType(DType dtype);

// Returns a reference to the tensor, which the caller keeps alive.
TensorRef ReferTo(const tensorflow::Tensor& tensor);
// Returns a reference to the tensor, which it keeps alive.
TensorRef ToTensorRef(const tensorflow::Tensor& tensor);

// One node of the traced function with its operands looked up.
struct TracedNode {
  const tensorflow::Node* node = nullptr;
  std::vector<int> inputs;                             // Symbols.
  std::vector<tensorflow::PartialTensorShape> shapes;  // Shapes of the outputs.
  std::vector<RowSpace> spaces;  // The spaces of the outputs' rows.
};

// A ProgramBuilder owns one program and builds it. It maps every output of a
// traced node to a symbol; several outputs may have the same symbol (an
// Identity adds none).
class ProgramBuilder {
 public:
  int AddSymbol(Symbol symbol);
  Node& AddNode(NodeKind kind, const tensorflow::Node& from,
                std::vector<int> inputs, std::vector<int> outputs);

  // Returns the symbol for output `i` of a node that depends on rows, made from
  // its shape.
  Symbol RowSymbol(const TracedNode& traced, int i) const;
  // Returns the symbol for an output of a node that depends on no row.
  Symbol InvariantSymbol(const TracedNode& traced, int output) const;
  int AddRowSymbol(const TracedNode& traced, int i) {
    return AddSymbol(RowSymbol(traced, i));
  }

  // Adds a view of the columns of `parent` from `offset` on, with the type and
  // shape of `like`.
  int AddView(int parent, int64_t offset, const Symbol& like);

  // Adds a constant number of a type for which IsNative() holds.
  int AddScalar(DType dtype, double value);

  void Map(const tensorflow::Node& node, int output, int symbol) {
    symbol_of_[{node.id(), output}] = symbol;
  }
  // Returns the symbol of an output, or -1.
  int Find(const tensorflow::Node& node, int output) const;

  // Returns whether symbol `id` can be read as rows of `out`, or as one row or
  // column that is broadcast.
  bool Broadcasts(int id, const Symbol& out) const;

  Symbol& symbol(int id) { return program_.symbols[id]; }
  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  // Returns whether the symbol is a constant whose elements are all 0.
  bool IsConstantZero(int id) const;
  // Reads the elements of a symbol. Returns false unless it is a constant of
  // integers.
  bool ConstantIntegers(int id, std::vector<int64_t>* values) const;

  Program& program() { return program_; }

  // The symbol of the argument that holds the row of each edge's vertex, or -1.
  int edge_rows = -1;

 private:
  Program program_;
  std::map<std::pair<int, int>, int> symbol_of_;
};

// Adds native nodes for `traced` and maps its outputs. Returns false if that is
// not possible; nothing reads the nodes that have been added then. REQUIRES: at
// least one operand depends on rows.
bool LowerNative(const TracedNode& traced, ProgramBuilder* builder);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_PROGRAM_BUILDER_H_
