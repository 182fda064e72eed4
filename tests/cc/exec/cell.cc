#include "tests/cc/exec/cell.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cavs {

Numbers RandomNumbers(int64_t n, std::mt19937* random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Numbers numbers(n);
  // Rounds to numbers that are exact in every element type.
  for (double& x : numbers) x = std::round(uniform(*random) * 256) / 256;
  return numbers;
}

Experiment::Experiment(const Cell& cell, Graph graph, uint32_t seed)
    : cell_(cell), graph_(std::move(graph)) {
  std::mt19937 random(seed);
  for (size_t pull = 0; pull < cell.pulls.size(); ++pull) {
    const bool of_edges = cell.edge_pulls.count(static_cast<int>(pull)) > 0;
    const int rows = of_edges ? graph_.num_edges() : graph_.size();
    pulls.push_back(RandomNumbers(cell.pulls[pull] * rows, &random));
    if (of_edges) {
      pulled_by.emplace_back(rows);
      std::iota(pulled_by.back().begin(), pulled_by.back().end(), 0);
      continue;
    }
    pulled_by.push_back(VerticesThatPull(static_cast<int>(pull), &random));
    KeepRows(pulled_by.back(), cell.pulls[pull], &pulls.back());
  }
  for (int64_t columns : cell.pushes) {
    push_grads.push_back(RandomNumbers(columns * graph_.size(), &random));
  }
  for (const auto& shapes : cell.captures) {
    captures.emplace_back();
    for (const std::vector<int64_t>& shape : shapes) {
      int64_t n = 1;
      for (int64_t d : shape) n *= d;
      captures.back().push_back(RandomNumbers(n, &random));
    }
  }
}

Results Experiment::RunOracle() const {
  const Oracle forward(cell_.forward, graph_, cell_.state_columns, pulls,
                       cell_.pushes, captures, nullptr);
  const Oracle backward(cell_.backward, graph_, cell_.state_columns, push_grads,
                        cell_.pulls, captures, &forward, cell_.edge_pulls);
  Results results = forward.outputs;
  for (size_t pull = 0; pull < cell_.pulls.size(); ++pull) {
    results.push_back(Rows(backward.outputs[pull], static_cast<int>(pull)));
  }
  for (int type = 0; type < cell_.num_types(); ++type) {
    for (size_t i = 0; i < cell_.backward[type].results.size(); ++i) {
      results.push_back(backward.Result(type, i));
    }
  }
  return results;
}

Numbers Experiment::Rows(const Numbers& all, int pull) const {
  const int64_t columns = cell_.pulls[pull];
  Numbers rows;
  for (int32_t v : pulled_by[pull]) {
    rows.insert(rows.end(), all.begin() + v * columns,
                all.begin() + (v + 1) * columns);
  }
  return rows;
}

std::vector<int32_t> Experiment::VerticesThatPull(int pull,
                                                  std::mt19937* random) const {
  std::vector<int32_t> vertices;
  const bool is_partial = cell_.partial_pulls.count(pull) > 0;
  const int kind = is_partial ? (*random)() % 4 : 0;
  for (int v = 0; v < graph_.size(); ++v) {
    const bool has_row = !is_partial ||
                         (kind < 2 && graph_.children[v].empty()) ||
                         (kind == 2 && (*random)() % 2 == 0);
    if (has_row) vertices.push_back(v);
  }
  if (is_partial) std::shuffle(vertices.begin(), vertices.end(), *random);
  return vertices;
}

void Experiment::KeepRows(const std::vector<int32_t>& vertices, int64_t columns,
                          Numbers* all) {
  Numbers kept(all->size(), 0);
  for (int32_t v : vertices) {
    std::copy_n(all->begin() + v * columns, columns,
                kept.begin() + v * columns);
  }
  *all = std::move(kept);
}

Buffer::Buffer(const TestDevice& kind, DType dtype, const Numbers& numbers)
    : kind_(kind),
      dtype_(dtype),
      size_(numbers.size()),
      memory_(kind.Allocate(size_ * SizeOf(dtype))) {
  kind.Touch([&] {
    for (size_t i = 0; i < size_; ++i) {
      WriteNumber(dtype, numbers[i], memory_.get(), i);
    }
  });
}

Block Buffer::rows(int64_t columns) {
  const int64_t rows = columns == 0 ? 0 : static_cast<int64_t>(size_) / columns;
  return {memory_.get(), rows, columns, columns};
}

TensorRef Buffer::dense(std::vector<int64_t> shape) {
  TensorRef ref;
  ref.dtype = dtype_;
  ref.shape = std::move(shape);
  ref.data = memory_.get();
  return ref;
}

Numbers Buffer::numbers() const {
  Numbers numbers;
  kind_.Touch([&] {
    for (size_t i = 0; i < size_; ++i) {
      numbers.push_back(ReadNumber(dtype_, memory_.get(), i));
    }
  });
  return numbers;
}

