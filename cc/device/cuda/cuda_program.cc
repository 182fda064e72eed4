#include "cc/device/cuda/cuda_program.h"

#include <algorithm>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/device/cuda/cuda_stream.h"
#include "cc/device/cuda/source/group.h"
#include "cc/ir/operators.h"

namespace cavs {
namespace {

// What a launch costs, and what a row of it costs, in nanoseconds.
constexpr double kNanosOfLaunch = 3000;
constexpr double kNanosOfMultiplyAdd = 1e-4;

constexpr Stage kRowStages[] = {Stage::kEager, Stage::kCritical, Stage::kLazy};

// The arguments of the kernel of a group.
struct GroupArgs {
  int64_t rows, columns;
  int shift;
  struct Operand {
    const void* data;
    const int32_t* index;
    int64_t pitch;
    int row_step, column_step;
  } operands[ElementwiseGroup::kMaxValues];
};

bool IsSum(NodeKind kind) {
  return kind == NodeKind::kWeightGrad || kind == NodeKind::kSumRows;
}

// The group that computes a node; no instructions if it is none.
ElementwiseGroup GroupOf(const CompiledProgram& program, const Node& node) {
  if (node.kind == NodeKind::kGroup) return node.group;
  if (node.kind == NodeKind::kElementwise) return GroupOf(node.elementwise);
  if (node.kind == NodeKind::kCopy &&
      IsNative(program.symbols[node.outputs[0]].dtype)) {
    return GroupOf(Elementwise::kIdentity);
  }
  return {};
}

}  // namespace

CudaExecutable::CudaExecutable(const CompiledProgram& program,
                               std::shared_ptr<const CudaKernels> kernels,
                               std::shared_ptr<Memory> memory)
    : program_(program),
      kernels_(std::move(kernels)),
      memory_(std::move(memory)),
      texts_(program.nodes.size()) {
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    nodes_[static_cast<int>(node.stage)].push_back(static_cast<int>(i));
    const ElementwiseGroup group = GroupOf(program, node);
    if (group.instructions.empty() || node.outputs.empty()) continue;
    texts_[i] = TextOfGroup(group, program.symbols[node.outputs[0]].dtype);
  }
}

// The parts of the largest sum of a stage, and as much as rounding needs.
static size_t BytesOfStage(const CudaExecutable& executable, Stage stage,
                           const TypeRows& rows) {
  const CompiledProgram& program = executable.program();
  const int64_t count = std::max(rows.size(), rows.num_edges());
  size_t bytes = 0;
  for (const int i : executable.nodes(stage)) {
    const Node& node = program.nodes[i];
    if (!IsSum(node.kind)) continue;
    const DType dtype = program.symbols[node.outputs[0]].dtype;
    const int64_t x = node.kind == NodeKind::kWeightGrad
                          ? program.symbols[node.inputs[0]].columns()
                          : 0;
    const int64_t y = program.symbols[node.inputs.back()].columns();
    bytes =
        std::max(bytes, executable.kernels().BytesOfParts(dtype, x, y, count));
    if (IsNarrow(dtype)) {
      bytes = std::max(bytes, Memory::Padded(ByteCount(
                                  1, std::max<int64_t>(x, 1) * y, dtype)));
    }
  }
  return bytes;
}

size_t CudaExecutable::WorkspaceBytes(const TypeRows& rows) const {
  size_t bytes = 0;
  for (const Stage stage : kRowStages) {
    bytes += BytesOfStage(*this, stage, rows);
  }
  return bytes;
}

double CudaExecutable::Nanos(const TaskCount& tasks) const {
  double nanos = 0;
  for (const Node& node : program_.nodes) {
    const bool by_task = node.stage == Stage::kCritical;
    nanos += kNanosOfLaunch * (by_task ? static_cast<double>(tasks.tasks) : 1);
    if (node.kind != NodeKind::kMatMul && node.kind != NodeKind::kWeightGrad) {
      continue;
    }
    const double columns =
        node.outputs.empty() ? 0 : program_.symbols[node.outputs[0]].columns();
    const double work =
        node.kind == NodeKind::kWeightGrad
            ? columns
            : columns * program_.symbols[node.inputs[0]].columns();
    nanos += kNanosOfMultiplyAdd * work * static_cast<double>(tasks.rows);
  }
  return nanos;
}

