// The child-sum Tree-LSTM of Tai et al. (2015), drawn by hand.
#ifndef CAVS_TESTS_CC_EXEC_TREE_LSTM_H_
#define CAVS_TESTS_CC_EXEC_TREE_LSTM_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/ir/program.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {

// Pulls `inputs` elements and pushes `units`; its state is (c, h), 2 * `units`
// elements. Its 12 captures are W, U and b of the gates i, o, u and f, in this
// order. `add` adds two sums over rows, as AddN of TensorFlow does; without it,
// the gradient of the last U is two results. A vertex has two children, or one,
// which makes it an LSTM.
class TreeLstm {
 public:
  static constexpr int kGates = 4;

  TreeLstm(DType dtype, int64_t inputs, int64_t units,
           std::shared_ptr<ForeignOp> add, int children = 2)
      : dtype_(dtype),
        inputs_(inputs),
        units_(units),
        add_(std::move(add)),
        children_(children) {}

  Program Forward() {
    Sketch f(dtype_);
    const auto name = [&f](int symbol, const char* text) {
      f.Name(text);
      return symbol;
    };
    int c[2], h[2], forget[2], kept[2];
    for (int k = 0; k < children_; ++k) {
      const int state = name(f.Gather(k, 2 * units_), "gather");
      c[k] = f.View(state, 0, units_);
      h[k] = f.View(state, units_, units_);
    }
    const int x = name(f.Pull(0, inputs_), "pull");
    int projected[kGates], u[kGates];
    for (int gate = 0; gate < kGates; ++gate) {
      const int w = f.Capture(3 * gate, {inputs_, units_});
      u[gate] = f.Capture(3 * gate + 1, {units_, units_});
      const int b = f.Capture(3 * gate + 2, {units_});
      const int xw = name(f.MatMul(x, w), "x W");
      projected[gate] = name(f.Call(Elementwise::kAdd, xw, b), "x W + b");
    }
    const int sum =
        children_ == 1 ? h[0]
                       : name(f.Call(Elementwise::kAdd, h[0], h[1]), "h0 + h1");
    const auto activate = [&](Elementwise op, int gate, int hidden) {
      const int hu = name(f.MatMul(hidden, u[gate]), "h U");
      const int z = name(f.Call(Elementwise::kAdd, hu, projected[gate]), "z");
      return name(f.Call(op, z), "gate");
    };
    const int i = activate(Elementwise::kSigmoid, 0, sum);
    const int o = activate(Elementwise::kSigmoid, 1, sum);
    const int update = activate(Elementwise::kTanh, 2, sum);
    for (int k = 0; k < children_; ++k) {
      forget[k] = activate(Elementwise::kSigmoid, 3, h[k]);
      kept[k] = name(f.Call(Elementwise::kMul, forget[k], c[k]), "f c");
    }
    const int iu = name(f.Call(Elementwise::kMul, i, update), "i u");
    int cell = iu;
    for (int k = 0; k < children_; ++k) {
      cell = name(f.Call(Elementwise::kAdd, cell, kept[k]), "c");
    }
    const int tanh = name(f.Call(Elementwise::kTanh, cell), "tanh c");
    const int hidden = name(f.Call(Elementwise::kMul, o, tanh), "h");
    f.Scatter(f.Concat({cell, hidden}));
    f.Name("scatter");
    f.Push(0, hidden);
    f.Name("push");
    std::vector<int>& results = f.program.results;
    results = {x, i, o, update, tanh};
    for (const int* const of_children : {forget, c, h}) {
      results.insert(results.end(), of_children, of_children + children_);
    }
    if (children_ > 1) results.push_back(sum);
    return std::move(f.program);
  }

  // Its weights are saved symbols too, behind the rows; see SaveWeights().
  Program Backward() {
    Sketch f(dtype_);
    const int rows = children_ == 1 ? 8 : 12;
    std::vector<int> saved;
    for (int s = 0; s < rows; ++s) {
      saved.push_back(f.Saved(s, s ? units_ : inputs_));
    }
    int w[kGates], u[kGates];
    for (int gate = 0; gate < kGates; ++gate) {
      w[gate] = Weight(&f, rows + 2 * gate, {inputs_, units_});
      u[gate] = Weight(&f, rows + 1 + 2 * gate, {units_, units_});
    }
    int dz[kGates + 1];  // Gradients of i, o, u, and both f.
    DrawStateGradients(&f, saved, u, dz);
    DrawResults(&f, saved, w, dz);
    return std::move(f.program);
  }

  // Puts W and U, which the derivative reads, on the tape, behind the rows.
  static void SaveWeights(Program* forward) {
    for (int gate = 0; gate < kGates; ++gate) {
      for (int which : {3 * gate, 3 * gate + 1}) {
        for (size_t id = 0; id < forward->symbols.size(); ++id) {
          const Symbol& symbol = forward->symbols[id];
          if (symbol.source == SymbolSource::kCapture &&
              symbol.index == which) {
            forward->results.push_back(static_cast<int>(id));
          }
        }
      }
    }
  }

