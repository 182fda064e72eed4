// Symbols and nodes of a program while it is lowered.
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

// A tensor as the core sees it; keeps the tensor alive.
TensorRef ToTensorRef(const tensorflow::Tensor& tensor);

// One node of the traced function with its operands looked up.
struct TracedNode {
  const tensorflow::Node* node = nullptr;
  std::vector<int> inputs;                             // Symbols.
  std::vector<tensorflow::PartialTensorShape> shapes;  // Of the outputs.
};

// Grows a program. Every output of a traced node is mapped to one symbol, which
// several may share (an Identity adds none).
class ProgramBuilder {
 public:
  int AddSymbol(Symbol symbol);
  Node& AddNode(NodeKind kind, const tensorflow::Node& from,
                std::vector<int> inputs, std::vector<int> outputs);

  // A symbol for output `i` of a node that depends on rows, by its shape.
  Symbol RowSymbol(const TracedNode& traced, int i) const;
  int AddRowSymbol(const TracedNode& traced, int i) {
    return AddSymbol(RowSymbol(traced, i));
  }

  // `columns` of `parent` from `offset`, as rows of the given shape.
  int AddView(int parent, int64_t offset, const Symbol& like);

  void Map(const tensorflow::Node& node, int output, int symbol) {
    symbol_of_[{node.id(), output}] = symbol;
  }
  // -1 if there is none.
  int Find(const tensorflow::Node& node, int output) const;

  Symbol& symbol(int id) { return program_.symbols[id]; }
  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  // The elements of a constant integer operand; false if it is none.
  bool ConstantIntegers(int id, std::vector<int64_t>* values) const;

  Program& program() { return program_; }

 private:
  Program program_;
  std::map<std::pair<int, int>, int> symbol_of_;
};

// Emits native nodes for `traced` and maps its outputs, or returns false: then
// nothing was added. At least one operand depends on rows.
bool LowerNative(const TracedNode& traced, ProgramBuilder* builder);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_PROGRAM_BUILDER_H_
