// Draws programs by hand, for tests of code that reads programs.
#ifndef CAVS_TESTS_CC_IR_SKETCH_H_
#define CAVS_TESTS_CC_IR_SKETCH_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/ir/capabilities.h"
#include "cc/ir/program.h"

namespace cavs {

// The capabilities of a device that can do everything.
constexpr Capabilities kCapabilities{/*column_grain=*/16,
                                     /*most_indexed_columns=*/1024};

// Methods add symbols and nodes and return the symbol that holds the result.
//
// Example:
//   Sketch f(DType::kFloat64);
//   const int h = f.Gather(0, 8), x = f.Pull(0, 8);
//   f.Scatter(f.Call(Elementwise::kTanh, f.Call(Elementwise::kAdd, h, x)));
class Sketch {
 public:
  explicit Sketch(DType dtype = DType::kFloat64) : dtype_(dtype) {}

  Program program;
  RowSpace space = RowSpace::kVertices;  // Of the symbols that are added next.

  int Add(SymbolKind kind, std::vector<int64_t> shape,
          SymbolSource source = SymbolSource::kNode, int index = -1) {
    Symbol symbol;
    symbol.dtype = dtype_;
    symbol.kind = kind;
    if (kind == SymbolKind::kRows || kind == SymbolKind::kOpaque) {
      symbol.space = space;
    }
    symbol.source = source;
    symbol.index = index;
    symbol.shape = std::move(shape);
    program.symbols.push_back(symbol);
    return static_cast<int>(program.symbols.size()) - 1;
  }
  int Rows(int64_t columns) { return Add(SymbolKind::kRows, {columns}); }
  int Sum(std::vector<int64_t> shape) {
    return Add(SymbolKind::kReduced, std::move(shape));
  }
  int Opaque() { return Add(SymbolKind::kOpaque, {}); }
  int Invariant(std::vector<int64_t> shape) {
    return Add(SymbolKind::kInvariant, std::move(shape));
  }
  // The constant zero.
  int ScalarZero() {
    const auto zero = std::make_shared<double>(0);
    TensorRef scalar;
    scalar.dtype = dtype_;
    scalar.data = zero.get();
    scalar.handle = zero;
    const int id = Add(SymbolKind::kInvariant, {}, SymbolSource::kConstant);
    program.symbols[id].constant =
        std::make_shared<const TensorRef>(std::move(scalar));
    return id;
  }
  int Capture(int index, std::vector<int64_t> shape) {
    return Add(SymbolKind::kInvariant, std::move(shape), SymbolSource::kCapture,
               index);
  }
  int Saved(int index, int64_t columns) {
    return Add(SymbolKind::kRows, {columns}, SymbolSource::kSaved, index);
  }
  int View(int parent, int64_t offset, int64_t columns) {
    const int view = Rows(columns);
    program.symbols[view].parent = parent;
    program.symbols[view].offset = offset;
    return view;
  }

  // Names the node that was drawn last, and its outputs.
  void Name(const std::string& name) {
    program.nodes.back().name = name;
    for (int id : program.nodes.back().outputs) program.symbols[id].name = name;
  }

  int Node(NodeKind kind, std::vector<int> inputs, int output, int index = -1) {
    cavs::Node node;
    node.kind = kind;
    node.inputs = std::move(inputs);
    if (output >= 0) node.outputs = {output};
    node.index = index;
    program.nodes.push_back(std::move(node));
    return output;
  }

  int Gather(int slot, int64_t columns) {
    return Node(NodeKind::kGather, {}, Rows(columns), slot);
  }
  int Pull(int index, int64_t columns) {
    return Node(NodeKind::kPull, {}, Rows(columns), index);
  }
  int ScatterGrad(int64_t columns) {
    return Node(NodeKind::kScatterGrad, {}, Rows(columns));
  }
  int PushGrad(int index, int64_t columns) {
    return Node(NodeKind::kPushGrad, {}, Rows(columns), index);
  }
  void Scatter(int x) { Node(NodeKind::kScatter, {x}, -1); }
  void Push(int index, int x) { Node(NodeKind::kPush, {x}, -1, index); }
  void GatherGrad(int slot, int x) {
    Node(NodeKind::kGatherGrad, {x}, -1, slot);
  }
  void PullGrad(int index, int x) { Node(NodeKind::kPullGrad, {x}, -1, index); }

  int MatMul(int x, int w, bool transpose = false) {
    const int y = Rows(program.symbols[w].shape[transpose ? 0 : 1]);
    Node(NodeKind::kMatMul, {x, w}, y);
    program.nodes.back().transpose = transpose;
    return y;
  }
  int WeightGrad(int x, int y) {
    return Node(NodeKind::kWeightGrad, {x, y}, Sum({columns(x), columns(y)}));
  }
  int SumRows(int x) {
    return Node(NodeKind::kSumRows, {x}, Sum({columns(x)}));
  }
  int SumColumns(int x) { return Node(NodeKind::kSumColumns, {x}, Rows(1)); }
  // A row of `x` for each edge of its vertex.
  int Spread(int x) {
    return Node(NodeKind::kSpread, {x}, RowsIn(RowSpace::kEdges, columns(x)));
  }
  // The sum or maximum of the rows `x` of the edges of each vertex.
  int ReduceEdges(NodeKind kind, int x) {
    return Node(kind, {x}, RowsIn(RowSpace::kVertices, columns(x)));
  }
  int Zero(int64_t columns) { return Node(NodeKind::kZero, {}, Rows(columns)); }
  int Call(Elementwise op, int x) {
    Node(NodeKind::kElementwise, {x}, Rows(columns(x)));
    program.nodes.back().elementwise = op;
    return program.nodes.back().outputs[0];
  }
  int Call(Elementwise op, int x, int y) {
    Node(NodeKind::kElementwise, {x, y},
         Rows(columns(x) == 1 ? columns(y) : columns(x)));
    program.nodes.back().elementwise = op;
    return program.nodes.back().outputs[0];
  }
  // As lowering does: an operand with storage of its own becomes a view of the
  // result, any other is copied into it.
  int Concat(const std::vector<int>& operands) {
    int64_t total = 0;
    for (int id : operands) total += columns(id);
    const int whole = Rows(total);
    int64_t offset = 0;
    for (int id : operands) {
      Symbol& symbol = program.symbols[id];
      const int64_t width = symbol.columns();
      if (symbol.parent < 0 && symbol.source == SymbolSource::kNode) {
        symbol.parent = whole;
        symbol.offset = offset;
      } else {
        Node(NodeKind::kCopy, {id}, View(whole, offset, width));
      }
      offset += width;
    }
    return whole;
  }
  int Foreign(std::shared_ptr<ForeignOp> op, std::vector<int> inputs,
              int output) {
    Node(NodeKind::kForeign, std::move(inputs), output);
    program.nodes.back().foreign = std::move(op);
    return output;
  }

  int64_t columns(int id) const { return program.symbols[id].columns(); }

 private:
  int RowsIn(RowSpace of, int64_t columns) {
    const int id = Rows(columns);
    program.symbols[id].space = of;
    return id;
  }

  const DType dtype_;
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_IR_SKETCH_H_