Schedule MakeSchedule(const Graph& graph, const Cell& cell,
                      ScheduleOptions options) {
  options.edges = cell.edges;
  std::vector<int32_t> child_splits = {0}, child_ids, graph_splits = {0};
  for (const std::vector<int>& list : graph.children) {
    child_ids.insert(child_ids.end(), list.begin(), list.end());
    child_splits.push_back(static_cast<int32_t>(child_ids.size()));
  }
  if (graph.graph_sizes.empty()) graph_splits.push_back(graph.size());
  for (int size : graph.graph_sizes) {
    graph_splits.push_back(graph_splits.back() + size);
  }
  const std::vector<int32_t> types(graph.type.begin(), graph.type.end());
  Schedule schedule;
  const Status status =
      MakeSchedule({child_splits, child_ids, graph_splits, types}, cell.arity,
                   cell.num_types(), options, &schedule);
  EXPECT_TRUE(status.ok()) << status.message();
  return schedule;
}

CallOf::CallOf(const TestDevice& kind, const Setting& setting,
               StoragePool* pool)
    : streams_(kind.NewStreams(setting)) {
  context.stream = streams_->critical();
  context.other = streams_->other();
  context.pool = pool;
  context.cancelled = setting.cancelled;
  context.tracer = setting.tracer;
  context.outline = setting.outline;
}

void Compile(std::vector<Program> programs, PassOptions options,
             const Device& device, bool are_derivatives, Model* model) {
  for (Program& program : programs) program.is_derivative = are_derivatives;
  const Status status =
      CompileModel(std::move(programs), options, &device, model);
  EXPECT_TRUE(status.ok()) << status.message();
}

CellExecutor::CellExecutor(const Cell& cell, PassOptions options, bool measured,
                           const TestDevice* kind,
                           std::shared_ptr<const Device> forward,
                           std::shared_ptr<const Device> backward)
    : cell_(cell),
      kind_(*kind),
      device_(std::move(forward)),
      back_device_(backward == nullptr ? device_ : std::move(backward)),
      pool_(std::make_shared<StoragePool>(
          device_->memory(),
          /*guarded=*/!measured && device_->memory()->is_host())) {
  options.verify = true;
  std::vector<Program> derivatives = OnDevice(cell.backward);
  for (Program& program : derivatives) program.is_derivative = true;
  const Status status =
      CompileModel(OnDevice(cell.forward), std::move(derivatives),
                   {cell.partial_pulls, cell.partial_pulls}, options,
                   device_.get(), &forward_, &backward_);
  EXPECT_TRUE(status.ok()) << status.message();
  backward_.device = back_device_.get();  // Chooses the rows of its blocks.
  const size_t size = SizeOf(cell.dtype);
  for (int64_t columns : cell.pushes) sizes_.push_row.push_back(columns * size);
  for (int64_t columns : cell.pulls) {
    sizes_.pull_grad_row.push_back(columns * size);
  }
  for (const Program& program : cell.backward) {
    for (int id : program.results) {
      sizes_.capture_grads += program.symbols[id].columns() * size;
    }
  }
}

Results CellExecutor::Run(const Experiment& in, const Setting& setting,
                          ScheduleOptions options) const {
  Tape tape;
  Results results;
  const Schedule schedule = MakeSchedule(in.graph(), cell_, options);
  Status status = Forward(in, schedule, setting, &tape, &results);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return {};
  status = Backward(in, tape, setting, &results);
  EXPECT_TRUE(status.ok()) << status.message();
  return results;
}

MemoryNeed CellExecutor::Predict(const Schedule& schedule, Direction direction,
                                 bool two_streams, const Experiment* in) const {
  const RowMap pushed = PushRows(schedule.view());
  const std::vector<RowMap> pulled = PullRows(in, schedule.view());
  ResultRows rows = {pushed.count, all_pushed_, {}};
  for (const RowMap& map : pulled) rows.pulled.push_back(map.count);
  if (direction == Direction::kInference) {
    return PredictInference(forward_, schedule.view(), pulled, sizes_, rows);
  }
  const TrainingNeed need = PredictTraining(
      forward_, &backward_, schedule.view(), pulled, sizes_, rows, two_streams);
  return direction == Direction::kForward ? need.forward : need.backward;
}

Status CellExecutor::Forward(const Experiment& in, const Schedule& schedule,
                             const Setting& setting, Tape* tape,
                             Results* results) const {
  const CallOf call(kind_, setting, pool_.get());
  ForwardArguments arguments;
  arguments.schedule = schedule.view();
  std::vector<std::unique_ptr<Buffer>> owned;
  std::vector<std::shared_ptr<Buffer>> pulls;
  for (size_t i = 0; i < in.pulls.size(); ++i) {
    pulls.push_back(std::make_shared<Buffer>(
        kind_, cell_.dtype, in.Rows(in.pulls[i], static_cast<int>(i))));
    arguments.pulls.push_back(pulls.back()->rows(cell_.pulls[i]));
  }
  arguments.pull_rows = PullRows(&in, schedule.view());
  arguments.push_rows = PushRows(schedule.view());
  for (size_t type = 0; type < in.captures.size(); ++type) {
    arguments.captures.emplace_back();
    for (size_t i = 0; i < in.captures[type].size(); ++i) {
      auto buffer =
          std::make_shared<Buffer>(kind_, cell_.dtype, in.captures[type][i]);
      TensorRef capture = buffer->dense(cell_.captures[type][i]);
      capture.handle = std::move(buffer);  // The tape may keep it alive.
      arguments.captures.back().push_back(std::move(capture));
    }
  }
  const size_t first = owned.size();
  for (int64_t columns : cell_.pushes) {
    // The executor must overwrite these 99s.
    arguments.pushes.push_back(
        Own(Numbers(columns * arguments.push_rows.count, 99), &owned)
            ->rows(columns));
  }
  arguments.sizes = &sizes_;
  arguments.derivative = &backward_;
  if (setting.around) setting.around();
  CAVS_RETURN_IF_ERROR(
      RunForward(forward_, std::move(arguments), call.context, tape));
  if (setting.around) setting.around();
  if (tape != nullptr) {
    tape->alive.insert(tape->alive.end(), pulls.begin(), pulls.end());
  }
  for (size_t i = first; i < owned.size(); ++i) {
    results->push_back(owned[i]->numbers());
  }
  return Status();
}

