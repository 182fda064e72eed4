#include "cc/exec/run.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/exec/executor_checks.h"

namespace cavs {
namespace {

// With two streams, the number of chunks by which the eager stage is ahead:
// enough for the critical path not to wait, few enough for the values to be in
// the cache.
constexpr int64_t kAhead = 2;

}  // namespace

Run::Run(const StepPlan& plan, const Model& model, const RowPlan& rows,
         const StepContext& context, RunArguments arguments, Guards* guards)
    : plan_(plan),
      model_(model),
      rows_(rows),
      context_(context),
      critical_(context.stream),
      other_(plan.two_streams ? context.other : context.stream),
      arguments_(std::move(arguments)),
      guards_(guards),
      parts_(rows.num_types()) {}

Run::~Run() {
  if (other_ != critical_) {
    (void)critical_->Wait(other_->Record());
    (void)other_->Retire();
  }
  (void)critical_->Retire();
  // Memory must return to the pool without zones.
  if (arena_memory_ != nullptr && guards_ != nullptr) {
    guards_->KeepFirst(zones_before_);
  }
}

Status Run::Start(const std::function<Status()>& refuse) {
  // Memory outlives the run in the forward direction only. It is taken first:
  // so it reuses its buffer of the step before, and leaves the buffer of the
  // backward direction for memory that is returned soon.
  const bool keeps = plan_.direction == Direction::kForward;
  const size_t margin = guards_ == nullptr ? 0 : Guards::kMargin;
  const size_t kept = SaturatingAdd(plan_.kept_bytes, margin);
  const size_t arena = SaturatingAdd(plan_.arena_bytes, margin);
  kept_ = keeps ? context_.pool->Acquire(kept) : nullptr;
  arena_memory_ = context_.pool->Acquire(
      keeps ? arena : SaturatingAdd(plan_.kept_bytes, arena));
  if (arena_memory_ == nullptr || (keeps && kept_ == nullptr)) return refuse();
  arena_ = static_cast<char*>(arena_memory_.get());
  kept_begin_ = keeps ? static_cast<char*>(kept_.get()) : arena_;
  if (!keeps) arena_ += plan_.kept_bytes;
  if (guards_ != nullptr) zones_before_ = guards_->size();
  if (arguments_.upload) {
    CAVS_RETURN_IF_ERROR(
        arguments_.upload(kept_begin_ + plan_.lists_offset, &arguments_));
  }
  CAVS_RETURN_IF_ERROR(BindState());
  CAVS_RETURN_IF_ERROR(BindInputs());
  for (int type = 0; type < rows_.num_types(); ++type) {
    if (!IsIdle(model_, rows_, type)) BindProgram(type);
  }
  if (guards_ != nullptr) zones_of_run_ = guards_->size();
  return Status();
}

Status Run::BindState() {
  char* before = kept_begin_ + plan_.state_offset;
  state_ = {before + plan_.zeros_bytes, rows_.num_rows(), model_.state_columns,
            model_.state_columns};
  CAVS_RETURN_IF_ERROR(critical_->Zero(before, plan_.zeros_bytes));
  if (guards_ == nullptr) return Status();
  const char* const name = plan_.direction == Direction::kBackward
                               ? "the state's gradient"
                               : "the state";
  guards_->Add(kept_begin_, kept_begin_ + plan_.zone,
               "the zone before all others");
  guards_->Add(before + plan_.state_bytes,
               before + Memory::Padded(plan_.state_bytes) + plan_.zone, name);
  guards_->AddZeros(before, state_.data, StrCat("the row before ", name));
  return Status();
}

// Copies inputs behind a row of zeros.
Status Run::BindInputs() {
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    const InputCopy& copy = plan_.inputs[i];
    if (copy.bytes == 0) continue;
    char* const before = (copy.outlives ? kept_begin_ : arena_) + copy.offset;
    char* const rows = before + copy.zeros_bytes;
    CAVS_RETURN_IF_ERROR(critical_->Zero(before, copy.zeros_bytes));
    CAVS_RETURN_IF_ERROR(critical_->Copy(rows, arguments_.inputs[i].data,
                                         copy.bytes - copy.zeros_bytes));
    arguments_.inputs[i].data = rows;
    if (guards_ == nullptr) continue;
    const std::string name =
        StrCat(plan_.direction == Direction::kBackward ? "the gradient of push "
                                                       : "input ",
               i);
    guards_->Add(before + copy.bytes,
                 before + Memory::Padded(copy.bytes) + plan_.zone, name);
    guards_->AddZeros(before, rows, StrCat("the row before ", name));
  }
  return Status();
}

