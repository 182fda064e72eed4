#include "cc/device/cuda/cuda_program.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/device/cuda/cublas_lt.h"
#include "cc/device/cuda/cuda_stream.h"
#include "cc/device/cuda/source/group.h"
#include "cc/ir/operators.h"

namespace cavs {
namespace {

// The costs of a launch, and of a multiply-add, in nanoseconds.
constexpr double kNanosOfLaunch = 3000;
constexpr double kNanosOfMultiplyAdd = 1e-4;

constexpr Stage kRowStages[] = {Stage::kEager, Stage::kCritical, Stage::kLazy};

std::string LabelOf(const CompiledProgram& program, const CudaLaunch& launch) {
  std::string label;
  for (const int i : launch.nodes) {
    label += (label.empty() ? "" : ", ") + program.nodes[i].label;
  }
  return label;
}

std::unique_ptr<CudaExecutable::GroupKernels> KernelsOf(
    const CompiledProgram& program, const std::vector<CudaLaunch>& launches,
    size_t i) {
  const CudaLaunch& launch = launches[i];
  const DType dtype = program.symbols[launch.out].dtype;
  const auto alone = TextOfGroup(launch.group, dtype);
  const bool summed = i > 1 && !launches[i - 2].summed.empty();
  const auto together = launch.is_epilogue
                            ? TextOfProductsThenGroup(*alone, dtype, summed)
                            : nullptr;
  return std::unique_ptr<CudaExecutable::GroupKernels>(
      new CudaExecutable::GroupKernels{
          CudaFoundKernel(CudaTextKernel(alone, 0)),
          CudaFoundKernel(CudaTextKernel(together, 0))});
}

// Whether a product, or the gradient of a weight, over so many rows may be one
// that cuBLASLt forms.
bool MayBeLarge(const CompiledProgram& program, const Node& node,
                int64_t rows) {
  const bool is_product = node.kind == NodeKind::kMatMul;
  if (!is_product && node.kind != NodeKind::kWeightGrad) return false;
  const int other = is_product ? node.outputs[0] : node.inputs[1];
  return CublasLt::IsLarge(rows, program.symbols[node.inputs[0]].columns(),
                           program.symbols[other].columns());
}

// The bytes of a constant that lies in memory of the GPU; 0 of other symbols.
size_t BytesOfConstant(const Symbol& own) {
  return own.source == SymbolSource::kConstant && own.parent < 0 &&
                 own.constant->data != nullptr
             ? ByteCount(1, own.columns(), own.dtype)
             : 0;
}

}  // namespace

CudaExecutable::CudaExecutable(const CompiledProgram& program,
                               std::shared_ptr<const CudaKernels> kernels,
                               std::shared_ptr<Memory> memory)
    : program_(program),
      kernels_(std::move(kernels)),
      memory_(std::move(memory)),
      sent_by_(FindSentBack(program)),
      constant_bytes_(
          std::accumulate(program.symbols.begin(), program.symbols.end(),
                          size_t{0}, [](size_t bytes, const Symbol& own) {
                            return bytes + Memory::Padded(BytesOfConstant(own));
                          })) {
  for (int stage = 0; stage < kNumStages; ++stage) {
    launches_[stage] = PlanLaunches(program, static_cast<Stage>(stage));
    const std::vector<CudaLaunch>& launches = launches_[stage];
    for (size_t i = 0; i < launches.size(); ++i) {
      groups_[stage].push_back(launches[i].kind == LaunchKind::kElementwise
                                   ? KernelsOf(program, launches, i)
                                   : nullptr);
    }
  }
}

// The parts of its sums, or, to round them, the largest of them; or what
// cuBLASLt may need.
size_t CudaExecutable::BytesOfStage(Stage stage, const TypeRows& rows) const {
  const int64_t count = std::max(rows.size(), rows.num_edges());
  const bool by_library =
      kernels_->context().cublas_lt() != nullptr && stage != Stage::kCritical;
  size_t parts = 0, rounded = 0;
  for (const CudaLaunch& launch : launches(stage)) {
    for (const int i : launch.nodes) {
      const Node& node = program_.nodes[i];
      if (by_library && MayBeLarge(program_, node, count)) {
        rounded = std::max(rounded, CublasLt::kWorkspaceBytes);
      }
      if (launch.kind != LaunchKind::kSums) continue;
      const DType dtype = program_.symbols[node.outputs[0]].dtype;
      const int64_t x = node.kind == NodeKind::kWeightGrad
                            ? program_.symbols[node.inputs[0]].columns()
                            : 0;
      const int64_t y = program_.symbols[node.inputs.back()].columns();
      parts += kernels_->BytesOfParts(dtype, x, y, count);
      rounded = std::max(rounded, Memory::Padded(ByteCount(
                                      1, std::max<int64_t>(x, 1) * y, dtype)));
    }
  }
  return std::max(parts, rounded);
}

size_t CudaExecutable::WorkspaceBytes(const TypeRows& rows) const {
  size_t bytes = BytesOfWalk(rows);
  for (const Stage stage : kRowStages) {
    bytes += BytesOfStage(stage, rows);
  }
  return bytes;
}

size_t CudaExecutable::BytesOfWalk(const TypeRows& rows) const {
  return CudaWalk::BytesOf(
      rows.num_tasks() *
      static_cast<int64_t>(launches(Stage::kCritical).size()));
}

double CudaExecutable::Nanos(const TaskCount& tasks) const {
  double nanos = 0;
  for (const Stage stage : kRowStages) {
    const bool by_task = stage == Stage::kCritical;
    nanos += kNanosOfLaunch * static_cast<double>(launches(stage).size()) *
             (by_task ? static_cast<double>(tasks.tasks) : 1);
  }
  for (const Node& node : program_.nodes) {
    if (node.kind != NodeKind::kMatMul && node.kind != NodeKind::kWeightGrad) {
      continue;
    }
    const auto columns = [&](int id) {
      return static_cast<double>(program_.symbols[id].columns());
    };
    const double work =
        columns(node.inputs[0]) * columns(node.kind == NodeKind::kMatMul
                                              ? node.outputs[0]
                                              : node.inputs[1]);
    nanos += kNanosOfMultiplyAdd * work * static_cast<double>(tasks.rows);
  }
  return nanos;
}

std::unique_ptr<BoundProgram> CudaExecutable::Bind(Bindings* bindings) const {
  return std::make_unique<CudaProgram>(*this, bindings);
}

Status CudaExecutable::Make(Stream* stream, const Made** made) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (made_ == nullptr) {
    auto own = std::make_unique<Made>();
    CAVS_RETURN_IF_ERROR(MakeConstants(stream, own.get()));
    made_ = std::move(own);
  }
  *made = made_.get();
  return Status();
}

