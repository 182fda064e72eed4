// The Tree-LSTM of tree_lstm.h as a cell to experiment with.
#ifndef CAVS_TESTS_CC_EXEC_TREE_LSTM_CELL_H_
#define CAVS_TESTS_CC_EXEC_TREE_LSTM_CELL_H_

#include <cstdint>

#include "tests/cc/exec/cell.h"

namespace cavs {

Cell TreeLstmCell(DType dtype, int64_t inputs, int64_t units, int children = 2);

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_TREE_LSTM_CELL_H_
