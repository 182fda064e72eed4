// A model drawn by hand, run by the executor and by the oracle.
#ifndef CAVS_TESTS_CC_EXEC_CELL_H_
#define CAVS_TESTS_CC_EXEC_CELL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "cc/exec/direction.h"
#include "cc/exec/executor.h"
#include "cc/exec/model.h"
#include "tests/cc/exec/oracle.h"
#include "tests/cc/exec/test_device.h"

namespace cavs {

// The programs of a model before any pass, one for each vertex type.
struct Cell {
  DType dtype = DType::kFloat64;
  int arity = 2;
  int64_t state_columns = 0;
  std::vector<Program> forward, backward;
  std::vector<int64_t> pulls, pushes;  // Numbers of columns.
  std::vector<std::vector<std::vector<int64_t>>> captures;  // Shapes, by type.
  std::set<int> partial_pulls;  // Inputs that not every vertex has.
  bool edges = false;           // Whether the programs read edges.
  std::set<int> edge_pulls;     // Inputs with a row per edge.

  int num_types() const { return static_cast<int>(forward.size()); }
  // Edges lead to more children than there are slots.
  int most_children() const { return edges ? arity + 3 : arity; }
};

// Pushes, then gradients of pulls, then gradients of captures.
using Results = std::vector<Numbers>;

Numbers RandomNumbers(int64_t n, std::mt19937* random);

// A cell, a minibatch, and the values of all inputs and incoming gradients.
class Experiment {
 public:
  Experiment(const Cell& cell, Graph graph, uint32_t seed);

  std::vector<Numbers> pulls, push_grads;
  // By pull, the vertices or edges that have a row of it; others have zeros.
  std::vector<std::vector<int32_t>> pulled_by;
  std::vector<std::vector<Numbers>> captures;  // By type.

  const Cell& cell() const { return cell_; }
  const Graph& graph() const { return graph_; }

  Results RunOracle() const;

  // The rows of the vertices or edges that have one, of those of all.
  Numbers Rows(const Numbers& all, int pull) const;

 private:
  // All vertices; of a partial pull, those without children, or any, in any
  // order, or none.
  std::vector<int32_t> VerticesThatPull(int pull, std::mt19937* random) const;

  static void KeepRows(const std::vector<int32_t>& vertices, int64_t columns,
                       Numbers* all);

  const Cell cell_;
  const Graph graph_;
};

// Rows of numbers in the element type of the cell, in memory of a device.
class Buffer {
 public:
  Buffer(const TestDevice& kind, DType dtype, const Numbers& numbers);
  // A buffer in memory of the CPU.
  Buffer(DType dtype, const Numbers& numbers)
      : Buffer(*The<CpuTestDevice>(), dtype, numbers) {}
  Block rows(int64_t columns);
  TensorRef dense(std::vector<int64_t> shape);
  Numbers numbers() const;

 private:
  const TestDevice& kind_;
  const DType dtype_;
  const size_t size_;
  const std::shared_ptr<void> memory_;
};

Schedule MakeSchedule(const Graph& graph, const Cell& cell,
                      ScheduleOptions options = {});

// A call of the executor: its streams, and all else that it is called with.
class CallOf {
 public:
  CallOf(const TestDevice& kind, const Setting& setting, StoragePool* pool);
  // A call on the CPU.
  CallOf(const Setting& setting, StoragePool* pool)
      : CallOf(*The<CpuTestDevice>(), setting, pool) {}

  StepContext context;

 private:
  const std::unique_ptr<TestStreams> streams_;
};

void Compile(std::vector<Program> programs, PassOptions options,
             const Device& device, bool are_derivatives, Model* model);

// Runs a cell by the executor. Several threads may use one CellExecutor at
// once.
class CellExecutor {
 public:
  // There are guard zones around all buffers unless `measured`, because they
  // take memory that is not planned.
  CellExecutor(const Cell& cell, PassOptions options, bool measured,
               const TestDevice* kind, std::shared_ptr<const Device> forward,
               std::shared_ptr<const Device> backward);
  // `rows` and `backward_rows` are the most rows in a block of each direction;
  // 0 leaves the choice to the device.
  CellExecutor(const Cell& cell, PassOptions options, const TestDevice* kind,
               int64_t rows = 0, int64_t backward_rows = 0)
      : CellExecutor(cell, options, /*measured=*/false, kind, kind->New(rows),
                     backward_rows == 0 ? nullptr : kind->New(backward_rows)) {}
  explicit CellExecutor(const Cell& cell, PassOptions options = {},
                        bool measured = false, CpuDevice::Options device = {})
      : CellExecutor(cell, options, measured, The<CpuTestDevice>(),
                     std::make_shared<CpuDevice>(WithVariants(device)),
                     nullptr) {}

  const StoragePool& pool() const { return *pool_; }

  // From this call on, only the vertices `at` push.
  void PushOnly(std::vector<int32_t> at) {
    at_ = std::move(at);
    all_pushed_ = false;
  }

  // Runs both directions.
  Results Run(const Experiment& in, const Setting& setting,
              ScheduleOptions options = {}) const;
  Results Run(const Experiment& in) const { return Run(in, Setting()); }

  // `in` says which vertices have rows of partial inputs, if there are any.
  MemoryNeed Predict(const Schedule& schedule, Direction direction,
                     bool two_streams = false,
                     const Experiment* in = nullptr) const;

  // Runs forward and appends the pushes. `tape` may be null; `schedule` must
  // outlive it.
  Status Forward(const Experiment& in, const Schedule& schedule,
                 const Setting& setting, Tape* tape, Results* results) const;

  // Runs backward and appends the gradients of pulls and captures.
  Status Backward(const Experiment& in, const Tape& tape,
                  const Setting& setting, Results* results) const;

 private:
  // So that small minibatches have variants.
  static CpuDevice::Options WithVariants(CpuDevice::Options device);

  // Replaces foreign operators by those of a framework with kernels for the
  // device.
  std::vector<Program> OnDevice(std::vector<Program> programs) const;

  std::vector<RowMap> PullRows(const Experiment* in,
                               const ScheduleView& schedule) const;

  RowMap PushRows(const ScheduleView& schedule) const;

  // Selects the rows of vertices that push.
  Numbers Pushed(const Numbers& all, int64_t columns) const;

  Buffer* Own(const Numbers& numbers,
              std::vector<std::unique_ptr<Buffer>>* owned) const;

  const Cell cell_;
  const TestDevice& kind_;
  const std::shared_ptr<const Device> device_, back_device_;
  Model forward_, backward_;
  ResultSizes sizes_;
  const std::shared_ptr<StoragePool> pool_;
  bool all_pushed_ = true;
  std::vector<int32_t> at_;
};

void ExpectNear(const Results& got, const Results& want, double tolerance);

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_CELL_H_
