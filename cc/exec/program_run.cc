#include "cc/exec/program_run.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "cc/base/byte_count.h"

namespace cavs {
namespace {

// A packed weight must serve this many rows to be worth the pass over it, and
// more than one product: one alone packs what it needs as it goes. If it is
// read by rows, there must be so many at a time that the product would not read
// it where it is.
constexpr int64_t kRowsToPack = 16;
constexpr int64_t kRowsAtATimeToPack = 7;

int64_t NumElements(const TensorRef& tensor) {
  int64_t n = 1;
  for (int64_t d : tensor.shape) n *= d;
  return n;
}

// "[3, 2]".
std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (int64_t d : shape) text += StrCat(text.size() > 1 ? ", " : "", d);
  return text + "]";
}

}  // namespace

ProgramRun::ProgramRun(const CompiledProgram& program, const TypeRows& rows,
                       const Environment& environment, Externals externals)
    : program_(program),
      zeros_(program.zeros),
      rows_(rows),
      env_(environment),
      ext_(std::move(externals)),
      values_(program.symbols.size()),
      is_product_of_zeros_(program.nodes.size(), false),
      packed_of_(program.nodes.size(), nullptr) {}

DynamicTensor::Span ProgramRun::SpanOf(int id, bool kept) const {
  using Span = DynamicTensor::Span;
  const Symbol& s = symbol(id);
  if (kept || s.source == SymbolSource::kSaved) return Span::kStep;
  if (s.lifetime == Lifetime::kTask) return Span::kTask;
  if (s.lifetime == Lifetime::kPiece && ext_.largest_piece >= 0) {
    return Span::kPiece;
  }
  return ext_.largest_chunk < 0 ? Span::kStep : Span::kChunk;
}

int64_t ProgramRun::LargestChunk() const {
  return ext_.largest_chunk < 0 ? rows_.size() : ext_.largest_chunk;
}

int64_t ProgramRun::RowsToStore(int id, bool kept, int64_t chunk) const {
  if (symbol(id).kind == SymbolKind::kReduced) return 1;
  switch (SpanOf(id, kept)) {
    case DynamicTensor::Span::kTask:
      return std::min(rows_.largest_task(), chunk);
    case DynamicTensor::Span::kPiece:
      return std::min(ext_.largest_piece, chunk);
    case DynamicTensor::Span::kChunk:
      return chunk;
    default:
      return rows_.size();
  }
}

bool ProgramRun::IsCopied(int id) const {
  const Symbol& s = symbol(id);
  return s.source == SymbolSource::kSaved && s.kind == SymbolKind::kRows &&
         s.parent < 0 && !s.viewed && ext_.saved_by_index[s.index];
}

bool ProgramRun::IsStored(int id) const {
  const Symbol& s = symbol(id);
  if (IsCopied(id)) return true;
  return s.source == SymbolSource::kNode && s.parent < 0 && s.stored &&
         values_[id].rows.capacity() == 0 &&
         (s.kind == SymbolKind::kRows || s.kind == SymbolKind::kReduced);
}

DType ProgramRun::StoredType(int id) const {
  const DType dtype = symbol(id).dtype;
  return symbol(id).rounded_last ? SumType(dtype) : dtype;
}

// A sum that is a result is formed where the result goes, if it fits there.
bool ProgramRun::IsFormedInResult(int id) const {
  if (ext_.results.empty() || symbol(id).kind != SymbolKind::kReduced ||
      symbol(id).rounded_last) {
    return false;
  }
  const auto is_it = [&](int result) {
    int64_t offset;
    return program_.Root(result, &offset) == id;
  };
  return std::any_of(program_.results.begin(), program_.results.end(), is_it);
}

size_t ProgramRun::BytesToStore(int id, bool kept, int64_t chunk) const {
  if (IsFormedInResult(id)) return 0;
  return Arena::Padded(ByteCount(RowsToStore(id, kept, chunk),
                                 symbol(id).columns(), StoredType(id)));
}

