#include "cc/core/program_run.h"

#include <cassert>
#include <cstring>
#include <string>

#include "cc/core/byte_count.h"

namespace cavs {
namespace {

// A packed weight must serve this many rows to be worth the pass over it.
constexpr int64_t kRowsToPack = 16;

// "[3, 2]".
std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (int64_t d : shape) text += StrCat(text.size() > 1 ? ", " : "", d);
  return text + "]";
}

}  // namespace

ProgramRun::ProgramRun(const Program& program, const TypeRows& rows,
                       const Environment& environment, Externals externals)
    : program_(program),
      rows_(rows),
      env_(environment),
      ext_(std::move(externals)),
      values_(program.symbols.size()) {}

int64_t ProgramRun::RowsToStore(const Symbol& symbol) const {
  if (symbol.kind == SymbolKind::kReduced) return 1;
  return symbol.reused ? rows_.largest_task() : rows_.size();
}

bool ProgramRun::IsStored(const Symbol& symbol) const {
  return symbol.source == SymbolSource::kNode && symbol.parent < 0 &&
         (symbol.kind == SymbolKind::kRows ||
          symbol.kind == SymbolKind::kReduced);
}

size_t ProgramRun::BytesToStore(const Symbol& symbol) const {
  return Arena::Padded(
      ByteCount(RowsToStore(symbol), symbol.columns(), symbol.dtype));
}

Status ProgramRun::Bind() {
  std::vector<bool> kept(program_.symbols.size(), false);
  if (ext_.results.empty()) {
    int64_t offset;
    for (int id : program_.results) kept[program_.Root(id, &offset)] = true;
  }
  CAVS_RETURN_IF_ERROR(BindStored(kept, &kept_, 0));
  kept.flip();
  CAVS_RETURN_IF_ERROR(BindStored(kept, &scratch_, PlanPacking()));
  BindGiven();
  BindViews();
  return Status();
}

// Which weights are worth packing, and the bytes they take.
size_t ProgramRun::PlanPacking() {
  size_t bytes = 0;
  for (const Node& node : program_.nodes) {
    if (node.kind != NodeKind::kMatMul || rows_.size() < kRowsToPack) continue;
    const Symbol& weight = symbol(node.inputs[1]);
    const auto key = std::make_pair(node.inputs[1], node.transpose);
    if (!packed_.emplace(key, Packed()).second) continue;
    const int64_t k = weight.shape[node.transpose ? 1 : 0];
    const int64_t n = weight.shape[node.transpose ? 0 : 1];
    bytes += Arena::Padded(env_.backend->PackedBytes(weight.dtype, k, n));
  }
  return bytes;
}

// One buffer for all `wanted` roots, and the packed weights if there is room
// for them.
Status ProgramRun::BindStored(const std::vector<bool>& wanted,
                              std::shared_ptr<void>* memory,
                              size_t extra_bytes) {
  size_t bytes = extra_bytes;
  for (size_t id = 0; id < values_.size(); ++id) {
    if (!wanted[id] || !IsStored(symbol(id))) continue;
    bytes = SaturatingAdd(bytes, BytesToStore(symbol(id)));
  }
  *memory = env_.pool->Acquire(bytes);
  if (*memory == nullptr) {
    return Status(StatusCode::kResourceExhausted,
                  StrCat("minibatch: its dynamic tensors need ", bytes,
                         " bytes but the system has no such block. Use a "
                         "smaller minibatch or state."));
  }
  Arena arena(memory->get(), bytes);
  for (size_t id = 0; id < values_.size(); ++id) {
    const Symbol& s = symbol(id);
    if (!wanted[id] || !IsStored(s)) continue;
    void* data = arena.Take(BytesToStore(s));
    if (s.kind == SymbolKind::kRows) {
      values_[id].rows = DynamicTensor(s.dtype, data, RowsToStore(s),
                                       s.columns(), s.columns(), s.reused);
    } else {
      values_[id].dense.dtype = s.dtype;
      values_[id].dense.shape = s.shape;
      values_[id].dense.data = data;
    }
  }
  if (extra_bytes == 0) return Status();
  for (auto& [key, packed] : packed_) {
    const Symbol& weight = symbol(key.first);
    packed.data = arena.Take(env_.backend->PackedBytes(
        weight.dtype, weight.shape[key.second ? 1 : 0],
        weight.shape[key.second ? 0 : 1]));
  }
  return Status();
}