// Other streams may read the constants at once, so that they are waited for.
Status CudaExecutable::MakeConstants(Stream* stream, Made* made) const {
  made->constants.assign(program_.symbols.size(), nullptr);
  const size_t bytes = constant_bytes_;
  if (bytes == 0) return Status();
  void* const data = memory_->Allocate(bytes);
  if (data == nullptr) {
    return kernels_->context().driver().Check(kCudaOutOfMemory,
                                              "taking memory for constants");
  }
  made->memory = std::shared_ptr<void>(
      data, [memory = memory_, bytes](void* own) { memory->Free(own, bytes); });
  char* next = static_cast<char*>(data);
  for (size_t id = 0; id < program_.symbols.size(); ++id) {
    const Symbol& own = program_.symbols[id];
    const size_t size = BytesOfConstant(own);
    if (size == 0) continue;
    made->constants[id] = next;
    CAVS_RETURN_IF_ERROR(static_cast<CudaStream*>(stream)->CopyIn(
        next, own.constant->data, size));
    next += Memory::Padded(size);
  }
  return stream->Synchronize();
}

Status CudaProgram::Prepare(Stream* stream) {
  stream_ = static_cast<CudaStream*>(stream);
  const CudaContext::Current current = stream_->Enter();
  CAVS_RETURN_IF_ERROR(executable_.Make(stream, &made_));
  stream_->LendToWalk(bindings_.workspace,
                      executable_.BytesOfWalk(*bindings_.rows));
  BindConstants(made_->constants);
  std::vector<CudaMove> copies;
  for (const auto& [id, from] : bindings_.copies) {
    copies.push_back({SizeOf(symbol(id).dtype), from,
                      bindings_.slots[id].rows.View(0, from.rows)});
  }
  return copies.empty() ? Status() : kernels_.Move(copies, stream_->queue());
}