std::unique_ptr<BoundProgram> CudaExecutable::Bind(Bindings* bindings) const {
  return std::make_unique<CudaProgram>(*this, bindings);
}

Status CudaExecutable::Make(Stream* stream,
                            const std::vector<CudaFunction>** groups,
                            const std::vector<void*>** constants) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!made_) {
    CAVS_RETURN_IF_ERROR(MakeGroups());
    CAVS_RETURN_IF_ERROR(MakeConstants(stream));
    made_ = true;
  }
  *groups = &groups_;
  *constants = &constants_;
  return Status();
}

Status CudaExecutable::MakeGroups() const {
  groups_.assign(texts_.size(), nullptr);
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i].empty()) continue;
    CAVS_RETURN_IF_ERROR(
        kernels_->context().Find(texts_[i], "group", &groups_[i]));
  }
  return Status();
}

// Other streams may read the constants at once, so that they are waited for.
Status CudaExecutable::MakeConstants(Stream* stream) const {
  constants_.assign(program_.symbols.size(), nullptr);
  std::vector<std::pair<int, size_t>> offsets;
  size_t bytes = 0;
  for (size_t id = 0; id < program_.symbols.size(); ++id) {
    const Symbol& own = program_.symbols[id];
    if (own.source != SymbolSource::kConstant || own.parent >= 0 ||
        own.constant->data == nullptr) {
      continue;
    }
    offsets.emplace_back(static_cast<int>(id), bytes);
    bytes += Memory::Padded(ByteCount(1, own.columns(), own.dtype));
  }
  if (bytes == 0) return Status();
  void* const data = memory_->Allocate(bytes);
  if (data == nullptr) return OutOfMemory();
  constants_memory_ = std::shared_ptr<void>(
      data, [memory = memory_, bytes](void* own) { memory->Free(own, bytes); });
  for (const auto& [id, offset] : offsets) {
    const Symbol& own = program_.symbols[id];
    constants_[id] = static_cast<char*>(data) + offset;
    CAVS_RETURN_IF_ERROR(static_cast<CudaStream*>(stream)->CopyIn(
        constants_[id], own.constant->data,
        ByteCount(1, own.columns(), own.dtype)));
  }
  return stream->Synchronize();
}

Status CudaProgram::Prepare(Stream* stream) {
  const CudaContext::Current current(kernels_.context());
  stream_ = static_cast<CudaStream*>(stream)->handle();
  const std::vector<void*>* constants;
  CAVS_RETURN_IF_ERROR(executable_.Make(stream, &groups_, &constants));
  BindConstants(*constants);
  for (const auto& [id, from] : bindings_.copies) {
    CAVS_RETURN_IF_ERROR(kernels_.Move(
        SizeOf(symbol(id).dtype), from,
        bindings_.slots[id].rows.View(0, from.rows), nullptr, stream_));
  }
  return Status();
}

void CudaProgram::BindConstants(const std::vector<void*>& constants) {
  for (size_t id = 0; id < program_.symbols.size(); ++id) {
    int64_t offset;
    const int root = program_.Root(static_cast<int>(id), &offset);
    if (constants[root] == nullptr) continue;
    bindings_.slots[id].dense.data =
        static_cast<char*>(constants[root]) +
        offset * static_cast<int64_t>(SizeOf(program_.symbols[id].dtype));
  }
}

Status CudaProgram::Run(Stage stage, const RowRange& at, Stream* stream) {
  const CudaContext::Current current(kernels_.context());
  stream_ = static_cast<CudaStream*>(stream)->handle();
  for (const int number : executable_.nodes(stage)) {
    if (at.childless && program_.zeros.only_for_children[number]) continue;
    CAVS_RETURN_IF_ERROR(RunNode(number, at, stream));
  }
  return Status();
}