// Captures, constants, and what the tape saved.
void ProgramRun::BindGiven() {
  for (size_t id = 0; id < values_.size(); ++id) {
    const Symbol& s = symbol(id);
    if (s.source == SymbolSource::kCapture) {
      values_[id].dense = ext_.captures[s.index];
    } else if (s.source == SymbolSource::kConstant) {
      values_[id].dense = *s.constant;
    } else if (s.source == SymbolSource::kSaved) {
      values_[id] = (*ext_.saved)[s.index];
    }
  }
  // A sum that is a result is formed where the result goes.
  for (size_t i = 0; i < ext_.results.size(); ++i) {
    int64_t offset;
    const int root = program_.Root(program_.results[i], &offset);
    if (symbol(root).kind == SymbolKind::kReduced &&
        symbol(root).source == SymbolSource::kNode) {
      values_[root].dense.data = ext_.results[i].data;
    }
  }
}

void ProgramRun::BindViews() {
  for (size_t id = 0; id < values_.size(); ++id) {
    const Symbol& s = symbol(id);
    if (s.parent < 0) continue;
    int64_t offset;
    const int root = program_.Root(static_cast<int>(id), &offset);
    if (s.kind == SymbolKind::kRows) {
      values_[id].rows = values_[root].rows.Columns(offset, s.columns());
    } else {
      values_[id].dense = values_[root].dense;
      values_[id].dense.shape = s.shape;
    }
  }
}

Block ProgramRun::Rows(int id, int64_t first, int64_t count) const {
  assert(symbol(id).kind == SymbolKind::kRows);
  return values_[id].rows.View(first, count);
}

ConstBlock ProgramRun::Operand(int id, int64_t first, int64_t count) const {
  if (symbol(id).kind == SymbolKind::kRows) return Rows(id, first, count);
  const int64_t columns = symbol(id).columns();
  return {values_[id].dense.data, 1, columns, columns};
}

Status ProgramRun::RunPrologue() {
  CAVS_RETURN_IF_ERROR(RunStage(Stage::kPrologue, 0, 0, 0));
  for (const Node& node : program_.nodes) {
    if (node.kind == NodeKind::kForeign) continue;
    for (int id : node.inputs) {
      const TensorRef& value = values_[id].dense;
      if (symbol(id).kind != SymbolKind::kInvariant ||
          value.shape == symbol(id).shape) {
        continue;
      }
      return InvalidArgument(
          "vertex function: operator ", node.name, " (", node.op,
          ") got a weight of shape ", ShapeText(value.shape), " but expected ",
          ShapeText(symbol(id).shape),
          ", as when it was traced. What is computed from weights alone must "
          "keep its shape.");
    }
  }
  return Status();
}

Status ProgramRun::RunRows(Stage stage) {
  // The whole minibatch at once; opaque values never get here.
  if (rows_.size() == 0) return Status();
  return RunStage(stage, 0, rows_.size(), 0);
}

Status ProgramRun::RunStage(Stage stage, int64_t first, int64_t count,
                            int64_t task) {
  for (const Node& node : program_.nodes) {
    if (node.stage != stage) continue;
    CAVS_RETURN_IF_ERROR(RunNode(node, first, count, task));
  }
  return Status();
}

Status ProgramRun::RunNode(const Node& node, int64_t first, int64_t count,
                           int64_t task) {
  const Backend& backend = *env_.backend;
  switch (node.kind) {
    case NodeKind::kForeign:
      return RunForeign(node, first, count, task);
    case NodeKind::kMatMul:
      RunProduct(node, first, count);
      return Status();
    case NodeKind::kWeightGrad:
    case NodeKind::kSumRows:
      AddUp(node, first, count);
      return Status();
    default:
      break;
  }
  if (node.kind <= NodeKind::kVertexIds) {
    RunPassing(node, first, count);
    return Status();
  }
  const Block out = Rows(node.outputs[0], first, count);
  const DType dtype = symbol(node.outputs[0]).dtype;
  if (node.kind == NodeKind::kZero) {
    backend.Zero(dtype, out);
    return Status();
  }
  const ConstBlock in = Operand(node.inputs[0], first, count);
  if (node.kind == NodeKind::kCopy) {
    backend.Copy(dtype, in, out);
  } else if (node.kind == NodeKind::kSumColumns) {
    backend.SumColumns(dtype, in, out);
  } else if (IsBinary(node.elementwise)) {
    backend.Binary(node.elementwise, dtype, in,
                   Operand(node.inputs[1], first, count), out);
  } else {
    backend.Unary(node.elementwise, dtype, in, out);
  }
  return Status();
}