void Run::BindProgram(int type) {
  const CompiledProgram& program = model_.programs[type];
  Bindings& own = parts_[type].bindings;
  own.rows = &rows_.type(type);
  own.lists = arguments_.lists[type];
  own.state = state_;
  own.state_dtype = plan_.state_dtype;
  own.gathered_once = plan_.gathered_once;
  own.inputs = arguments_.inputs;
  own.outputs = arguments_.outputs;
  own.input_rows = arguments_.input_rows[type];
  own.output_rows = arguments_.output_rows[type];
  own.slots.resize(program.symbols.size());
  BindSums(type);
  own.tracer = context_.tracer;
  const auto count = static_cast<int>(own.slots.size());
  for (int id = 0; id < count; ++id) {
    if (program.layout[id].root == id) BindSlot(type, id);
  }
  for (int id = 0; id < count; ++id) {
    if (program.layout[id].root != id) BindView(type, id);
  }
  const ProgramPlan& plan = plan_.programs[type];
  own.workspace = arena_ + plan.workspace_offset;
  if (guards_ != nullptr) {
    char* end = arena_ + plan.workspace_offset + plan.workspace_bytes;
    guards_->Add(end, end + plan_.zone, "packed weights");
  }
  parts_[type].foreign =
      std::make_unique<ForeignNodes>(program, &own, context_.host);
  own.foreign = parts_[type].foreign.get();
  parts_[type].bound = model_.executables[type]->Bind(&own);
}

void Run::BindSums(int type) {
  const size_t size = model_.programs[type].symbols.size();
  parts_[type].sums_begun = std::make_unique<bool[]>(size);
  bool* const of_type = parts_[model_.type_of[type]].sums_begun.get();
  const std::vector<int>& shared = model_.shared_sums[type];
  std::vector<bool*>& own = parts_[type].bindings.sum_begun;
  own.resize(size);
  for (size_t id = 0; id < size; ++id) {
    const bool is_shared = id < shared.size() && shared[id] >= 0;
    own[id] = is_shared ? of_type + shared[id] : &parts_[type].sums_begun[id];
  }
}

DynamicTensor Run::RowsAt(int type, int id, void* data) const {
  const SymbolLayout& s = model_.programs[type].layout[id];
  const Place& place = plan_.programs[type].places[id];
  return DynamicTensor(s.dtype, data, place.rows, s.columns, s.columns,
                       place.extent);
}

