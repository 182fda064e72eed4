// One program bound to the storage of one step.
#ifndef CAVS_CC_EXEC_PROGRAM_RUN_H_
#define CAVS_CC_EXEC_PROGRAM_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cpu/backend.h"
#include "cc/device/cpu/workers.h"
#include "cc/device/tracer.h"
#include "cc/engine/engine.h"
#include "cc/exec/dynamic_tensor.h"
#include "cc/exec/guards.h"
#include "cc/exec/memory_need.h"
#include "cc/exec/storage_pool.h"
#include "cc/ir/compiled_program.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// Who computes, for one call of an op.
struct Environment {
  // Its kernels share out their own work.
  const Backend* backend = nullptr;
  // Where the executor shares out the work itself: who does it, and with what
  // kernels, which stay on the thread that calls them. Both or neither.
  Workers* workers = nullptr;
  const Backend* serial = nullptr;
  // An op that takes one worker no longer than this calls no other: a thread
  // that sleeps takes about 100 us to come.
  double nanos_to_call = 300000;
  // Work that takes one worker no longer than this is not shared out.
  double nanos_to_share = 4000;
  // Eager and lazy stages run over as many rows at a time as fit into half of
  // the cache that a worker has to itself; but fewer than this would not pay
  // for reading and writing the sums that they add to.
  size_t cache_bytes = 1 << 20;
  int64_t fewest_rows = 256;
  // With two streams: to run eager and lazy operators beside the critical ones.
  // Null: one after the other.
  engine::Engine* engine = nullptr;
  StoragePool* pool = nullptr;
  void* host = nullptr;             // Handed to foreign operators.
  std::function<bool()> cancelled;  // Asked between tasks; may be empty.
  // How many bytes the system could still give, asked before the pool grows.
  // Empty: enough.
  std::function<size_t()> available_memory;
  Tracer* tracer = nullptr;  // Told what runs; may be null.
  // The guard zones of this call; null: there are none. Set by the executor.
  Guards* guards = nullptr;
};

// The value of one symbol: rows, one tensor, or one opaque value per task.
struct Value {
  DynamicTensor rows;
  // If given, row i is that row of `rows`, or of a row of zeros before it: -1.
  const int32_t* index = nullptr;
  TensorRef dense;
  std::vector<TensorRef> per_task;
  bool written = false;                // kReduced: is there a sum to add to?
  bool zero_without_children = false;  // As Zeros::symbols; on a tape.
};

// Where a program's data comes from and goes. Rows of `state` are in execution
// order of the whole minibatch.
struct Externals {
  // Derivative: the gradient of the state. There is a row before its first;
  // that of the state is zero.
  Block state;
  // Are the rows of every chunk adjacent there, and are all that there are?
  bool state_is_adjacent = false;
  bool state_is_whole = false;
  // Derivative: no row of the state is gathered twice, so what would be added
  // to its gradient is all there is.
  bool gathered_once = false;
  int64_t largest_chunk = -1;  // Rows of the program; -1: all.
  // Eager and lazy stages run over at most so many rows at a time; -1: all.
  int64_t largest_piece = -1;
  // Is what is stored for a chunk given chunk by chunk, see BindChunk()?
  bool binds_chunks = false;
  std::vector<Block> inputs;   // Pulls; derivative: gradients of pushes.
  std::vector<Block> outputs;  // Pushes; derivative: gradients of pulls.
  // Of each of them, which of its rows the program's rows are; -1: none. Before
  // an input with such rows there is a row of zeros.
  std::vector<const int32_t*> input_rows, output_rows;
  std::vector<TensorRef> captures;
  const std::vector<Value>* saved = nullptr;  // Derivative: the tape.
  // Derivative: of which of these the tape has rows by an index.
  std::vector<bool> saved_by_index;
  std::vector<TensorRef> results;  // Derivative: gradients of captures.
};

// The rows of a program in one chunk.
struct ChunkRows {
  int64_t first = 0, count = 0;
  int64_t childless = 0;  // As many at its beginning have no children.
};

// Runs the nodes of one program stage by stage; lives for one step. Not thread
// safe, but stages of different chunks may run at the same time if nothing is
// stored for one chunk only (see Externals::largest_chunk). The program, rows
// and environment must outlive it.
class ProgramRun {
 public:
  ProgramRun(const CompiledProgram& program, const TypeRows& rows,
             const Environment& environment, Externals externals);

  // What Bind() will take; the state is not part of it. Once, before anything
  // else.
  MemoryNeed PlanStorage();
  // In how many pieces Bind() and BindChunk() take it, at most.
  size_t num_buffers() const {
    return kept_ids_.size() + scratch_ids_.size() + by_chunk_.size() +
           packed_.size();
  }
  // Takes storage, as planned: what goes on the tape from `kept`, temporaries
  // and packed weights from `scratch`. `state` is what Externals::state lies
  // in.
  void Bind(void* state, Arena* kept, Arena* scratch);
  // With Externals::binds_chunks: how much a chunk needs beside that, and from
  // where it takes it, before anything runs over it.
  size_t BytesForChunk(const ChunkRows& chunk) const;
  void BindChunk(const ChunkRows& chunk, Arena* arena);

  // Also checks that the weights which native kernels read are as traced.
  Status RunPrologue();
  Status RunEager(const ChunkRows& chunk) {
    return RunRows(Stage::kEager, chunk);
  }
  // Evaluates the task's rows [first, first + count).
  Status RunTask(const ChunkRows& chunk, int64_t task, int64_t first,
                 int64_t count);
  Status RunLazy(const ChunkRows& chunk) {
    return RunRows(Stage::kLazy, chunk);
  }
  // Also writes Externals::results.
  Status RunEpilogue();