Status CellExecutor::Backward(const Experiment& in, const Tape& tape,
                              const Setting& setting, Results* results) const {
  const CallOf call(kind_, setting, pool_.get());
  BackwardArguments arguments;
  arguments.model = &forward_;
  std::vector<std::unique_ptr<Buffer>> owned;
  for (size_t i = 0; i < in.push_grads.size(); ++i) {
    const int64_t columns = cell_.pushes[i];
    arguments.push_grads.push_back(
        Own(Pushed(in.push_grads[i], columns), &owned)->rows(columns));
  }
  arguments.pulls.resize(cell_.pulls.size());
  std::iota(arguments.pulls.begin(), arguments.pulls.end(), 0);
  const size_t first = owned.size();
  for (size_t pull = 0; pull < cell_.pulls.size(); ++pull) {
    const int64_t columns = cell_.pulls[pull];
    arguments.pull_grads.push_back(
        Own(Numbers(columns * in.pulled_by[pull].size(), 99), &owned)
            ->rows(columns));
  }
  for (const Program& program : cell_.backward) {
    arguments.capture_grads.emplace_back();
    for (int id : program.results) {
      const Symbol& symbol = program.symbols[id];
      arguments.capture_grads.back().push_back(
          Own(Numbers(symbol.columns(), 99), &owned)->dense(symbol.shape));
    }
  }
  arguments.sizes = &sizes_;
  if (setting.around) setting.around();
  CAVS_RETURN_IF_ERROR(RunBackward(backward_, tape, arguments, call.context));
  if (setting.around) setting.around();
  for (size_t i = first; i < owned.size(); ++i) {
    results->push_back(owned[i]->numbers());
  }
  return Status();
}

std::vector<Program> CellExecutor::OnDevice(
    std::vector<Program> programs) const {
  for (Program& program : programs) {
    for (Node& node : program.nodes) {
      if (node.foreign != nullptr) node.foreign = kind_.Foreign(node.foreign);
    }
  }
  return programs;
}

std::vector<RowMap> CellExecutor::PullRows(const Experiment* in,
                                           const ScheduleView& schedule) const {
  std::vector<RowMap> maps(cell_.pulls.size(), AllVertices(schedule));
  for (int pull : cell_.partial_pulls) {
    const Status status =
        ChosenVertices("partial_vertices", in->pulled_by[pull],
                       schedule.num_vertices(), &maps[pull]);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  for (int pull : cell_.edge_pulls) maps[pull] = AllEdges(schedule);
  return maps;
}

RowMap CellExecutor::PushRows(const ScheduleView& schedule) const {
  RowMap map = AllVertices(schedule);
  if (all_pushed_) return map;
  const Status status =
      ChosenVertices("at", at_, schedule.num_vertices(), &map);
  EXPECT_TRUE(status.ok()) << status.message();
  return map;
}

Numbers CellExecutor::Pushed(const Numbers& all, int64_t columns) const {
  if (all_pushed_) return all;
  Numbers chosen;
  for (int32_t v : at_) {
    chosen.insert(chosen.end(), all.begin() + v * columns,
                  all.begin() + (v + 1) * columns);
  }
  return chosen;
}

Buffer* CellExecutor::Own(const Numbers& numbers,
                          std::vector<std::unique_ptr<Buffer>>* owned) const {
  owned->push_back(std::make_unique<Buffer>(kind_, cell_.dtype, numbers));
  return owned->back().get();
}

CpuDevice::Options CellExecutor::WithVariants(CpuDevice::Options device) {
  device.nanos_per_program = device.nanos_per_weight_byte = 0;
  return device;
}

void ExpectNear(const Results& got, const Results& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), want[i].size()) << "result " << i;
    double scale = 1;
    for (double x : want[i]) scale = std::max(scale, std::abs(x));
    for (size_t j = 0; j < got[i].size(); ++j) {
      ASSERT_TRUE(std::abs(got[i][j] - want[i][j]) <= tolerance * scale)
          << "result " << i << ", element " << j << ": got " << got[i][j]
          << " but expected " << want[i][j];
    }
  }
}

}  // namespace cavs
