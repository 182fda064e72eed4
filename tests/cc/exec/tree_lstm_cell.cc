#include "tests/cc/exec/tree_lstm_cell.h"

#include "tests/cc/exec/drawn_op.h"
#include "tests/cc/exec/tree_lstm.h"

namespace cavs {

Cell TreeLstmCell(DType dtype, int64_t inputs, int64_t units, int children) {
  TreeLstm lstm(dtype, inputs, units, AddOp(), children);
  Cell cell;
  cell.dtype = dtype;
  cell.arity = children;
  cell.state_columns = 2 * units;
  cell.pulls = {inputs};
  cell.pushes = {units};
  cell.forward = {lstm.Forward()};
  cell.backward = {lstm.Backward()};
  TreeLstm::SaveWeights(&cell.forward[0]);
  cell.captures.emplace_back();
  for (int gate = 0; gate < TreeLstm::kGates; ++gate) {
    cell.captures[0].insert(cell.captures[0].end(),
                            {{inputs, units}, {units, units}, {units}});
  }
  return cell;
}

}  // namespace cavs
