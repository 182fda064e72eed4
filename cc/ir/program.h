// A vertex function `F`, or its derivative, as the executor runs it.
#ifndef CAVS_CC_IR_PROGRAM_H_
#define CAVS_CC_IR_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/ir/elementwise_group.h"
#include "cc/ir/foreign_op.h"
#include "cc/ir/operators.h"

namespace cavs {

// The kind of value that a symbol holds. It decides how long the value lives.
enum class SymbolKind : uint8_t {
  kRows,  // One row per vertex, or per edge: a dynamic tensor.
  // The same for every vertex: a capture, a constant, or computed from those
  // alone.
  kInvariant,
  kReduced,   // A sum over all vertices (the gradient of a capture).
  kRowCount,  // Integers that are affine in the number of rows of a run.
  // Depends on the rows but has no row per vertex (a list of tensors, say): one
  // value per task, never split or joined.
  kOpaque,
};

// Whether a symbol has a row for each vertex or for each edge.
enum class RowSpace : uint8_t {
  kVertices,
  // The edges from vertices to their children. Edges of one vertex are
  // adjacent.
  kEdges,
};
constexpr int kNumRowSpaces = 2;

// Where the value of a symbol that no node computes comes from.
enum class SymbolSource : uint8_t { kNode, kCapture, kConstant, kSaved };

struct Symbol {
  std::string name;
  DType dtype = DType::kOther;
  SymbolKind kind = SymbolKind::kRows;
  RowSpace space = RowSpace::kVertices;  // For kRows and kRowCount.
  SymbolSource source = SymbolSource::kNode;
  // Number of the capture, or of the saved symbol of the forward tape.
  int index = -1;

  // The shape of one row for kRows; of the whole value for kInvariant and
  // kReduced.
  std::vector<int64_t> shape;
  // May be false for invariant and opaque symbols only.
  bool shape_known = true;

  // A view: `columns()` elements of each row of symbol `parent`, from `offset`.
  int parent = -1;
  int64_t offset = 0;
  // A view of columns of an invariant matrix, which only products read: the
  // elements between the beginnings of two of its rows. 0: rows are adjacent.
  int64_t pitch = 0;

  // The value, if the source is kConstant.
  std::shared_ptr<const TensorRef> constant;
  // For kRowCount, element i is scale[i] * rows + bias[i]. Never stored.
  std::vector<int64_t> scale, bias;

  int64_t columns() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
  // The elements from the first to the last.
  int64_t extent() const {
    return pitch == 0 ? columns() : (shape[0] - 1) * pitch + shape[1];
  }
  // Of a matrix: the elements between the beginnings of two rows.
  int64_t row_pitch() const { return pitch == 0 ? shape[1] : pitch; }
};

// When a node runs (arXiv:1712.04048, Proposition 2).
enum class Stage : uint8_t {
  kPrologue,  // Once, before the first row: depends on no row.
  kEager,     // Over all rows before the first task.
  kCritical,  // Task by task.
  kLazy,      // Over all rows after the last task.
  kEpilogue,  // Once, after the last row: needs finished sums over rows.
};
constexpr int kNumStages = 5;

struct Node {
  NodeKind kind = NodeKind::kForeign;
  std::string name;   // In the traced function.
  std::string op;     // The framework's name of the operator.
  std::string label;  // Description for people: see Label().
  std::vector<int> inputs, outputs;
  Elementwise elementwise = Elementwise::kIdentity;
  bool transpose = false;
  bool accumulate = false;
  bool adds = false;  // kForeign: whether the result is the sum of the inputs.
  bool pure = false;  // kForeign: whether it may be left out where unread.
  // Slot of a gather of vertex rows; number of a pull or push.
  int index = -1;
  // kMatMul: the names of the products that were merged into this one.
  std::vector<std::string> merged;
  // kGroup: the operators, the kernel that computes them, and the symbols of
  // the kernel's operands. Operands that are written are also outputs, the
  // others inputs.
  std::vector<Node> members;
  ElementwiseGroup group;
  std::vector<int> operands;
  std::shared_ptr<ForeignOp> foreign;
  Stage stage = Stage::kCritical;
};

// Immutable once compiled; any number of runs may share it. Several nodes may
// write one symbol (to add to it, say), but no node writes a symbol that an
// earlier node has read.
struct Program {
  std::string name;  // Name of the traced function.
  bool is_derivative = false;
  std::vector<Symbol> symbols;
  std::vector<Node> nodes;  // In topological order.
  // F: the forward symbols that the derivative reads, in tape order.
  // Derivative: the gradients of the captures.
  std::vector<int> results;

  // The symbol in whose storage `symbol` lies; *offset is where in its rows.
  int Root(int symbol, int64_t* offset) const {
    *offset = 0;
    while (symbols[symbol].parent >= 0) {
      *offset += symbols[symbol].offset;
      symbol = symbols[symbol].parent;
    }
    return symbol;
  }
};

// The space of the rows that a node works on: that of its output, or of its
// input if it moves rows out or sums over them.
inline RowSpace SpaceOf(const Program& program, const Node& node) {
  const bool reads = node.outputs.empty() || SumsRows(node.kind);
  const std::vector<int>& ids = reads ? node.inputs : node.outputs;
  return ids.empty() ? RowSpace::kVertices : program.symbols[ids[0]].space;
}

const char* ToString(Stage stage);

}  // namespace cavs

#endif  // CAVS_CC_IR_PROGRAM_H_