 private:
  static int Named(Sketch* f, const char* text, int symbol) {
    f->Name(text);
    return symbol;
  }
  static int Add(Sketch* f, int a, int b, const char* text) {
    return Named(f, text, f->Call(Elementwise::kAdd, a, b));
  }
  static int Mul(Sketch* f, int a, int b, const char* text) {
    return Named(f, text, f->Call(Elementwise::kMul, a, b));
  }

  // Computes the gradients of both children's states from those of state and
  // push.
  void DrawStateGradients(Sketch* f, const std::vector<int>& saved,
                          const int* weights, int* dz) const {
    const int i = saved[1], o = saved[2], u = saved[3], tanh = saved[4];
    const int *forget = saved.data() + 5, *c = forget + children_;
    const int dstate = Named(f, "scatter grad", f->ScatterGrad(2 * units_));
    const int dpush = Named(f, "push grad", f->PushGrad(0, units_));
    const int dh = Add(f, f->View(dstate, units_, units_), dpush, "dh");
    const int dtanh = Mul(f, dh, o, "dtanh");
    const int through =
        Named(f, "through tanh", f->Call(Elementwise::kTanhGrad, tanh, dtanh));
    const int dc = Add(f, f->View(dstate, 0, units_), through, "dc");
    const auto gate = [&](Elementwise op, int y, int a, int b) {
      const int dy = Mul(f, a, b, "dgate");
      return Named(f, "dz", f->Call(op, y, dy));
    };
    dz[0] = gate(Elementwise::kSigmoidGrad, i, dc, u);
    dz[1] = gate(Elementwise::kSigmoidGrad, o, dh, tanh);
    dz[2] = gate(Elementwise::kTanhGrad, u, dc, i);
    int dsum = -1;
    for (int g = 0; g < 3; ++g) {
      const int part = Named(f, "dz U'", f->MatMul(dz[g], weights[g], true));
      dsum = dsum < 0 ? part : Add(f, dsum, part, "dh0 + dh1");
    }
    for (int k = 0; k < children_; ++k) {
      dz[3 + k] = gate(Elementwise::kSigmoidGrad, forget[k], dc, c[k]);
      const int part =
          Named(f, "dz U'", f->MatMul(dz[3 + k], weights[3], true));
      const int dck = Mul(f, dc, forget[k], "dck");
      const int dhk = Add(f, dsum, part, "dhk");
      f->GatherGrad(k, f->Concat({dck, dhk}));
      f->Name("gather grad");
    }
  }

  // Computes the gradients of the pull and of the captures.
  void DrawResults(Sketch* f, const std::vector<int>& saved, const int* w,
                   const int* dz) const {
    const bool one = children_ == 1;
    const int x = saved[0], *h = saved.data() + 5 + 2 * children_;
    const int sum = one ? h[0] : saved.back();
    const int df = one ? dz[3] : Add(f, dz[3], dz[4], "df0 + df1");
    const int all[] = {dz[0], dz[1], dz[2], df};
    int dx = -1;
    for (int gate = 0; gate < kGates; ++gate) {
      const int part = Named(f, "dz W'", f->MatMul(all[gate], w[gate], true));
      dx = dx < 0 ? part : Add(f, dx, part, "dx");
    }
    f->PullGrad(0, dx);
    f->Name("pull grad");
    for (int gate = 0; gate < kGates; ++gate) {
      const int dw = Named(f, "dW", f->WeightGrad(x, all[gate]));
      std::vector<int> du;
      if (gate < 3 || one) {
        du = {Named(f, "dU", f->WeightGrad(sum, all[gate]))};
      } else {
        du = {Named(f, "dU", f->WeightGrad(h[0], dz[3])),
              Named(f, "dU", f->WeightGrad(h[1], dz[4]))};
        if (add_ != nullptr) {
          du = {f->Foreign(add_, du, f->Sum({units_, units_}))};
          f->Name("dU0 + dU1");
          f->program.nodes.back().op = "AddN";
        }
      }
      const int db = Named(f, "db", f->SumRows(all[gate]));
      std::vector<int>& results = f->program.results;
      results.push_back(dw);
      results.insert(results.end(), du.begin(), du.end());
      results.push_back(db);
    }
  }

  static int Weight(Sketch* f, int saved, std::vector<int64_t> shape) {
    return f->Add(SymbolKind::kInvariant, std::move(shape),
                  SymbolSource::kSaved, saved);
  }

  const DType dtype_;
  const int64_t inputs_, units_;
  const std::shared_ptr<ForeignOp> add_;
  const int children_;
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_TREE_LSTM_H_