// Sets the slot of a root according to its place.
void Run::BindSlot(int type, int id) {
  const CompiledProgram& program = model_.programs[type];
  const SymbolLayout& s = program.layout[id];
  const Place& place = plan_.programs[type].places[id];
  Bindings& own = parts_[type].bindings;
  Slot& slot = own.slots[id];
  slot.zero_without_children = program.zeros.symbols[id];
  slot.rounded_last = place.dtype != s.dtype;
  if (place.terms_bytes > 0) {
    char* terms = arena_ + place.terms_offset;
    slot.terms = terms;
    if (guards_ != nullptr) {
      guards_->Add(terms + place.terms_bytes,
                   terms + Memory::Padded(place.terms_bytes) + plan_.zone,
                   StrCat("terms of ", program.symbols[id].name));
    }
  }
  const auto state_rows = [&](const Block& from, int64_t rows, int64_t stride) {
    return DynamicTensor(s.dtype, from.data, rows, s.columns,
                         stride * from.pitch, place.extent);
  };
  switch (place.home) {
    case Home::kNone:
      return;
    case Home::kTape:
    case Home::kArena: {
      char* data =
          (place.home == Home::kTape ? kept_begin_ : arena_) + place.offset;
      if (guards_ != nullptr) {
        guards_->Add(data + place.bytes,
                     data + Memory::Padded(place.bytes) + plan_.zone,
                     program.symbols[id].name);
      }
      if (s.has_rows()) {
        slot.rows = RowsAt(type, id, data);
      } else {
        slot.dense = data;
      }
      break;
    }
    case Home::kChunk:  // BindChunk() sets the address.
      slot.rows = RowsAt(type, id, nullptr);
      return;
    case Home::kState:
      slot.rows = state_rows(state_, place.rows, place.stride);
      return;
    case Home::kGathered:
      slot.rows = state_rows(state_, state_.rows, 1);
      slot.index = place.source < 0 ? own.lists.edge_child
                                    : own.lists.child_row(place.source);
      return;
    case Home::kInput: {
      const Block& input = own.inputs[place.source];
      slot.rows = state_rows(input, input.rows, 1);
      slot.index = own.input_rows[place.source];
      return;
    }
    case Home::kResult:
      slot.dense = arguments_.results[model_.type_of[type]][place.source];
      return;
    case Home::kGiven:
      if (s.source == SymbolSource::kSaved) {
        slot = (*arguments_.saved)[type][s.index];
        return;
      }
      if (s.source == SymbolSource::kCapture) {
        // The caller owns it.
        const auto& captures = (*arguments_.captures)[model_.type_of[type]];
        slot.tensor = {std::shared_ptr<void>(), &captures[s.index]};
      } else if (s.source == SymbolSource::kConstant) {
        slot.tensor = program.symbols[id].constant;
      }
      if (slot.tensor != nullptr) slot.dense = slot.tensor->data;
      return;
  }
  if (!place.copied) return;
  const Slot& from = (*arguments_.saved)[type][s.index];
  ConstBlock rows = from.rows.View(0, 0);
  const TypeRows& all = rows_.type(type);
  rows.rows = s.space == RowSpace::kEdges ? all.num_edges() : all.size();
  rows.index = from.index;
  slot.zero_without_children = from.zero_without_children;
  own.copies.emplace_back(id, rows);
}

void Run::BindView(int type, int id) {
  const CompiledProgram& program = model_.programs[type];
  const SymbolLayout& s = program.layout[id];
  std::vector<Slot>& slots = parts_[type].bindings.slots;
  const Slot& root = slots[s.root];
  const Home home = plan_.programs[type].places[s.root].home;
  if (home == Home::kNone) return;
  if (home == Home::kChunk) parts_[type].chunk_views.push_back(id);
  slots[id].zero_without_children = program.zeros.symbols[id];
  slots[id].terms = root.terms;
  slots[id].index = root.index;
  if (s.has_rows()) slots[id].rows = root.rows.Columns(s.offset, s.columns);
}

// The memory that all types reuse belongs to another chunk from now on.
Status Run::BindChunk(const Chunk& chunk) {
  if (plan_.shared_bytes == 0) return Status();
  CAVS_RETURN_IF_ERROR(Barrier());
  char* shared = arena_ + plan_.shared_offset;
  if (guards_ != nullptr) {
    guards_->KeepFirst(zones_of_run_);
    std::memset(shared, StoragePool::kNanByte, plan_.shared_bytes);
  }
  chunk_rows_.resize(rows_.num_types());
  for (int type = 0; type < rows_.num_types(); ++type) {
    chunk_rows_[type] = RangeOf(rows_, type, chunk);
  }
  plan_.PlaceInChunk(model_, chunk_rows_, &chunk_offsets_);
  for (int type = 0; type < rows_.num_types(); ++type) {
    if (chunk_rows_[type].count > 0) BindInChunk(type, shared);
  }
  return Status();
}

void Run::BindInChunk(int type, char* shared) {
  const Program& program = model_.programs[type];
  const ProgramPlan& plan = plan_.programs[type];
  std::vector<Slot>& slots = parts_[type].bindings.slots;
  for (size_t i = 0; i < plan.in_chunk.size(); ++i) {
    const int id = plan.in_chunk[i];
    const Symbol& s = program.symbols[id];
    const Place& place = plan.places[id];
    char* data = shared + chunk_offsets_[type][i];
    slots[id].rows = RowsAt(type, id, data);
    if (guards_ == nullptr) continue;
    const size_t bytes =
        ByteCount(std::min(place.rows, chunk_rows_[type].of(s.space).count),
                  s.columns(), place.dtype);
    guards_->Add(data + bytes, data + Memory::Padded(bytes) + plan_.zone,
                 s.name);
  }
  for (const int id : parts_[type].chunk_views) {
    int64_t offset;
    const int root = program.Root(id, &offset);
    slots[id].rows =
        slots[root].rows.Columns(offset, program.symbols[id].columns());
  }
}