Status CudaProgram::FinishSums(Stream* stream) {
  const CudaContext::Current current(kernels_.context());
  stream_ = static_cast<CudaStream*>(stream)->handle();
  for (const int id : operands_.SumsOverNoRows()) {
    CAVS_RETURN_IF_ERROR(stream->Zero(
        operands_.Sum(id),
        ByteCount(1, operands_.columns(id), operands_.TypeOfSum(id))));
  }
  for (size_t id = 0; id < program_.symbols.size(); ++id) {
    const Symbol& own = program_.symbols[id];
    void* const sum = bindings_.slots[id].dense.data;
    if (own.kind != SymbolKind::kReduced || own.parent >= 0 || sum == nullptr ||
        !bindings_.slots[id].rounded_last) {
      continue;
    }
    CAVS_RETURN_IF_ERROR(kernels_.Round(own.dtype, sum, own.columns(),
                                        bindings_.workspace, stream_));
    CAVS_RETURN_IF_ERROR(stream->Copy(sum, bindings_.workspace,
                                      ByteCount(1, own.columns(), own.dtype)));
  }
  return Status();
}

Status CudaProgram::RunNode(int number, const RowRange& at, Stream* stream) {
  const Node& node = program_.nodes[number];
  if (node.kind == NodeKind::kForeign) {
    return bindings_.foreign->Run(node, at, stream);
  }
  if (at.of(SpaceOf(program_, node)).count == 0) return Status();
  const TraceScope scope(bindings_.tracer, node.stage,
                         [&] { return node.label; });
  const auto in = [&](int i) {
    const int id = node.inputs[i];
    ConstBlock block = operands_.Read(id, at);
    if (!operands_.HasRows(id)) block.pitch = 0;
    return block;
  };
  const auto out = [&] { return operands_.Rows(node.outputs[0], at); };
  const auto dtype = [&] { return symbol(node.outputs[0]).dtype; };
  switch (node.kind) {
    case NodeKind::kGroup:
      return node.outputs.empty() ? Status()
                                  : RunGroup(number, node.operands,
                                             node.members[0].outputs[0], at);
    case NodeKind::kElementwise:
    case NodeKind::kCopy: {
      if (!IsNative(dtype())) {
        return kernels_.Move(SizeOf(dtype()), in(0), out(), nullptr, stream_);
      }
      std::vector<int> operands = node.inputs;
      operands.push_back(node.outputs[0]);
      return RunGroup(number, operands, node.outputs[0], at);
    }
    case NodeKind::kMatMul:
      return Multiply(node, at);
    case NodeKind::kWeightGrad:
    case NodeKind::kSumRows:
      return AddUp(node, at, node.stage);
    case NodeKind::kSumColumns:
      return kernels_.SumColumns(dtype(), in(0), out(), stream_);
    case NodeKind::kToMask:
      return kernels_.ToMask(dtype(), in(0), out(), stream_);
    case NodeKind::kZero:
      return kernels_.Move(SizeOf(dtype()), ConstBlock(), out(), nullptr,
                           stream_);
    case NodeKind::kSpread:
      return kernels_.Spread(SizeOf(dtype()), in(0),
                             bindings_.lists.edge_row + at.edges.first,
                             at.first, out(), stream_);
    case NodeKind::kSumEdges:
    case NodeKind::kMaxEdges:
      return kernels_.ReduceEdges(dtype(), node.kind == NodeKind::kMaxEdges,
                                  in(0), bindings_.lists.edge_splits + at.first,
                                  at.edges.first, out(), stream_);
    default:
      return MoveRows(node, at);
  }
}

Status CudaProgram::RunGroup(int number, const std::vector<int>& operands,
                             int out, const RowRange& at) {
  GroupArgs arguments;
  arguments.rows = operands_.RowsOf(out, at).count;
  arguments.columns = operands_.columns(out);
  const CudaRowGrid own = GridOverRows(arguments.rows, arguments.columns);
  arguments.shift = own.shift;
  for (size_t i = 0; i < operands.size(); ++i) {
    const int id = operands[i];
    const ConstBlock block = operands_.Read(id, at);
    const bool column = block.cols == 1 && arguments.columns > 1;
    arguments.operands[i] = {block.data, block.index, block.pitch,
                             operands_.HasRows(id) ? 1 : 0, column ? 0 : 1};
  }
  return kernels_.context().Launch((*groups_)[number], own.grid, stream_,
                                   arguments);
}

