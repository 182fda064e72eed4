// A vertex function `F`, or its derivative, as the executor runs it.
#ifndef CAVS_CC_IR_PROGRAM_H_
#define CAVS_CC_IR_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/ir/elementwise.h"
#include "cc/ir/foreign_op.h"

namespace cavs {

// What one symbol holds, and so how long it lives.
enum class SymbolKind : uint8_t {
  kRows,       // One row per vertex: a dynamic tensor.
  kInvariant,  // The same for every vertex: a capture, a constant, or computed
               // from those alone.
  kReduced,    // A sum over all vertices (the gradient of a capture).
  kRowCount,   // Integers that are affine in the number of rows at hand.
  kOpaque,     // Depends on the rows but has no row per vertex (a list of
               // tensors, say): one value per task, never split or joined.
};

// Where the value of a symbol that no node computes comes from.
enum class SymbolSource : uint8_t { kNode, kCapture, kConstant, kSaved };

struct Symbol {
  std::string name;
  DType dtype = DType::kOther;
  SymbolKind kind = SymbolKind::kRows;
  SymbolSource source = SymbolSource::kNode;
  int index = -1;  // Which capture, or which saved symbol of the forward tape.

  // kRows: the shape of one row. kInvariant, kReduced: of the whole.
  std::vector<int64_t> shape;
  bool shape_known = true;  // Only invariants and opaque values may not know.

  // A view: `columns()` elements of each row of symbol `parent`, from `offset`.
  int parent = -1;
  int64_t offset = 0;

  // kConstant: its value.
  std::shared_ptr<const TensorRef> constant;
  // kRowCount: element i is scale[i] * rows + bias[i]. Never stored.
  std::vector<int64_t> scale, bias;

  int64_t columns() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
};

// When a node runs (arXiv:1712.04048, Proposition 2).
enum class Stage : uint8_t {
  kPrologue,  // Once: no row is involved.
  kEager,     // Over all rows before the first task.
  kCritical,  // Task by task.
  kLazy,      // Over all rows after the last task.
  kEpilogue,  // Once: needs finished sums over rows.
};
constexpr int kNumStages = 5;

struct Node {
  NodeKind kind = NodeKind::kForeign;
  std::string name;   // In the traced function.
  std::string op;     // The framework's name of the operator.
  std::string label;  // In words: see Label().
  std::vector<int> inputs, outputs;
  Elementwise elementwise = Elementwise::kIdentity;
  bool transpose = false;
  bool accumulate = false;
  bool adds = false;  // kForeign: is the result the sum of its inputs?
  int index = -1;     // Slot of a gather; number of a pull or push.
  // kMatMul: the names of the products that became part of this one.
  std::vector<std::string> merged;
  // kGroup: what it computes, and the symbols that its operands are. Those that
  // are written are outputs too, the others inputs.
  std::vector<Node> members;
  ElementwiseGroup group;
  std::vector<int> operands;
  std::shared_ptr<ForeignOp> foreign;
  Stage stage = Stage::kCritical;
};

// Immutable once compiled; any number of runs may share it. Several nodes may
// write one symbol (to add to it, say), but none writes what another has read.
struct Program {
  std::string name;  // Of the traced function.
  bool is_derivative = false;
  std::vector<Symbol> symbols;
  std::vector<Node> nodes;  // In topological order.
  // F: the forward symbols that the derivative reads, in tape order.
  // Derivative: the gradients of the captures.
  std::vector<int> results;

  // The symbol whose storage `symbol` is a view of, and where in its rows.
  int Root(int symbol, int64_t* offset) const {
    *offset = 0;
    while (symbols[symbol].parent >= 0) {
      *offset += symbols[symbol].offset;
      symbol = symbols[symbol].parent;
    }
    return symbol;
  }
};

const char* ToString(Stage stage);

}  // namespace cavs

#endif  // CAVS_CC_IR_PROGRAM_H_