void ProgramRun::RunProduct(const Node& node, int64_t first, int64_t count) {
  const Symbol& weight = symbol(node.inputs[1]);
  const ConstBlock a = Rows(node.inputs[0], first, count);
  const Block c = Rows(node.outputs[0], first, count);
  const TensorRef& w = values_[node.inputs[1]].dense;
  const ConstBlock b(w.data, weight.shape[0], weight.shape[1], weight.shape[1]);
  const auto packed = packed_.find({node.inputs[1], node.transpose});
  if (packed == packed_.end()) {
    env_.backend->MatMul(weight.dtype, a, b, node.transpose, c, false);
    return;
  }
  if (!packed->second.ready) {
    env_.backend->Pack(weight.dtype, b, node.transpose, packed->second.data);
    packed->second.ready = true;
  }
  env_.backend->MatMulPacked(weight.dtype, a, packed->second.data, c, false);
}

// Sums over rows: the first writes, further tasks add.
void ProgramRun::AddUp(const Node& node, int64_t first, int64_t count) {
  const Symbol& sum = symbol(node.outputs[0]);
  Value& value = values_[node.outputs[0]];
  const ConstBlock x = Rows(node.inputs[0], first, count);
  if (node.kind == NodeKind::kSumRows) {
    const Block out{value.dense.data, 1, sum.columns(), sum.columns()};
    env_.backend->SumRows(sum.dtype, x, out, value.written);
  } else {
    const ConstBlock y = Rows(node.inputs[1], first, count);
    const Block out{value.dense.data, x.cols, y.cols, y.cols};
    env_.backend->MatMulTransposeA(sum.dtype, x, y, out, value.written);
  }
  value.written = true;
}

void ProgramRun::RunPassing(const Node& node, int64_t first, int64_t count) {
  const Backend& backend = *env_.backend;
  const bool writes = !node.outputs.empty();
  const int id = writes ? node.outputs[0] : node.inputs[0];
  const DType dtype = symbol(id).dtype;
  const Block rows = Rows(id, first, count);
  const int32_t* vertex = rows_.vertex().data() + first;
  const int32_t* state_row = rows_.state_row().data() + first;
  switch (node.kind) {
    case NodeKind::kGather:
      backend.GatherRows(dtype, ext_.state,
                         rows_.child_row(node.index).data() + first, rows);
      return;
    case NodeKind::kGatherGrad:
      backend.ScatterAddRows(
          dtype, rows, rows_.child_row(node.index).data() + first, ext_.state);
      return;
    case NodeKind::kScatter:
      backend.ScatterRows(dtype, rows, state_row, ext_.state);
      return;
    case NodeKind::kScatterGrad:
      backend.GatherRows(dtype, ext_.state, state_row, rows);
      return;
    case NodeKind::kPull:
    case NodeKind::kPushGrad:
      backend.GatherRows(dtype, ext_.inputs[node.index], vertex, rows);
      return;
    case NodeKind::kPush:
    case NodeKind::kPullGrad:
      backend.ScatterRows(dtype, rows, vertex, ext_.outputs[node.index]);
      return;
    case NodeKind::kVertexIds:
      backend.Copy(DType::kInt32, ConstBlock(vertex, count, 1, 1), rows);
      return;
    default:
      assert(false && "not a passing node");
  }
}

Status ProgramRun::RunEpilogue() {
  for (size_t id = 0; id < values_.size(); ++id) {
    // A sum over no rows.
    const Symbol& s = symbol(id);
    if (IsStored(s) && s.kind == SymbolKind::kReduced && !values_[id].written) {
      std::memset(values_[id].dense.data, 0, s.columns() * SizeOf(s.dtype));
    }
  }
  CAVS_RETURN_IF_ERROR(RunStage(Stage::kEpilogue, 0, 0, 0));
  for (size_t i = 0; i < ext_.results.size(); ++i) {
    const TensorRef& from = values_[program_.results[i]].dense;
    const TensorRef& to = ext_.results[i];
    const Symbol& s = symbol(program_.results[i]);
    const size_t bytes = s.columns() * SizeOf(s.dtype);
    if (from.data == nullptr && bytes > 0) {
      return Internal(
          "gradient of a capture: got a value per task but expected a sum over "
          "rows");
    }
    if (from.data != to.data && bytes > 0)
      std::memcpy(to.data, from.data, bytes);
  }
  return Status();
}

std::vector<Value> ProgramRun::TakeResults(
    std::vector<std::shared_ptr<void>>* memory) {
  std::vector<Value> results;
  results.reserve(program_.results.size());
  for (int id : program_.results) results.push_back(values_[id]);
  memory->push_back(kept_);
  return results;
}

}  // namespace cavs