Status CudaProgram::Multiply(const Node& node, const RowRange& at) {
  std::vector<CudaWeight> weights;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Symbol& w = symbol(node.inputs[i]);
    weights.push_back({operands_.Dense(node.inputs[i]), w.row_pitch(),
                       w.shape[node.transpose ? 0 : 1]});
  }
  ConstBlock from = operands_.Read(node.inputs[0], at);
  if (!operands_.HasRows(node.inputs[0])) from.pitch = 0;
  const Block to = operands_.Rows(node.outputs[0], at);
  from.rows = to.rows;
  return kernels_.Multiply(symbol(node.outputs[0]).dtype, from, weights,
                           node.transpose, node.accumulate, to, stream_);
}

Status CudaProgram::AddUp(const Node& node, const RowRange& at, Stage stage) {
  const int id = node.outputs[0];
  const auto rows = [&](int operand) {
    ConstBlock block = operands_.Read(operand, at);
    block.rows = at.of(SpaceOf(program_, node)).count;
    if (!operands_.HasRows(operand)) block.pitch = 0;
    return block;
  };
  CudaSum sum;
  if (node.kind == NodeKind::kWeightGrad) sum.x = rows(node.inputs[0]);
  sum.y = rows(node.inputs.back());
  sum.to = operands_.Sum(id);
  sum.accumulate = *bindings_.sum_begun[id];
  sum.workspace = WorkspaceOf(stage);
  *bindings_.sum_begun[id] = true;
  return kernels_.SumOverRows(symbol(id).dtype, sum, stream_);
}

void* CudaProgram::WorkspaceOf(Stage stage) const {
  char* own = static_cast<char*>(bindings_.workspace);
  for (const Stage before : kRowStages) {
    if (before == stage) break;
    own += BytesOfStage(executable_, before, *bindings_.rows);
  }
  return own;
}

Status CudaProgram::MoveRows(const Node& node, const RowRange& at) {
  const bool writes = !node.outputs.empty();
  const int id = writes ? node.outputs[0] : node.inputs[0];
  const Slot& slot = bindings_.slots[id];
  if (slot.index != nullptr) return Status();  // Its rows are read in place.
  const Extent extent = slot.rows.extent();
  const DType dtype = symbol(id).dtype;
  const Block rows = operands_.Rows(id, at);
  const IndexLists& lists = bindings_.lists;
  // Where the rows come from or go, and the numbers of the rows there.
  Block other = bindings_.state;
  const int32_t* index = nullptr;
  switch (node.kind) {
    case NodeKind::kVertexIds:
      return kernels_.Move(SizeOf(dtype),
                           {lists.vertex + at.first, at.count, 1, 1}, rows,
                           nullptr, stream_);
    case NodeKind::kScatter:
    case NodeKind::kScatterGrad:
      if (extent == Extent::kState) return Status();
      index = lists.state_row;
      break;
    case NodeKind::kGather:
    case NodeKind::kGatherGrad:
      if (extent == Extent::kChildren) return Status();
      index = node.index < 0 ? lists.edge_child : lists.child_row(node.index);
      break;
    case NodeKind::kPull:
    case NodeKind::kPushGrad:
      other = bindings_.inputs[node.index];
      index = bindings_.input_rows[node.index];
      break;
    default:  // A push, or the gradient of a pull.
      other = bindings_.outputs[node.index];
      index = bindings_.output_rows[node.index];
  }
  index += operands_.RowsOf(id, at).first;
  if (node.kind == NodeKind::kGatherGrad && !bindings_.gathered_once) {
    return kernels_.AddRows(dtype, rows, index, other, stream_);
  }
  if (writes) {
    ConstBlock from = other;
    from.index = index;
    return kernels_.Move(SizeOf(dtype), from, rows, nullptr, stream_);
  }
  other.rows = rows.rows;
  other.cols = rows.cols;
  return kernels_.Move(SizeOf(dtype), rows, other, index, stream_);
}

}  // namespace cavs