// Where it is not the host that writes, one call costs more than the rows that
// are written twice.
Status Run::ZeroState(const std::vector<int32_t>& writes) {
  const size_t row = ByteCount(1, model_.state_columns, plan_.state_dtype);
  char* data = static_cast<char*>(state_.data);
  if (!plan_.gathered_once || !model_.device->memory()->is_host()) {
    return critical_->Zero(data, writes.size() * row);
  }
  for (size_t first = 0; first < writes.size();) {
    size_t end = first;
    while (end < writes.size() && writes[end] == 0) ++end;
    if (end > first) {
      CAVS_RETURN_IF_ERROR(
          critical_->Zero(data + first * row, (end - first) * row));
    }
    first = end + 1;
  }
  return Status();
}

template <typename Title>
Status Run::Checked(Status status, Stream* stream, const Title& title) const {
  if (!status.ok() || guards_ == nullptr) return status;
  return stream->Call([this, title] { return guards_->Check(title); });
}

Status Run::Barrier() {
  const Status status = critical_->Settle();
  if (other_ == critical_) return status;
  const Status other = other_->Settle();
  CAVS_RETURN_IF_ERROR(status);
  CAVS_RETURN_IF_ERROR(other);
  CAVS_RETURN_IF_ERROR(critical_->Wait(other_->Record()));
  return other_->Wait(critical_->Record());
}

Status Run::Compute() {
  const TraceScope scope(context_.outline, Stage::kCritical,
                         [] { return "programs"; });
  CAVS_RETURN_IF_ERROR(ZeroUnwritten());
  CAVS_RETURN_IF_ERROR(Prologue());
  CAVS_RETURN_IF_ERROR(RunChunks());
  CAVS_RETURN_IF_ERROR(Barrier());
  return Epilogue();
}

// Where it is not the host that writes, one call zeroes everything from the
// first unwritten row of an output to the last, as in ZeroState().
Status Run::ZeroUnwritten() {
  const bool at_once = !model_.device->memory()->is_host();
  const std::vector<Unwritten>& all = arguments_.unwritten;
  for (size_t i = 0; i < all.size();) {
    const Unwritten& own = all[i];
    char* const data = static_cast<char*>(
        own.output < 0 ? own.data : arguments_.outputs[own.output].data);
    size_t end = own.offset + own.bytes;
    for (++i; at_once && own.output >= 0 && i < all.size() &&
              all[i].output == own.output;
         ++i) {
      end = all[i].offset + all[i].bytes;
    }
    CAVS_RETURN_IF_ERROR(critical_->Zero(data + own.offset, end - own.offset));
  }
  return Status();
}

Status Run::Prologue() {
  for (int type = 0; type < rows_.num_types(); ++type) {
    if (IsIdle(model_, rows_, type)) continue;
    if (model_.computes_weights[type]) {
      CAVS_RETURN_IF_ERROR(
          parts_[type].foreign->RunRowFree(Stage::kPrologue, critical_));
      CAVS_RETURN_IF_ERROR(CheckWeights(type));
    }
    CAVS_RETURN_IF_ERROR(Checked(parts_[type].bound->Prepare(critical_),
                                 critical_, [] { return "prologue"; }));
  }
  return Status();
}

// Values that are computed from weights alone must have the shape that was
// traced.
Status Run::CheckWeights(int type) const {
  const Program& program = model_.programs[type];
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kForeign) continue;
    for (int id : node.inputs) {
      int64_t offset;
      const int root = program.Root(id, &offset);
      const Symbol& symbol = program.symbols[root];
      if (symbol.kind != SymbolKind::kInvariant) continue;
      const TensorRef& value = *parts_[type].bindings.slots[root].tensor;
      if (value.shape == symbol.shape) continue;
      return InvalidArgument(
          "vertex function: operator ", node.name, " (", node.op,
          ") got a weight of shape ", ShapeText(value.shape), " but expected ",
          ShapeText(symbol.shape),
          ", as when it was traced. What is computed from weights alone must "
          "keep its shape.");
    }
  }
  return Status();
}

