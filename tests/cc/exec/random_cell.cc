#include "tests/cc/exec/random_cell.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/cc/exec/drawn_op.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// Adds random operators to a program. Numbers stay of order one.
class RandomProgram {
 public:
  RandomProgram(Sketch* sketch, std::mt19937* random)
      : f_(*sketch), random_(*random) {}

  // Operands that operators of vertices may read: rows, weights, and opaque
  // values; and the rows and opaque values of edges.
  std::vector<int> rows, weights, opaques, edge_rows, edge_opaques;

  // Draws what reads `edge_rows` as it would what reads `rows`.
  template <typename Draw>
  auto OnEdges(Draw draw) {
    const auto swap = [this](RowSpace space) {
      rows.swap(edge_rows);
      opaques.swap(edge_opaques);
      columns_of_opaque_.swap(columns_of_edge_opaque_);
      f_.space = space;
    };
    swap(RowSpace::kEdges);
    auto result = draw();
    swap(RowSpace::kVertices);
    return result;
  }

  // A number in [0, n); 0 if n is 0.
  int Pick(int n) { return n == 0 ? 0 : static_cast<int>(random_() % n); }
  int PickRows() { return rows[Pick(static_cast<int>(rows.size()))]; }

  // A weight of shape [k, n], or -1 if there is none.
  int FindWeight(int64_t k, int64_t n) {
    for (int w : weights) {
      if (f_.program.symbols[w].shape == std::vector<int64_t>{k, n}) return w;
    }
    return -1;
  }

  // A new symbol with rows of `columns` columns, of order one.
  int Fit(int64_t columns) {
    int x = PickRows();
    while (f_.columns(x) < columns) x = f_.Concat({x, PickRows()});
    if (f_.columns(x) > columns) {
      x = f_.View(x, Pick(f_.columns(x) - columns + 1), columns);
    }
    return f_.Call(Elementwise::kTanh, x);
  }

  // A symbol with rows of that width that is pulled, gathered or a view; else
  // the same as Fit().
  int FitRaw(int64_t columns) {
    std::vector<int> found;
    for (int x : rows) {
      if (f_.columns(x) == columns) found.push_back(x);
    }
    if (found.empty() || Pick(2)) return Fit(columns);
    return found[Pick(static_cast<int>(found.size()))];
  }

  // Adds the gradients of two equal products x W, one of which is that of W.
  int AddGradientOfEqualProducts() {
    const int w = PickWeight();
    const int64_t height = f_.program.symbols[w].shape[0];
    const int64_t width = f_.program.symbols[w].shape[1];
    const int x = Fit(height), a = FitRaw(width), b = FitRaw(width);
    const int sum =
        f_.Foreign(AddOp(), {f_.WeightGrad(x, a), f_.WeightGrad(x, b)},
                   f_.Sum({height, width}));
    f_.program.nodes.back().op = "AddN";
    f_.program.nodes.back().adds = true;
    rows.push_back(f_.Call(Elementwise::kAdd, f_.MatMul(a, w, true),
                           f_.MatMul(b, w, true)));
    return sum;
  }

  // Adds an operator of vertices, of edges, or one that leads from one to the
  // other.
  void AddOperator() {
    if (edge_rows.empty() || Pick(2)) return AddOperatorOfRows();
    const int x = edge_rows[Pick(static_cast<int>(edge_rows.size()))];
    switch (Pick(4)) {
      case 0:
        edge_rows.push_back(f_.Spread(PickRows()));
        return;
      case 1:
        rows.push_back(f_.Call(Elementwise::kTanh,
                               f_.ReduceEdges(NodeKind::kSumEdges, x)));
        return;
      case 2:
        rows.push_back(f_.ReduceEdges(NodeKind::kMaxEdges, x));
        return;
      default:
        OnEdges([this] {
          AddOperatorOfRows();
          return 0;
        });
    }
  }