void CudaProgram::BindConstants(const std::vector<void*>& constants) {
  for (size_t id = 0; id < program_.symbols.size(); ++id) {
    int64_t offset;
    const int root = program_.Root(static_cast<int>(id), &offset);
    if (constants[root] == nullptr) continue;
    bindings_.slots[id].dense =
        static_cast<char*>(constants[root]) +
        offset * static_cast<int64_t>(SizeOf(program_.symbols[id].dtype));
  }
}

Status CudaProgram::Run(Stage stage, const RowRange& at, Stream* stream) {
  stream_ = static_cast<CudaStream*>(stream);
  const CudaContext::Current current = stream_->Enter();
  const std::vector<CudaLaunch>& launches = executable_.launches(stage);
  for (size_t i = 0; i < launches.size();) {
    const size_t first = i;
    CAVS_RETURN_IF_ERROR(LaunchTogether(stage, first, at, &i));
    if (i > first) continue;
    const TraceScope scope(bindings_.tracer, stage,
                           [&] { return LabelOf(program_, launches[i]); });
    CAVS_RETURN_IF_ERROR(Launch(stage, i++, at, stream));
  }
  return Status();
}

Status CudaProgram::FinishSums(Stream* stream) {
  stream_ = static_cast<CudaStream*>(stream);
  const CudaContext::Current current = stream_->Enter();
  for (const int id : operands_.SumsOverNoRows()) {
    CAVS_RETURN_IF_ERROR(stream->Zero(
        operands_.Sum(id),
        ByteCount(1, operands_.columns(id), operands_.TypeOfSum(id))));
  }
  for (size_t id = 0; id < program_.symbols.size(); ++id) {
    const Symbol& own = program_.symbols[id];
    void* const sum = bindings_.slots[id].dense;
    if (own.kind != SymbolKind::kReduced || own.parent >= 0 || sum == nullptr ||
        !bindings_.slots[id].rounded_last) {
      continue;
    }
    CAVS_RETURN_IF_ERROR(kernels_.Round(own.dtype, sum, own.columns(),
                                        bindings_.workspace, stream_->queue()));
    CAVS_RETURN_IF_ERROR(stream->Copy(sum, bindings_.workspace,
                                      ByteCount(1, own.columns(), own.dtype)));
  }
  return Status();
}

bool CudaProgram::Runs(int number, const RowRange& at) const {
  if (at.childless && program_.zeros.only_for_children[number]) return false;
  return at.of(SpaceOf(program_, program_.nodes[number])).count > 0;
}

ConstBlock CudaProgram::Read(int id, const Node& node,
                             const RowRange& at) const {
  ConstBlock block = operands_.Read(id, at);
  block.rows = at.of(SpaceOf(program_, node)).count;
  if (!operands_.HasRows(id)) block.pitch = 0;
  return block;
}

Status CudaProgram::LaunchTogether(Stage stage, size_t i, const RowRange& at,
                                   size_t* done) {
  const std::vector<CudaLaunch>& launches = executable_.launches(stage);
  const std::vector<int>& summed = launches[i].summed;
  const size_t last = i + (summed.empty() ? 1 : 2);
  if (last >= launches.size() || !launches[last].is_epilogue) return Status();
  for (size_t k = i; k <= last; ++k) {
    if (!std::all_of(launches[k].nodes.begin(), launches[k].nodes.end(),
                     [&](int number) { return Runs(number, at); })) {
      return Status();
    }
  }
  sum_.terms.clear();
  for (const int id : summed) {
    if (id == summed.back()) {
      sum_.to = operands_.Rows(id, at);
    } else {
      sum_.terms.push_back(operands_.Read(id, at));
    }
  }
  const CudaLaunch &products = launches[last - 1], &group = launches[last];
  const auto& [alone, together] = *executable_.group(stage, last);
  CudaGroupArgs arguments;
  const size_t bytes = ArgumentsOf(group, at, &arguments);
  std::optional<TraceScope> scope;
  const auto begin = [&] {
    *done = last + 1;
    scope.emplace(bindings_.tracer, stage, [&] {
      return StrCat(summed.empty() ? "" : LabelOf(program_, launches[i]) + ", ",
                    LabelOf(program_, products), ", ",
                    LabelOf(program_, group));
    });
  };
  FindProducts(products.nodes, at);
  return kernels_.MultiplyThen(symbol(group.out).dtype, products_,
                               {&alone, &together, &arguments, bytes, sum_},
                               stream_->queue(), std::ref(begin));
}