MemoryNeed ProgramRun::PlanStorage() {
  on_tape_.assign(program_.symbols.size(), false);
  if (ext_.results.empty()) {
    int64_t offset;
    for (int id : program_.results) on_tape_[program_.Root(id, &offset)] = true;
  }
  for (const Symbol& s : program_.symbols) {
    joined_step_.push_back(s.joined.slots > 0 ? JoinedStep(s.joined) : 0);
  }
  BindToState();
  BindJoined();
  for (int id = 0; id < static_cast<int>(values_.size()); ++id) {
    if (!IsStored(id)) continue;
    const bool kept = on_tape_[id];
    if (ext_.binds_chunks && symbol(id).kind == SymbolKind::kRows &&
        SpanOf(id, kept) != DynamicTensor::Span::kStep) {
      by_chunk_.push_back(id);
      continue;
    }
    (kept ? kept_ids_ : scratch_ids_).push_back(id);
    size_t& bytes = kept ? need_.tape : need_.temporaries;
    bytes = SaturatingAdd(bytes, BytesToStore(id, kept, LargestChunk()));
  }
  need_.packed_weights = PlanPacking();
  return need_;
}

std::pair<std::vector<int>, bool> ProgramRun::PackingKey(const Node& node) {
  return {{node.inputs.begin() + 1, node.inputs.end()}, node.transpose};
}

// Which weights are worth packing, and the bytes they take.
size_t ProgramRun::PlanPacking() {
  size_t bytes = 0;
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    const Node& node = program_.nodes[i];
    if (node.kind != NodeKind::kMatMul || rows_.size() < kRowsToPack) continue;
    if (node.stage != Stage::kCritical && rows_.size() <= kBlockRows) continue;
    if (node.stage == Stage::kCritical && !node.transpose &&
        rows_.size() < kRowsAtATimeToPack * rows_.num_tasks()) {
      continue;
    }
    const auto [packed, is_new] = packed_.emplace(PackingKey(node), Packed());
    packed_of_[i] = &packed->second;
    if (!is_new) continue;
    packed->second.columns = symbol(node.outputs[0]).columns();
    packed->second.depth = symbol(node.inputs[0]).columns();
    bytes += Arena::Padded(PackedBytes(packed->second, node.inputs[1]));
  }
  return bytes;
}

size_t ProgramRun::PackedBytes(const Packed& packed, int weight) const {
  return env_.backend->PackedBytes(symbol(weight).dtype, packed.depth,
                                   packed.columns);
}

void ProgramRun::PackWeights() {
  const TraceScope scope(env_.tracer, Stage::kPrologue,
                         [] { return "pack weights"; });
  for (auto& [key, packed] : packed_) {
    int64_t column = 0;
    for (int weight : key.first) {
      const Symbol& w = symbol(weight);
      const ConstBlock block(Dense(weight), w.shape[0], w.shape[1], w.shape[1]);
      env_.backend->Pack(w.dtype, block, key.second, packed.columns, column,
                         packed.data);
      column += w.shape[key.second ? 0 : 1];
    }
  }
}

Block ProgramRun::Rows(int id, const Place& at) const {
  assert(symbol(id).kind == SymbolKind::kRows && values_[id].index == nullptr);
  const DynamicTensor& rows = values_[id].rows;
  switch (rows.span()) {
    case DynamicTensor::Span::kStep:
      return rows.View(at.first, at.count);
    case DynamicTensor::Span::kChunk:
      return rows.View(at.first - at.first_of_chunk, at.count);
    case DynamicTensor::Span::kPiece:
      return rows.View(at.first - at.first_of_piece, at.count);
    case DynamicTensor::Span::kTask:
      return rows.View(at.first - at.first_of_task, at.count);
    case DynamicTensor::Span::kChildren: {
      Block block = rows.View(0, at.count);
      if (at.count == 0) return block;
      const int64_t first = rows_.child_row(0)[at.first] * ext_.state.pitch;
      block.data =
          static_cast<char*>(block.data) + first * SizeOf(rows.dtype());
      return block;
    }
    case DynamicTensor::Span::kState:
      break;
  }
  return rows.View(at.count == 0 ? 0 : rows_.state_row()[at.first], at.count);
}

ConstBlock ProgramRun::Operand(int id, const Place& at) const {
  if (const int32_t* index = values_[id].index) {
    ConstBlock rows = values_[id].rows.View(0, 0);
    rows.rows = at.count;
    rows.index = index + at.first;
    return rows;
  }
  if (symbol(id).kind == SymbolKind::kRows) return Rows(id, at);
  const int64_t columns = symbol(id).columns();
  return {Dense(id), 1, columns, columns};
}

char* ProgramRun::Dense(int id) const {
  int64_t offset;
  const int root = program_.Root(id, &offset);
  return static_cast<char*>(values_[root].dense.data) +
         offset * SizeOf(symbol(id).dtype);
}