 private:
  void AddOperatorOfRows() {
    const int x = PickRows();
    const int64_t columns = f_.columns(x);
    switch (Pick(13)) {
      case 0:
        rows.push_back(
            f_.Call(Pick(2) ? Elementwise::kSigmoid : Elementwise::kNeg, x));
        return;
      case 1:
        rows.push_back(
            f_.Call(Pick(2) ? Elementwise::kMul : Elementwise::kMaximum, x,
                    Fit(columns)));
        return;
      case 2:  // A single column is broadcast.
        rows.push_back(f_.Call(Elementwise::kMul, x, Fit(1)));
        return;
      case 3:
        rows.push_back(
            f_.View(x, Pick(columns), std::min<int64_t>(columns, 1)));
        return;
      case 4:
        rows.push_back(f_.Concat({x, PickRows(), x}));
        return;
      case 5:
        rows.push_back(f_.Call(Elementwise::kTanh, f_.SumColumns(x)));
        return;
      case 6:
        return AddInPlace(columns);
      case 7:
        return AddRunningSum(x);
      case 8:
        return AddOpaque(x);
      case 9:
        return AddGates();
      case 10:
        return AddSumOfProducts();
      case 11:
        return AddSplit();
      default:
        return AddProduct();
    }
  }

  void AddInPlace(int64_t columns) {
    const int sum = f_.Call(Elementwise::kSub, Fit(columns), Fit(columns));
    f_.Node(NodeKind::kElementwise, {sum, Fit(columns)}, sum);
    f_.program.nodes.back().elementwise = Elementwise::kAdd;
    rows.push_back(sum);
  }

  // Drawn operators cannot tell rows without elements from values without rows.
  void AddRunningSum(int x) {
    if (f_.columns(x) == 0) return;
    rows.push_back(f_.Foreign(RunningSumOp(), {x}, f_.Rows(f_.columns(x))));
  }

  void AddOpaque(int x) {
    // They are rare, because they restrict what passes may do around them.
    if (Pick(3) != 0) return;
    if (f_.columns(x) == 0) return;
    if (opaques.empty() || Pick(2) == 0) {
      opaques.push_back(f_.Foreign(CopyOp(), {x}, f_.Opaque()));
      columns_of_opaque_.push_back(f_.columns(x));
    } else if (opaques.size() == columns_of_opaque_.size()) {
      const int i = Pick(static_cast<int>(opaques.size()));
      rows.push_back(
          f_.Foreign(CopyOp(), {opaques[i]}, f_.Rows(columns_of_opaque_[i])));
    }
  }

  // A weight of two dimensions.
  int PickWeight() {
    for (;;) {
      const int w = weights[Pick(static_cast<int>(weights.size()))];
      if (f_.program.symbols[w].shape.size() == 2) return w;
    }
  }

  // The product of random rows and `w`, or its transpose.
  int Product(int w, bool transpose = false) {
    const int64_t depth = f_.program.symbols[w].shape[transpose ? 1 : 0];
    return f_.MatMul(Fit(depth), w, transpose);
  }

  // Adds products of one operand; other operators read some of these directly.
  void AddGates() {
    const int w = PickWeight();
    const bool transpose = Pick(2);
    const int x = Fit(f_.program.symbols[w].shape[transpose ? 1 : 0]);
    std::vector<int> gates;
    const int count = 2 + Pick(3);
    for (int i = 0; i < count; ++i) gates.push_back(f_.MatMul(x, w, transpose));
    for (int gate : gates) {
      int y = gate;
      if (Pick(3)) y = f_.Call(Elementwise::kAdd, y, Product(w, transpose));
      rows.push_back(f_.Call(Elementwise::kTanh, y));
    }
  }

  // Adds a sum of products of either operand; another operator may read one of
  // the terms.
  void AddSumOfProducts() {
    const int w = PickWeight();
    const bool transpose = Pick(2);
    int sum = Product(w, transpose);
    if (Pick(4) == 0) rows.push_back(f_.Call(Elementwise::kTanh, sum));
    const int count = 1 + Pick(3);
    for (int i = 0; i < count; ++i) {
      const int term = Pick(3) ? Product(w, transpose) : Fit(f_.columns(sum));
      sum = Pick(2) ? f_.Call(Elementwise::kAdd, sum, term)
                    : f_.Call(Elementwise::kAdd, term, sum);
    }
    rows.push_back(f_.Call(Elementwise::kTanh, sum));
  }

  // Adds wide rows that are read through views.
  void AddSplit() {
    const int views = 2 + Pick(2);
    const int64_t width = f_.columns(PickRows());
    int z = f_.Call(Elementwise::kSub, Fit(views * width), Fit(views * width));
    if (Pick(2)) z = f_.Call(Elementwise::kMul, z, Fit(1));
    std::vector<int> readers;
    for (int i = 0; i < views; ++i) {
      readers.push_back(
          f_.Call(Elementwise::kTanh, f_.View(z, i * width, width)));
    }
    rows.push_back(f_.Call(Elementwise::kMul, readers[0], readers[1]));
    rows.push_back(Pick(2) ? f_.View(z, Pick(width), width) : readers.back());
  }