  // The values of Program::results.
  std::vector<Value> Results() const;

 private:
  // The rows that a node is run for, and what they are counted from where rows
  // are stored for one chunk or task at a time.
  struct Place {
    int64_t first, count;
    int64_t task, first_of_task, first_of_piece, first_of_chunk;
    int64_t childless_end;  // Rows of the chunk before it have no children.
    bool childless;         // A task in which no row has a child.

    Place Part(int64_t begin, int64_t end) const {
      Place part = *this;
      part.first += begin;
      part.count = end - begin;
      return part;
    }
  };
  // The columns [begin, end) of each `unit` columns; all if there is no unit.
  struct Share {
    int64_t unit = 0, begin = 0, end = 0;
  };
  // A tile of a sum over rows, and the nodes of a phase that add to it.
  struct SumTile {
    std::vector<int> nodes;
    int64_t first_row, end_row, first_column, end_column;
  };
  // Weights side by side in the layout of the product kernel.
  struct Packed {
    void* data = nullptr;
    int64_t depth = 0, columns = 0;
  };

  // At most so many rows in a block: what a worker computes of them stays in
  // its cache from node to node, and a product over them reads its weights
  // seldom enough.
  static constexpr int64_t kBlockRows = 64;

  // What a stage, or one task of it, is called in a trace.
  std::string Title(Stage stage, const Place& at) const;
  // Of a chunk, piece by piece.
  Status RunRows(Stage stage, const ChunkRows& chunk);
  Status RunStage(Stage stage, const Place& at);
  Status RunWhole(const Phase& phase, const Place& at);
  void RunByRows(const Phase& phase, const Place& at, int blocks);
  void RunByColumns(const Phase& phase, const Place& at, int64_t unit,
                    int parts);
  void RunSums(Stage stage, const Phase& phase, const Place& at);
  std::vector<SumTile> TilesOf(const Phase& phase, int64_t rows,
                               int64_t columns) const;
  void PlanSums();
  void AddUp(const SumTile& tile, const Place& at, const Backend& backend);
  void AddUp(const Node& node, const SumTile& tile, const Place& all,
             bool accumulate, const Backend& backend);
  // The rows of `at` that do not all add zero.
  Place WithoutZeros(const Node& node, const SumTile& tile, const Place& at,
                     const Backend& backend) const;
  // What a tile reads of the first, or last, operand of a sum.
  ConstBlock First(const Node& sum, const SumTile& tile, const Place& at) const;
  ConstBlock Last(const Node& sum, const SumTile& tile, const Place& at) const;

  // One native node, for a share of its columns.
  void Compute(const Node& node, const Place& at, const Share& share,
               const Backend& backend);
  void ComputeProduct(const Node& node, const Place& at, const Share& share,
                      const Backend& backend);
  void ComputeGroup(const Node& node, const Place& at, const Share& share,
                    const Backend& backend);
  void ComputePassing(const Node& node, const Place& at, const Share& share,
                      const Backend& backend);
  Status RunForeign(const Node& node, const Place& at);

  TensorRef Reference(int symbol, const Place& at);
  // Of what is not viewed.
  Block Rows(int symbol, const Place& at) const;
  // Rows, perhaps by an index, or a row-free value as one row to broadcast.
  ConstBlock Operand(int symbol, const Place& at) const;
  bool IsZeroWithoutChildren(int symbol) const;
  bool IsOnlyForChildren(const Node& node) const {
    return zeros_.only_for_children[&node - program_.nodes.data()];
  }
  void FindProductsOfZeros();
  bool IsFinite(int weight) const;
  // Where a row-free value, or a piece of one, begins.
  char* Dense(int symbol) const;
  DynamicTensor::Span SpanOf(int symbol, bool kept) const;
  int64_t LargestChunk() const;
  // For a chunk of so many rows.
  int64_t RowsToStore(int symbol, bool kept, int64_t chunk) const;
  // Does the run take memory for it? (Else it is given, a view, or has none.)
  bool IsStored(int symbol) const;
  // Must what the tape has a view of be copied?
  bool IsCopied(int symbol) const;
  DType StoredType(int symbol) const;
  size_t BytesToStore(int symbol, bool kept, int64_t chunk) const;
  bool IsFormedInResult(int symbol) const;
  void BindToState();
  void BindJoined();
  int64_t JoinedStep(const JoinedChildren& joined) const;
  void BindViewed();
  void Store(int symbol, bool kept, int64_t chunk, Arena* arena);
  void BindGiven();
  void BindViews();
  void CopySaved();
  void FinishSums();
  static std::pair<std::vector<int>, bool> PackingKey(const Node& node);
  size_t PackedBytes(const Packed& packed, int weight) const;
  size_t PlanPacking();
  void PackWeights();

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  const Program& program_;
  const Zeros& zeros_;
  const TypeRows& rows_;
  const Environment& env_;
  Externals ext_;
  std::vector<Value> values_;
  // How many rows the first children of rows that follow each other are apart,
  // by root; 0: their states are not joined.
  std::vector<int64_t> joined_step_;
  MemoryNeed need_;
  std::vector<bool> on_tape_;  // By root.
  // The roots that are stored, by where.
  std::vector<int> kept_ids_, scratch_ids_, by_chunk_;
  // Of the phase of each stage that forms sums.
  std::vector<SumTile> sum_tiles_[kNumStages];
  // By (weights, transposed).
  std::map<std::pair<std::vector<int>, bool>, Packed> packed_;
  // Products that are zero where no row has a child. By node.
  std::vector<bool> is_product_of_zeros_;
  // Of the product that a node is, or null. By node.
  std::vector<const Packed*> packed_of_;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_PROGRAM_RUN_H_