Status Run::Epilogue() {
  for (int type = 0; type < rows_.num_types(); ++type) {
    if (IsIdle(model_, rows_, type)) continue;
    CAVS_RETURN_IF_ERROR(parts_[type].bound->FinishSums(critical_));
  }
  CAVS_RETURN_IF_ERROR(critical_->Settle());
  for (int type = 0; type < rows_.num_types(); ++type) {
    if (IsIdle(model_, rows_, type)) continue;
    CAVS_RETURN_IF_ERROR(
        parts_[type].foreign->RunRowFree(Stage::kEpilogue, critical_));
    if (arguments_.results.empty()) continue;
    for (size_t i = 0; i < arguments_.results[type].size(); ++i) {
      CAVS_RETURN_IF_ERROR(CopyResult(type, i));
    }
  }
  CAVS_RETURN_IF_ERROR(Checked(Status(), critical_, [] { return "epilogue"; }));
  return critical_->Settle();
}

Status Run::CopyResult(int type, size_t i) {
  const CompiledProgram& program = model_.programs[type];
  const int id = program.results[i];
  const Symbol& s = program.symbols[id];
  const Slot& slot = parts_[type].bindings.slots[program.layout[id].root];
  void* const to = arguments_.results[type][i];
  const size_t bytes = ByteCount(1, s.columns(), s.dtype);
  if (slot.dense == nullptr && bytes > 0) {
    return Internal(
        "gradient of a capture: got a value per task but expected a sum over "
        "rows");
  }
  if (s.kind == SymbolKind::kInvariant && s.parent < 0 && bytes > 0 &&
      CheckedProduct(slot.tensor->shape) != s.columns()) {
    return InvalidArgument(
        "gradient of a capture: got ", CheckedProduct(slot.tensor->shape),
        " elements but expected ", s.columns(),
        ", as when it was traced. What is computed from weights alone must "
        "keep its shape.");
  }
  const char* const from = parts_[type].bindings.Dense(program, id);
  if (!model_.is_variant(type)) {
    return from == to ? Status() : critical_->Copy(to, from, bytes);
  }
  // Added to the result of the type's program, unless it was formed there.
  const Place& place = plan_.programs[type].places[program.layout[id].root];
  if (place.home == Home::kResult) return Status();
  return critical_->Add(s.dtype, from, s.columns(), to);
}

// With two streams, the critical path waits for the eager stage of a chunk, and
// the lazy stage waits for the critical path.
Status Run::RunChunks() {
  const int64_t count = static_cast<int64_t>(plan_.chunks.size());
  const auto chunk = [&](int64_t i) -> const Chunk& {
    return plan_
        .chunks[plan_.direction == Direction::kBackward ? count - 1 - i : i];
  };
  const int64_t ahead = plan_.two_streams ? kAhead : 0;
  // What is put into one stream is in order.
  const auto record = [this](Stream* stream) {
    return other_ == critical_ ? nullptr : stream->Record();
  };
  const auto wait = [](Stream* stream, const std::shared_ptr<Event>& event) {
    return event == nullptr ? Status() : stream->Wait(event);
  };
  CAVS_RETURN_IF_ERROR(wait(other_, record(critical_)));
  std::vector<std::shared_ptr<Event>> prepared(count);
  const auto prepare = [&](int64_t i) {
    if (i >= count) return Status();
    CAVS_RETURN_IF_ERROR(BindChunk(chunk(i)));
    CAVS_RETURN_IF_ERROR(RunBlocks(Stage::kEager, chunk(i), other_));
    prepared[i] = record(other_);
    return Status();
  };
  for (int64_t i = 0; i < ahead; ++i) CAVS_RETURN_IF_ERROR(prepare(i));
  for (int64_t i = 0; i < count; ++i) {
    if (ahead == 0) CAVS_RETURN_IF_ERROR(prepare(i));
    CAVS_RETURN_IF_ERROR(wait(critical_, prepared[i]));
    CAVS_RETURN_IF_ERROR(RunTasks(chunk(i)));
    const std::shared_ptr<Event> done = record(critical_);
    if (ahead > 0) CAVS_RETURN_IF_ERROR(prepare(i + ahead));
    CAVS_RETURN_IF_ERROR(wait(other_, done));
    CAVS_RETURN_IF_ERROR(RunBlocks(Stage::kLazy, chunk(i), other_));
  }
  return Status();
}