  void AddProduct() {
    const int w = weights[Pick(static_cast<int>(weights.size()))];
    const std::vector<int64_t> shape = f_.program.symbols[w].shape;
    if (shape.size() == 1) {
      rows.push_back(f_.Call(Elementwise::kAdd, Fit(shape[0]), w));
    } else {
      const bool transpose = Pick(2);
      const int y = f_.MatMul(Fit(shape[transpose ? 1 : 0]), w, transpose);
      rows.push_back(f_.Call(Elementwise::kTanh, y));
    }
  }

  Sketch& f_;
  std::mt19937& random_;
  std::vector<int64_t> columns_of_opaque_, columns_of_edge_opaque_;
};

// Puts random symbols of F on the tape, and returns them in the order of the
// tape.
std::vector<int> SaveSome(RandomProgram* draw, Program* program) {
  std::vector<int> saved;
  for (int i = 0; i < 4; ++i) saved.push_back(draw->PickRows());
  saved.push_back(saved[0]);  // The same symbol twice.
  saved.insert(saved.end(), draw->weights.begin(), draw->weights.end());
  saved.insert(saved.end(), draw->opaques.begin(), draw->opaques.end());
  saved.insert(saved.end(), draw->edge_opaques.begin(),
               draw->edge_opaques.end());
  if (!draw->edge_rows.empty()) {
    saved.push_back(draw->edge_rows[0]);  // Pulled: it has columns.
    saved.push_back(draw->OnEdges([&] { return draw->PickRows(); }));
  }
  program->results = saved;
  return saved;
}

Program RandomForward(const Cell& cell, int type, std::mt19937* random) {
  Sketch f(cell.dtype);
  RandomProgram draw(&f, random);
  for (int k = 0; k < cell.arity; ++k) {
    draw.rows.push_back(f.Gather(k, cell.state_columns));
  }
  for (int i = 0; i < static_cast<int>(cell.pulls.size()); ++i) {
    const bool of_edges = cell.edge_pulls.count(i) > 0;
    f.space = of_edges ? RowSpace::kEdges : RowSpace::kVertices;
    (of_edges ? draw.edge_rows : draw.rows).push_back(f.Pull(i, cell.pulls[i]));
  }
  if (cell.edges) {
    f.space = RowSpace::kEdges;
    draw.edge_rows.push_back(f.Gather(-1, cell.state_columns));
  }
  f.space = RowSpace::kVertices;
  for (size_t i = 0; i < cell.captures[type].size(); ++i) {
    draw.weights.push_back(f.Capture(i, cell.captures[type][i]));
  }
  const int bias = draw.weights.back();  // Computed in the prologue.
  draw.weights.push_back(f.Foreign(RunningSumOp(), {bias},
                                   f.Invariant(f.program.symbols[bias].shape)));
  const int count = 3 + draw.Pick(15);
  for (int i = 0; i < count; ++i) draw.AddOperator();
  // Type 1 does not push the last output.
  for (size_t i = 0; i < cell.pushes.size() - (type == 1); ++i) {
    f.Push(i, draw.FitRaw(cell.pushes[i]));
  }
  f.Scatter(draw.FitRaw(cell.state_columns));
  SaveSome(&draw, &f.program);
  return std::move(f.program);
}