Status CudaProgram::Launch(Stage stage, size_t i, const RowRange& at,
                           Stream* stream) {
  const CudaLaunch& launch = executable_.launches(stage)[i];
  const std::vector<int>& nodes = running_;
  running_.clear();
  for (const int i : launch.nodes) {
    if (Runs(i, at) || program_.nodes[i].kind == NodeKind::kForeign) {
      running_.push_back(i);
    }
  }
  if (nodes.empty()) return Status();
  switch (launch.kind) {
    case LaunchKind::kElementwise:
      return RunElementwise(launch, executable_.group(stage, i)->alone, at);
    case LaunchKind::kMoves:
      return Move(nodes, at);
    case LaunchKind::kProducts:
      return Multiply(nodes, stage, at);
    case LaunchKind::kSums:
      return AddUp(nodes, stage, at);
    case LaunchKind::kNode:
      return RunNode(program_.nodes[nodes[0]], at, stream);
  }
  return Status();
}

Status CudaProgram::RunElementwise(const CudaLaunch& launch,
                                   const CudaFoundKernel& group,
                                   const RowRange& at) {
  CudaGroupArgs arguments;
  const size_t bytes = ArgumentsOf(launch, at, &arguments);
  const CudaRowGrid own =
      kernels_.GridOverRows(arguments.rows, arguments.columns);
  arguments.shift = own.shift;
  arguments.block_rows = kCudaThreads >> own.shift;
  return kernels_.Launch(group, own.grid, stream_->queue(), &arguments, bytes);
}

size_t CudaProgram::ArgumentsOf(const CudaLaunch& launch, const RowRange& at,
                                CudaGroupArgs* arguments) const {
  arguments->rows = operands_.RowsOf(launch.out, at).count;
  arguments->columns = operands_.columns(launch.out);
  for (size_t i = 0; i < launch.operands.size(); ++i) {
    const int id = launch.operands[i];
    ConstBlock block = operands_.Read(id, at);
    if (IsSentBack(id)) {
      const Node& sends = program_.nodes[executable_.sent_by(id)];
      const int64_t column =
          program_.layout[id].offset - program_.layout[sends.inputs[0]].offset;
      block.data =
          static_cast<char*>(bindings_.state.data) +
          column * static_cast<int64_t>(SizeOf(program_.layout[id].dtype));
      block.pitch = bindings_.state.pitch;
      block.index = ChildRows(sends) + operands_.RowsOf(id, at).first;
    }
    const bool column = block.cols == 1 && arguments->columns > 1;
    arguments->operands[i] = {block.data, block.index, block.pitch,
                              operands_.HasRows(id) ? 1 : 0, column ? 0 : 1};
  }
  return offsetof(CudaGroupArgs, operands) +
         launch.operands.size() * sizeof(CudaGroupArgs::Operand);
}

Status CudaProgram::RunNode(const Node& node, const RowRange& at,
                            Stream* stream) {
  if (const DrawnMask* const mask = MaskOf(program_, node)) {
    return kernels_.DrawMask(
        symbol(node.outputs[0]).dtype, *mask, Read(node.inputs[0], node, at),
        operands_.Dense(node.inputs[1]), operands_.Rows(node.outputs[0], at),
        stream_->queue());
  }
  if (IsCast(program_, node)) {
    return kernels_.Cast(symbol(node.inputs[0]).dtype,
                         Read(node.inputs[0], node, at),
                         symbol(node.outputs[0]).dtype,
                         operands_.Rows(node.outputs[0], at), stream_->queue());
  }
  if (node.kind == NodeKind::kForeign) {
    CAVS_RETURN_IF_ERROR(stream->EndTasks());
    return bindings_.foreign->Run(node, at, stream);
  }
  const ConstBlock in = Read(node.inputs[0], node, at);
  const Block out = operands_.Rows(node.outputs[0], at);
  const DType dtype = symbol(node.outputs[0]).dtype;
  switch (node.kind) {
    case NodeKind::kSumColumns:
      return kernels_.SumColumns(dtype, in, out, stream_->queue());
    case NodeKind::kToMask:
      return kernels_.ToMask(dtype, in, out, stream_->queue());
    default:
      return kernels_.ReduceEdges(dtype, node.kind == NodeKind::kMaxEdges, in,
                                  bindings_.lists.edge_splits + at.first,
                                  at.edges.first, out, stream_->queue());
  }
}