Status Run::RunBlocks(Stage stage, const Chunk& chunk, Stream* stream) {
  for (int type = 0; type < rows_.num_types(); ++type) {
    const RowRange all = RangeOf(rows_, type, chunk);
    const int64_t blocks = plan_.NumBlocks(all);
    for (int64_t i = 0; i < blocks; ++i) {
      RowRange block = all.Part(i, blocks);
      if (block.count == 0) continue;
      block.BeginStorage(Extent::kBlock);
      CAVS_RETURN_IF_ERROR(parts_[type].bound->Run(stage, block, stream));
    }
    CAVS_RETURN_IF_ERROR(Checked(Status(), stream, [this, stage, type] {
      return StrCat(ToString(stage), " operators of ",
                    model_.programs[type].name);
    }));
  }
  return Status();
}

Status Run::RunTasks(const Chunk& chunk) {
  if (plan_.two_streams && context_.cancelled) {
    CAVS_RETURN_IF_ERROR(critical_->Call([this] {
      return context_.cancelled()
                 ? Status(StatusCode::kCancelled, "cancelled between chunks")
                 : Status();
    }));
  }
  // Tasks cannot be collected if another stream runs beside them, or a tracer
  // is told about each.
  const bool together = other_ == critical_ && context_.tracer == nullptr;
  if (together) CAVS_RETURN_IF_ERROR(critical_->BeginTasks());
  task_rows_.resize(rows_.num_types());
  for (int type = 0; type < rows_.num_types(); ++type) {
    task_rows_[type] = RangeOf(rows_, type, chunk);
  }
  Status status;
  for (int64_t i = 0; i < chunk.end - chunk.first && status.ok(); ++i) {
    status = RunTask(plan_.direction == Direction::kBackward ? chunk.end - 1 - i
                                                             : chunk.first + i);
  }
  const Status ended = critical_->EndTasks();
  return status.ok() ? ended : status;
}

Status Run::RunTask(int64_t task) {
  const ScheduleView& schedule = rows_.schedule();
  if (context_.cancelled && context_.cancelled()) {
    return Status(StatusCode::kCancelled, StrCat("cancelled before task ", task,
                                                 " of ", schedule.num_tasks()));
  }
  const int type = rows_.program(task);
  const TypeRows& rows = rows_.type(type);
  RowRange range = task_rows_[type];
  range.first = rows.first_row(task);
  range.count = schedule.task_splits[task + 1] - schedule.task_splits[task];
  range.FindEdges();
  range.task = task;
  range.BeginStorage(Extent::kTask);
  range.childless = rows.childless(task);
  if (range.count == 0) return Status();
  return Checked(parts_[type].bound->Run(Stage::kCritical, range, critical_),
                 critical_, [this, task, type, count = range.count] {
                   return StrCat("task ", task, " (", count, " rows of ",
                                 model_.programs[type].name, ")");
                 });
}

std::vector<std::vector<Slot>> Run::Results() const {
  std::vector<std::vector<Slot>> results(parts_.size());
  for (size_t type = 0; type < parts_.size(); ++type) {
    const int number = static_cast<int>(type);
    const CompiledProgram& program = model_.programs[type];
    const std::vector<Slot>& slots = parts_[type].bindings.slots;
    results[type].resize(model_.NumSaved(number));
    if (IsIdle(model_, rows_, number)) continue;
    for (size_t i = 0; i < program.results.size(); ++i) {
      const int id = program.results[i];
      const Symbol& s = program.symbols[id];
      Slot& slot = results[type][model_.SavedNumber(number, i)];
      slot = slots[id];
      if (s.kind == SymbolKind::kInvariant && s.parent >= 0) {
        auto tensor = std::make_shared<TensorRef>();
        tensor->dtype = s.dtype;
        tensor->shape = s.shape;
        tensor->data = slot.dense = parts_[type].bindings.Dense(program, id);
        slot.tensor = std::move(tensor);
      }
      for (int at = id; at >= 0; at = program.symbols[at].parent) {
        slot.zero_without_children =
            slot.zero_without_children || slots[at].zero_without_children;
      }
    }
  }
  return results;
}

}  // namespace cavs