void ProgramRun::CopySaved() {
  for (size_t id = 0; id < values_.size(); ++id) {
    if (!IsCopied(static_cast<int>(id))) continue;
    const Value& from = (*ext_.saved)[symbol(id).index];
    ConstBlock rows = from.rows.View(0, 0);
    rows.rows = rows_.size();
    rows.index = from.index;
    env_.backend->Copy(symbol(id).dtype, rows,
                       values_[id].rows.View(0, rows_.size()));
  }
}

Status ProgramRun::RunPrologue() {
  CopySaved();
  for (const Node& node : program_.nodes) {
    if (node.stage != Stage::kPrologue) continue;
    CAVS_RETURN_IF_ERROR(RunForeign(node, Place()));
  }
  for (const Node& node : program_.nodes) {
    if (node.kind == NodeKind::kForeign) continue;
    for (int id : node.inputs) {
      int64_t offset;
      const int root = program_.Root(id, &offset);
      const TensorRef& value = values_[root].dense;
      if (symbol(root).kind != SymbolKind::kInvariant ||
          value.shape == symbol(root).shape) {
        continue;
      }
      return InvalidArgument(
          "vertex function: operator ", node.name, " (", node.op,
          ") got a weight of shape ", ShapeText(value.shape), " but expected ",
          ShapeText(symbol(root).shape),
          ", as when it was traced. What is computed from weights alone must "
          "keep its shape.");
    }
  }
  FindProductsOfZeros();
  PackWeights();
  return Status();
}

// Zero times a weight is zero, unless the weight is infinite or NaN.
void ProgramRun::FindProductsOfZeros() {
  bool childless = false;
  for (int64_t task = 0; task < rows_.num_tasks_in_all(); ++task) {
    childless = childless || rows_.childless(task);
  }
  if (!childless) return;
  std::map<int, bool> finite;  // By weight.
  const auto is_finite = [&](int id) {
    const auto [known, is_new] = finite.emplace(id, false);
    if (is_new) known->second = IsFinite(id);
    return known->second;
  };
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    const Node& node = program_.nodes[i];
    is_product_of_zeros_[i] =
        node.kind == NodeKind::kMatMul && node.stage == Stage::kCritical &&
        IsZeroWithoutChildren(node.inputs[0]) &&
        std::all_of(node.inputs.begin() + 1, node.inputs.end(), is_finite);
  }
}

bool ProgramRun::IsFinite(int weight) const {
  const Symbol& w = symbol(weight);
  return env_.backend->IsFinite(
      w.dtype, {Dense(weight), w.shape[0], w.shape[1], w.shape[1]});
}

void ProgramRun::FinishSums() {
  for (size_t i = 0; i < values_.size(); ++i) {
    const int id = static_cast<int>(i);
    const Symbol& s = symbol(id);
    if (!IsStored(id) || s.kind != SymbolKind::kReduced) continue;
    if (!values_[id].written) {  // A sum over no rows.
      const size_t bytes = s.columns() * SizeOf(StoredType(id));
      std::fill_n(static_cast<char*>(values_[id].dense.data), bytes, 0);
    } else if (s.rounded_last) {
      env_.backend->RoundSums(s.dtype, s.columns(), values_[id].dense.data);
    }
  }
}

Status ProgramRun::RunEpilogue() {
  FinishSums();
  for (const Node& node : program_.nodes) {
    if (node.stage != Stage::kEpilogue) continue;
    CAVS_RETURN_IF_ERROR(RunForeign(node, Place()));
  }
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
    if (s.kind == SymbolKind::kInvariant && NumElements(from) != s.columns()) {
      return InvalidArgument(
          "gradient of a capture: got ", NumElements(from),
          " elements but expected ", s.columns(),
          ", as when it was traced. What is computed from weights alone must "
          "keep its shape.");
    }
    if (from.data != to.data && bytes > 0)
      std::copy_n(static_cast<const char*>(from.data), bytes,
                  static_cast<char*>(to.data));
  }
  return Status();
}

std::vector<Value> ProgramRun::Results() const {
  std::vector<Value> results;
  results.reserve(program_.results.size());
  for (int id : program_.results) {
    results.push_back(values_[id]);
    results.back().zero_without_children = IsZeroWithoutChildren(id);
  }
  return results;
}

}  // namespace cavs