void CudaProgram::FindProducts(const std::vector<int>& nodes,
                               const RowRange& at) {
  known_.clear();
  for (const int number : nodes) {
    const Node& node = program_.nodes[number];
    const ConstBlock from = Read(node.inputs[0], node, at);
    const Block to = operands_.Rows(node.outputs[0], at);
    const auto size =
        static_cast<int64_t>(SizeOf(symbol(node.outputs[0]).dtype));
    const bool alike =
        at.childless && operands_.IsZeroWithoutChildren(node.inputs[0]);
    int64_t column = 0;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const Symbol& w = symbol(node.inputs[i]);
      const int64_t width = w.shape[node.transpose ? 0 : 1];
      const std::pair<int, size_t> own(node.outputs[0], i);
      const size_t place =
          std::find(known_.begin(), known_.end(), own) - known_.begin();
      const bool is_new = place == known_.size();
      if (is_new) known_.push_back(own);
      if (place == products_.size()) products_.emplace_back();
      CudaProduct& product = products_[place];
      if (is_new) {
        product.terms.clear();
        product.to = {static_cast<char*>(to.data) + column * size, to.rows,
                      width, to.pitch};
        product.accumulate = node.accumulate;
        product.alike = true;
      }
      product.alike = product.alike && alike;
      product.terms.push_back({from, operands_.Dense(node.inputs[i]),
                               w.row_pitch(), node.transpose});
      column += width;
    }
  }
  products_.resize(known_.size());
}

Status CudaProgram::Multiply(const std::vector<int>& nodes, Stage stage,
                             const RowRange& at) {
  const DType dtype = symbol(program_.nodes[nodes[0]].outputs[0]).dtype;
  FindProducts(nodes, at);
  CAVS_RETURN_IF_ERROR(FormLarge(dtype, stage, &products_));
  return kernels_.Multiply(dtype, products_, stream_->queue());
}

// Not in tasks, which are small, and whose launches a walk collects.
template <typename Product>
Status CudaProgram::FormLarge(DType dtype, Stage stage,
                              std::vector<Product>* products) {
  const CublasLt* const library = kernels_.context().cublas_lt();
  if (library == nullptr || stage == Stage::kCritical) return Status();
  std::vector<Product> others;
  for (const Product& own : *products) {
    bool done = false;
    CAVS_RETURN_IF_ERROR(
        library->Form(dtype, own, stream_->queue(), WorkspaceOf(stage), &done));
    if (!done) others.push_back(own);
  }
  *products = std::move(others);
  return Status();
}

Status CudaProgram::AddUp(const std::vector<int>& nodes, Stage stage,
                          const RowRange& at) {
  std::vector<CudaSum> sums;
  for (const int number : nodes) {
    const Node& node = program_.nodes[number];
    const int id = node.outputs[0];
    CudaSum sum;
    if (node.kind == NodeKind::kWeightGrad) {
      sum.x = Read(node.inputs[0], node, at);
      sum.zeros = ZerosOf(node.inputs[0], at);
    }
    sum.y = Read(node.inputs.back(), node, at);
    sum.to = operands_.Sum(id);
    sum.accumulate = *bindings_.sum_begun[id];
    *bindings_.sum_begun[id] = true;
    // Without columns, x would stand for a sum of y alone.
    if (symbol(id).columns() > 0) sums.push_back(sum);
  }
  if (sums.empty()) return Status();
  const DType dtype = symbol(program_.nodes[nodes[0]].outputs[0]).dtype;
  CAVS_RETURN_IF_ERROR(FormLarge(dtype, stage, &sums));
  return kernels_.SumOverRows(dtype, sums, WorkspaceOf(stage),
                              stream_->queue());
}

