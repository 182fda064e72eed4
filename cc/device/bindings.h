// The memory that a program reads and writes in one step.
#ifndef CAVS_CC_DEVICE_BINDINGS_H_
#define CAVS_CC_DEVICE_BINDINGS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cc/base/span.h"
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

// Consecutive rows of one space.
struct SpaceRange {
  int64_t first = 0, count = 0;
  // The row with which the storage of each extent begins.
  int64_t origin[kNumStoredExtents] = {0, 0, 0, 0};
};

// The rows of a program that are evaluated together, and their edges: the rows
// of a task, or of a block of a chunk.
struct RowRange : SpaceRange {
  int64_t task = 0;           // The task, for critical nodes.
  int64_t childless_end = 0;  // Rows of the chunk before it have no children.
  bool childless = false;     // Whether it is a task without children.
  SpaceRange edges;
  // The edges of row r are [edge_splits[r], edge_splits[r + 1]). Null if edges
  // were not planned. Memory of the host.
  const int32_t* edge_splits = nullptr;

  const SpaceRange& of(RowSpace space) const {
    return space == RowSpace::kEdges ? edges : *this;
  }

  RowRange Rows(int64_t begin, int64_t end) const {
    RowRange rows = *this;
    rows.first += begin;
    rows.count = end - begin;
    rows.FindEdges();
    return rows;
  }

  // The i-th of n parts with about as many rows and edges each. Parts may be
  // empty.
  RowRange Part(int64_t i, int64_t n) const {
    return Rows(Boundary(i, n), Boundary(i + 1, n));
  }

  // The storage of values of this extent begins with these rows and edges.
  void BeginStorage(Extent extent) {
    origin[static_cast<int>(extent)] = first;
    edges.origin[static_cast<int>(extent)] = edges.first;
  }

  // Sets `edges` to the edges of the rows.
  void FindEdges() {
    if (edge_splits == nullptr) return;
    edges.first = edge_splits[first];
    edges.count = edge_splits[first + count] - edges.first;
  }

 private:
  // The number of rows before part i.
  int64_t Boundary(int64_t i, int64_t n) const {
    if (edges.count == 0) return count * i / n;
    const int64_t before = (count + edges.count) * i / n;
    int64_t low = 0, high = count;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const int64_t own = middle + edge_splits[first + middle] - edges.first;
      if (own < before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

// The memory of one symbol's value.
struct Slot {
  DynamicTensor rows;
  // If given, row i of the value is row index[i] of `rows`, where -1 is the row
  // of zeros before the first.
  const int32_t* index = nullptr;
  // The address of an invariant, or of a sum over rows. Views have none: see
  // Bindings::Dense().
  void* dense = nullptr;
  // An invariant as the framework's operators take it.
  std::shared_ptr<const TensorRef> tensor;
  void* terms = nullptr;  // Memory of a foreign operator's terms of a sum.
  std::vector<TensorRef> per_task;  // Opaque values; the framework's.
  bool zero_without_children = false;
  bool rounded_last = false;  // See Candidate.
};

// Lists of row numbers, in memory of the device: see TypeRows.
struct IndexLists {
  int64_t size = 0;
  const int32_t* vertex = nullptr;
  const int32_t* state_row = nullptr;
  const int32_t* child_rows = nullptr;
  // The state row of the child of each edge.
  const int32_t* edge_child = nullptr;
  // The row that each edge belongs to; and the edges of each row, as in
  // RowRange.
  const int32_t* edge_row = nullptr;
  const int32_t* edge_splits = nullptr;
  // LinkSame() of the child rows of each slot, and of those of edges. Only in
  // derivatives that add to the state's gradient, not where the host does.
  const int32_t* child_links = nullptr;
  const int32_t* edge_links = nullptr;

  const int32_t* child_row(int slot) const { return child_rows + slot * size; }
  const int32_t* child_link(int slot) const {
    return child_links + 2 * slot * size;
  }
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

// Everything that one program reads and writes in one step. A Run owns it, and
// may change it between chunks. All pointers except `rows` are to memory of the
// device.
struct Bindings {
  const TypeRows* rows = nullptr;
  IndexLists lists;
  // In a derivative, the gradient of the state. The row before the first is
  // zero.
  Block state;
  // The type of its elements. Usually it is the state's type. A gradient to
  // which several gathers add has SumType() of it, and its rows are rounded
  // when they are read.
  DType state_dtype = DType::kOther;
  // Whether no row of the state is gathered twice, so that derivatives write
  // the rows of its gradient and need not add to them.
  bool gathered_once = false;
  // Pulls and pushes; in a derivative, gradients of pushes and of pulls. The
  // lists give, for each of the program's rows, its row there; -1 if there is
  // none. A row of zeros precedes an input with such rows.
  Span<Block> inputs, outputs;
  Span<const int32_t*> input_rows, output_rows;
  std::vector<Slot> slots;  // Indexed by symbol.
  // Rows that the tape holds by an index, with the symbols into whose slots
  // they are copied before the program runs.
  std::vector<std::pair<int, ConstBlock>> copies;
  // By symbol, as nodes write it: whether terms of a sum over rows have been
  // added already, by this program or by another one that adds to it.
  std::vector<bool*> sum_begun;
  void* workspace = nullptr;
  ForeignRunner* foreign = nullptr;
  Tracer* tracer = nullptr;

  // The address of a value without rows.
  char* Dense(const Program& program, int id) const {
    int64_t offset;
    const int root = program.Root(id, &offset);
    return static_cast<char*>(slots[root].dense) +
           offset * static_cast<int64_t>(SizeOf(program.symbols[id].dtype));
  }
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_BINDINGS_H_
