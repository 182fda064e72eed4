#include "cc/ir/passes/spread_products.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "cc/ir/passes/replacements.h"
#include "cc/ir/uses.h"

namespace cavs {
namespace {

// The node that writes all of `id`, and nothing else does; -1 if there is none.
int OnlyWriter(const Program& program, const Uses& uses, int id) {
  const std::vector<int> writers = uses.WritersOfAny(id);
  if (writers.size() != 1) return -1;
  const std::vector<int>& outputs = program.nodes[writers[0]].outputs;
  return outputs == std::vector<int>{id} ? writers[0] : -1;
}

// Adds a symbol with rows of vertices, like those of `like` otherwise.
int AddVertexRows(Program* program, int like) {
  Symbol rows = program->symbols[like];
  rows.space = RowSpace::kVertices;
  rows.source = SymbolSource::kNode;
  rows.shape = {rows.columns()};
  rows.parent = -1;
  rows.offset = 0;
  program->symbols.push_back(std::move(rows));
  return static_cast<int>(program->symbols.size()) - 1;
}

// A sum over the edges of each vertex, for `node`, which needs it.
Node SumOverEdges(const Node& node, int rows, int sum) {
  Node over_edges;
  over_edges.kind = NodeKind::kSumEdges;
  over_edges.name = node.name;
  over_edges.op = node.op;
  over_edges.stage = node.stage;
  over_edges.inputs = {rows};
  over_edges.outputs = {sum};
  return over_edges;
}

class ProductMover {
 public:
  explicit ProductMover(Program* program)
      : program_(*program), uses_(*program), replaced_(program) {}

  void Run() {
    const int count = static_cast<int>(program_.nodes.size());
    for (int i = 0; i < count; ++i) MultiplyBeforeSpread(i);
    for (int i = 0; i < count; ++i) MultiplyAfterSum(i);
    replaced_.Apply();
  }

 private:
  bool IsPlainProduct(int i) const {
    const Node& product = program_.nodes[i];
    return product.kind == NodeKind::kMatMul && product.inputs.size() == 2 &&
           !product.accumulate &&
           OnlyWriter(program_, uses_, product.outputs[0]) == i;
  }

  void MultiplyBeforeSpread(int i) {
    if (!IsPlainProduct(i)) return;
    Node product = program_.nodes[i];
    const int writer = OnlyWriter(program_, uses_, product.inputs[0]);
    if (writer < 0 || program_.nodes[writer].kind != NodeKind::kSpread) return;
    Node spread = program_.nodes[writer];
    const int rows = AddVertexRows(&program_, product.outputs[0]);
    uses_.Update(rows);
    spread.stage = product.stage;
    spread.outputs = product.outputs;
    product.inputs[0] = spread.inputs[0];
    product.outputs = {rows};
    spread.inputs = {rows};
    replaced_.Add(i, std::move(product));
    replaced_.Add(i, std::move(spread));
  }

  void MultiplyAfterSum(int i) {
    if (program_.nodes[i].kind != NodeKind::kSumEdges) return;
    const Node total = program_.nodes[i];
    const int products = total.inputs[0];
    const int writer = OnlyWriter(program_, uses_, products);
    if (writer < 0 || replaced_.Has(writer) || !IsPlainProduct(writer) ||
        uses_.ReadersOfAny(products) != std::vector<int>{i} ||
        uses_.IsResult(products)) {
      return;
    }
    Node product = program_.nodes[writer];
    const int sum = AddVertexRows(&program_, product.inputs[0]);
    uses_.Update(sum);
    replaced_.Add(i, SumOverEdges(total, product.inputs[0], sum));
    product.inputs[0] = sum;
    product.outputs = total.outputs;
    product.stage = total.stage;
    replaced_.Add(i, std::move(product));
  }

  Program& program_;
  Uses uses_;
  Replacements replaced_;
};

class SavedMover {
 public:
  SavedMover(Program* function, Program* derivative)
      : function_(*function),
        derivative_(*derivative),
        of_function_(*function),
        of_derivative_(*derivative),
        replaced_(derivative) {}

  void Run() {
    const int count = static_cast<int>(derivative_.symbols.size());
    for (int id = 0; id < count; ++id) SaveRows(id);
    replaced_.Apply();
  }

 private:
  // The rows that the function spreads to the edges that `saved` holds; -1 if
  // it does not, or if something else than weight gradients reads them.
  int RowsBefore(int saved) const {
    const Symbol& symbol = derivative_.symbols[saved];
    if (symbol.source != SymbolSource::kSaved || symbol.parent >= 0) return -1;
    const int writer =
        OnlyWriter(function_, of_function_, function_.results[symbol.index]);
    if (writer < 0 || function_.nodes[writer].kind != NodeKind::kSpread) {
      return -1;
    }
    const std::vector<int> readers = of_derivative_.ReadersOfAny(saved);
    const bool only_sums =
        std::all_of(readers.begin(), readers.end(), [&](int i) {
          const Node& node = derivative_.nodes[i];
          return node.kind == NodeKind::kWeightGrad &&
                 node.inputs[0] == saved && node.inputs[1] != saved;
        });
    return only_sums && !readers.empty() ? function_.nodes[writer].inputs[0]
                                         : -1;
  }

  // The symbol of the derivative that holds a value of the function, other than
  // `but`; -1 if there is none.
  int SavedAs(int value, int but) const {
    for (size_t id = 0; id < derivative_.symbols.size(); ++id) {
      const Symbol& symbol = derivative_.symbols[id];
      if (symbol.source == SymbolSource::kSaved && symbol.parent < 0 &&
          static_cast<int>(id) != but &&
          function_.results[symbol.index] == value) {
        return static_cast<int>(id);
      }
    }
    return -1;
  }

  void SaveRows(int saved) {
    const int rows = RowsBefore(saved);
    if (rows < 0) return;
    Symbol& symbol = derivative_.symbols[saved];
    function_.results[symbol.index] = rows;
    int known = SavedAs(rows, saved);
    if (known < 0) {
      for (int view : of_derivative_.overlaps().of(saved)) {
        derivative_.symbols[view].space = RowSpace::kVertices;
      }
      known = saved;
    } else {
      symbol.source = SymbolSource::kNode;  // Nothing reads it any more.
    }
    for (int i : of_derivative_.ReadersOfAny(saved)) SumFirst(i, known);
  }

  void SumFirst(int i, int rows) {
    Node weight_grad = derivative_.nodes[i];
    const int gradient = weight_grad.inputs[1];
    const int sum = AddVertexRows(&derivative_, gradient);
    replaced_.Add(i, SumOverEdges(weight_grad, gradient, sum));
    weight_grad.inputs = {rows, sum};
    replaced_.Add(i, std::move(weight_grad));
  }

  Program& function_;
  Program& derivative_;
  const Uses of_function_, of_derivative_;
  Replacements replaced_;
};

}  // namespace

void SpreadProducts(Program* program) { ProductMover(program).Run(); }

void SaveBeforeSpread(Program* function, Program* derivative) {
  SavedMover(function, derivative).Run();
}

}  // namespace cavs