// How many of the first rows are zero since their vertices have no children.
int64_t CudaProgram::ZerosOf(int id, const RowRange& at) const {
  if (program_.layout[id].space != RowSpace::kVertices ||
      !operands_.IsZeroWithoutChildren(id)) {
    return 0;
  }
  return std::clamp<int64_t>(at.childless_end - at.first, 0, at.count);
}

void* CudaProgram::WorkspaceOf(Stage stage) const {
  char* own = static_cast<char*>(bindings_.workspace) +
              executable_.BytesOfWalk(*bindings_.rows);
  for (const Stage before : kRowStages) {
    if (before == stage) break;
    own += executable_.BytesOfStage(before, *bindings_.rows);
  }
  return own;
}

// Rows that several vertices send gradients to are added in order, slot by
// slot.
Status CudaProgram::Move(const std::vector<int>& nodes, const RowRange& at) {
  moves_.clear();
  for (const int number : nodes) {
    const Node& node = program_.nodes[number];
    CudaMove move;
    if (!MoveOf(node, at, &move)) continue;
    const bool writes = !node.outputs.empty();
    const DType dtype = symbol((writes ? node.outputs : node.inputs)[0]).dtype;
    if (node.kind == NodeKind::kGatherGrad && !bindings_.gathered_once) {
      const IndexLists& lists = bindings_.lists;
      const int32_t* const links =
          node.index < 0 ? lists.edge_links : lists.child_link(node.index);
      const int64_t first = move.to_index - ChildRows(node);
      CAVS_RETURN_IF_ERROR(kernels_.AddRows(dtype, move.from, move.to_index,
                                            links + 2 * first, move.to,
                                            stream_->queue()));
    } else if (MovesState(node.kind) && bindings_.state_dtype != dtype) {
      CAVS_RETURN_IF_ERROR(
          kernels_.RoundRows(dtype, move.from, move.to, stream_->queue()));
    } else {
      moves_.push_back(move);
    }
  }
  return moves_.empty() ? Status() : kernels_.Move(moves_, stream_->queue());
}

// Where no two rows go to the same one, so that nothing is added.
bool CudaProgram::IsSentBack(int id) const {
  return executable_.sent_by(id) >= 0 && bindings_.gathered_once &&
         bindings_.slots[id].rows.extent() != Extent::kChildren;
}

const int32_t* CudaProgram::ChildRows(const Node& node) const {
  const IndexLists& lists = bindings_.lists;
  return node.index < 0 ? lists.edge_child : lists.child_row(node.index);
}

bool CudaProgram::MoveOf(const Node& node, const RowRange& at,
                         CudaMove* move) const {
  const bool writes = !node.outputs.empty();
  const int id = writes ? node.outputs[0] : node.inputs[0];
  const Slot& slot = bindings_.slots[id];
  if (slot.index != nullptr) return false;  // Its rows are read in place.
  const Extent extent = slot.rows.extent();
  const Block rows = operands_.Rows(id, at);
  const IndexLists& lists = bindings_.lists;
  move->size = SizeOf(symbol(id).dtype);
  // Where the rows come from or go, and the numbers of the rows there.
  Block other = bindings_.state;
  const int32_t* index = nullptr;
  switch (node.kind) {
    case NodeKind::kZero:
      move->to = rows;
      return true;
    case NodeKind::kCopy:
      move->from = Read(node.inputs[0], node, at);
      move->to = rows;
      return true;
    case NodeKind::kSpread:
      move->from = Read(node.inputs[0], node, at);
      move->via = lists.edge_row + at.edges.first;
      move->first_via = at.first;
      move->to = rows;
      return true;
    case NodeKind::kVertexIds:
      move->from = {lists.vertex + at.first, at.count, 1, 1};
      move->to = rows;
      return true;
    case NodeKind::kScatter:
    case NodeKind::kScatterGrad:
      if (extent == Extent::kState) return false;
      index = lists.state_row;
      break;
    case NodeKind::kGather:
    case NodeKind::kGatherGrad:
      if (extent == Extent::kChildren || IsSentBack(id)) return false;
      index = ChildRows(node);
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
  if (writes) {
    move->from = other;
    move->from.index = index;
    move->to = rows;
    return true;
  }
  move->from = rows;
  move->to = {other.data, rows.rows, rows.cols, other.pitch};
  move->to_index = index;
  return true;
}

}  // namespace cavs
