// What a program reads and writes in one step, and where that lies.
#ifndef CAVS_CC_DEVICE_BINDINGS_H_
#define CAVS_CC_DEVICE_BINDINGS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/block.h"
#include "cc/device/dynamic_tensor.h"
#include "cc/device/stream.h"
#include "cc/device/tracer.h"
#include "cc/ir/foreign_op.h"
#include "cc/ir/placement.h"
#include "cc/ir/program.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// The rows of a program that are evaluated together: those of a task, or of a
// block of rows of a chunk.
struct RowRange {
  int64_t first = 0, count = 0;
  int64_t task = 0;  // Of critical nodes.
  // The row that storage of each extent begins with.
  int64_t origin[kNumStoredExtents] = {0, 0, 0, 0};
  int64_t childless_end = 0;  // Rows of the chunk before it have no children.
  bool childless = false;     // A task in which no row has a child.

  RowRange Rows(int64_t begin, int64_t end) const {
    RowRange rows = *this;
    rows.first += begin;
    rows.count = end - begin;
    return rows;
  }
};

// Where the value of one symbol lies.
struct Slot {
  DynamicTensor rows;
  // If given, row i is that row of `rows`, or of the row of zeros before it:
  // -1.
  const int32_t* index = nullptr;
  TensorRef dense;        // Invariants, and sums over rows.
  void* terms = nullptr;  // What a foreign operator adds to a sum, if need be.
  std::vector<TensorRef> per_task;  // Opaque values; the framework's.
  bool zero_without_children = false;
  bool rounded_last = false;  // As in Candidate.
};

// Lists of row numbers, in memory of the device: see TypeRows.
struct IndexLists {
  int64_t size = 0;
  const int32_t* vertex = nullptr;
  const int32_t* state_row = nullptr;
  const int32_t* child_rows = nullptr;

  const int32_t* child_row(int slot) const { return child_rows + slot * size; }
};

// Runs the nodes that a device has no kernels for.
//
// Thread safety: nodes of different stages may run at the same time.
class ForeignRunner {
 public:
  virtual ~ForeignRunner() = default;
  virtual Status Run(const Node& node, const RowRange& rows,
                     Stream* stream) = 0;
};

// Everything that one program touches in one step. What it points to is memory
// of the device, but for `rows`.
struct Bindings {
  const TypeRows* rows = nullptr;
  IndexLists lists;
  // In a derivative, the gradient of the state. The row before the first is
  // zero.
  Block state;
  // No row of the state is gathered twice: what derivatives would add to its
  // gradient is all there is.
  bool gathered_once = false;
  // Pulls and pushes; in a derivative, gradients of pushes and of pulls. Of
  // each, which of its rows the program's rows are; -1: none. Before an input
  // with such rows there is a row of zeros.
  std::vector<Block> inputs, outputs;
  std::vector<const int32_t*> input_rows, output_rows;
  std::vector<Slot> slots;  // By symbol.
  // Rows that the tape has by an index, and that are copied into slots first.
  std::vector<std::pair<int, ConstBlock>> copies;
  // By symbol, as nodes write it: is there a sum over rows to add to?
  std::vector<char> sum_begun;
  void* workspace = nullptr;
  ForeignRunner* foreign = nullptr;
  Tracer* tracer = nullptr;

  // Where a row-free value begins.
  char* Dense(const Program& program, int id) const {
    int64_t offset;
    const int root = program.Root(id, &offset);
    return static_cast<char*>(slots[root].dense.data) +
           offset * static_cast<int64_t>(SizeOf(program.symbols[id].dtype));
  }
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_BINDINGS_H_