// A random program that could be a derivative; it is not that of `forward`.
Program RandomBackward(const Cell& cell, int type, const Program& forward,
                       std::mt19937* random) {
  Sketch f(cell.dtype);
  RandomProgram draw(&f, random);
  draw.rows.push_back(f.ScatterGrad(cell.state_columns));
  for (size_t i = 0; i < cell.pushes.size() - (type == 1); ++i) {
    draw.rows.push_back(f.PushGrad(i, cell.pushes[i]));
  }
  for (size_t i = 0; i < forward.results.size(); ++i) {
    const Symbol& from = forward.symbols[forward.results[i]];
    f.space = from.space;
    const int saved =
        f.Add(from.kind, from.shape, SymbolSource::kSaved, static_cast<int>(i));
    const bool of_edges = from.space == RowSpace::kEdges;
    (from.kind == SymbolKind::kRows ? (of_edges ? draw.edge_rows : draw.rows)
     : from.kind == SymbolKind::kOpaque
         ? (of_edges ? draw.edge_opaques : draw.opaques)
         : draw.weights)
        .push_back(saved);
  }
  f.space = RowSpace::kVertices;
  const int count = 3 + draw.Pick(15);
  const int of_equal = draw.AddGradientOfEqualProducts();
  for (int i = 0; i < count; ++i) draw.AddOperator();
  for (int k = 0; k < cell.arity; ++k) {
    if (draw.Pick(4) > 0) f.GatherGrad(k, draw.FitRaw(cell.state_columns));
  }
  if (draw.Pick(4) == 0) f.GatherGrad(0, draw.Fit(cell.state_columns));
  for (int i = 0; i < static_cast<int>(cell.pulls.size()); ++i) {
    const auto fit = [&] { return draw.FitRaw(cell.pulls[i]); };
    f.PullGrad(i, cell.edge_pulls.count(i) > 0 ? draw.OnEdges(fit) : fit());
  }
  if (cell.edges && draw.Pick(4) > 0) {
    f.GatherGrad(-1,
                 draw.OnEdges([&] { return draw.FitRaw(cell.state_columns); }));
  }
  std::vector<int>& results = f.program.results;
  const int x = draw.PickRows(), y = draw.PickRows();
  results = {f.WeightGrad(x, y), f.SumRows(x), of_equal};
  results.push_back(f.Foreign(RunningSumOp(), {y}, f.Sum({f.columns(y)})));
  const int other = f.SumRows(f.Call(Elementwise::kTanh, x));
  results.push_back(f.Foreign(AddOp(), {results[1], other},
                              f.Sum({f.columns(x)})));  // In the epilogue.
  f.program.nodes.back().op = "AddN";
  results.push_back(results[1]);  // The same result twice.
  const int reshaped = f.Sum({1, f.columns(x)});
  f.program.symbols[reshaped].parent = results[1];
  results.push_back(reshaped);
  // Adds to a result.
  f.Node(NodeKind::kSumRows, {draw.Fit(f.columns(x))}, results[1]);
  const int64_t height = f.columns(x), width = f.columns(y);
  std::vector<int> terms = {f.WeightGrad(x, y),
                            f.WeightGrad(draw.Fit(height), y)};
  if (height * width < 500 && draw.Pick(2)) {
    terms.push_back(f.Node(NodeKind::kSumRows, {draw.Fit(height * width)},
                           f.Sum({height, width})));
  }
  if (draw.Pick(4) == 0) results.push_back(terms[draw.Pick(2)]);
  results.push_back(f.Foreign(AddOp(), terms, f.Sum({height, width})));
  f.program.nodes.back().op = "AddN";
  f.program.nodes.back().adds = true;
  if (cell.edges) {
    const std::vector<int> sums = draw.OnEdges([&] {
      const int x = draw.PickRows(), y = draw.Fit(4);
      return std::vector<int>{f.WeightGrad(x, y), f.SumRows(y),
                              draw.AddGradientOfEqualProducts()};
    });
    results.insert(results.end(), sums.begin(), sums.end());
  }
  return std::move(f.program);
}

}  // namespace

Cell RandomCell(DType dtype, int num_types, std::mt19937* random,
                int64_t unit) {
  Cell cell;
  cell.dtype = dtype;
  cell.arity = 1 + (*random)() % 3;
  cell.state_columns = unit * (1 + (*random)() % (unit > 1 ? 3 : 9));
  if ((*random)() % 8 == 0) cell.state_columns = 0;
  cell.pulls = {3 * unit, 5 * unit, 1};
  cell.pushes = {2 * unit, 1, 4 * unit};
  if ((*random)() % 2) {
    cell.pulls.push_back(0);
    cell.pushes.insert(cell.pushes.begin(), 0);
  }
  cell.edges = (*random)() % 2 == 0;
  if (cell.edges) {
    cell.edge_pulls.insert(static_cast<int>(cell.pulls.size()));
    cell.pulls.push_back(2 * unit);
  }
  for (int type = 0; type < num_types; ++type) {
    cell.captures.push_back(
        {{4 * unit, 3 * unit}, {unit, (unit > 1 ? 2 : 20) * unit}, {unit}});
    cell.forward.push_back(RandomForward(cell, type, random));
    cell.backward.push_back(
        RandomBackward(cell, type, cell.forward.back(), random));
  }
  return cell;
}

}  // namespace cavs
