// A vertex function with a gate for each of many children.
#ifndef CAVS_TESTS_CC_EXEC_GATED_SLOTS_H_
#define CAVS_TESTS_CC_EXEC_GATED_SLOTS_H_

#include <cstdint>
#include <utility>

#include "cc/ir/program.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {

// c = the sum of sigmoid(h_k U_k + x W_k) * c_k over all slots k, of 7 nodes
// each.
inline Program GatedSlots(int slots) {
  constexpr int64_t kUnits = 64;
  Sketch f;
  const int x = f.Pull(0, kUnits);
  int sum = x;
  for (int k = 0; k < slots; ++k) {
    const int state = f.Gather(k, 2 * kUnits);
    const int c = f.View(state, 0, kUnits), h = f.View(state, kUnits, kUnits);
    const int hu = f.MatMul(h, f.Capture(2 * k, {kUnits, kUnits}));
    const int xw = f.MatMul(x, f.Capture(2 * k + 1, {kUnits, kUnits}));
    const int gate =
        f.Call(Elementwise::kSigmoid, f.Call(Elementwise::kAdd, hu, xw));
    sum = f.Call(Elementwise::kAdd, sum, f.Call(Elementwise::kMul, gate, c));
    f.program.results.push_back(gate);
  }
  f.Scatter(f.Concat({sum, f.Call(Elementwise::kTanh, sum)}));
  f.Push(0, sum);
  return std::move(f.program);
}

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_GATED_SLOTS_H_
