// ProgramRun's side of where values are stored.
#include <algorithm>

#include "cc/base/byte_count.h"
#include "cc/exec/program_run.h"

namespace cavs {

void ProgramRun::Bind(void* state, Arena* kept, Arena* scratch) {
  ext_.state.data = state;
  BindToState();
  BindJoined();
  BindViewed();
  for (int id : kept_ids_) Store(id, /*kept=*/true, LargestChunk(), kept);
  for (int id : scratch_ids_) {
    Store(id, /*kept=*/false, LargestChunk(), scratch);
  }
  for (auto& [key, packed] : packed_) {
    packed.data =
        scratch->Take(PackedBytes(packed, key.first[0]), "packed weights");
  }
  Arena nowhere(nullptr, 0);  // Until there is a chunk.
  for (int id : by_chunk_) Store(id, /*kept=*/false, 0, &nowhere);
  BindGiven();
  BindViews();
  PlanSums();
}

// Gives a root its storage.
void ProgramRun::Store(int id, bool kept, int64_t chunk, Arena* arena) {
  const Symbol& s = symbol(id);
  void* data = arena->Take(BytesToStore(id, kept, chunk), s.name);
  if (s.kind == SymbolKind::kRows) {
    values_[id].rows =
        DynamicTensor(s.dtype, data, RowsToStore(id, kept, chunk), s.columns(),
                      s.columns(), SpanOf(id, kept));
  } else {
    values_[id].dense.dtype = s.dtype;
    values_[id].dense.shape = s.shape;
    values_[id].dense.data = data;
  }
}

size_t ProgramRun::BytesForChunk(const ChunkRows& chunk) const {
  size_t bytes = 0;
  for (int id : by_chunk_) {
    bytes = SaturatingAdd(bytes, BytesToStore(id, /*kept=*/false, chunk.count));
  }
  return bytes;
}

void ProgramRun::BindChunk(const ChunkRows& chunk, Arena* arena) {
  for (int id : by_chunk_) Store(id, /*kept=*/false, chunk.count, arena);
  BindViews();
}

// What is scattered is formed in the state itself, and the gradient of what was
// scattered is read there, if the rows lie there as they do here. What goes on
// the tape will be read over other chunks than those it is written in.
void ProgramRun::BindToState() {
  if (!ext_.state_is_adjacent || ext_.state.rows == 0) return;
  for (const Node& node : program_.nodes) {
    if (node.kind != NodeKind::kScatter &&
        node.kind != NodeKind::kScatterGrad) {
      continue;
    }
    const int id =
        (node.kind == NodeKind::kScatter ? node.inputs : node.outputs)[0];
    const Symbol& s = symbol(id);
    if (s.parent >= 0 || s.source != SymbolSource::kNode) continue;
    if (on_tape_[id] && !ext_.state_is_whole) continue;
    values_[id].rows =
        DynamicTensor(s.dtype, ext_.state.data, ext_.state.rows, s.columns(),
                      ext_.state.pitch, DynamicTensor::Span::kState);
  }
}

// How far apart the first children are of rows that follow each other, if all
// are equally far, and those of each row are adjacent. Else 0.
int64_t ProgramRun::JoinedStep(const JoinedChildren& joined) const {
  // Several parents add to a gradient, which is not theirs to write then.
  if (joined.are_sent_back && !ext_.gathered_once) return 0;
  const Span<int32_t> first = rows_.child_row(0);
  int64_t step = joined.slots;  // Where each task has one row, any would do.
  bool is_known = false;
  const auto stand_so = [&](int64_t begin, int64_t end) {
    if (end - begin > 1 && !is_known) {
      step = first[begin + 1] - first[begin];
      is_known = true;
    }
    bool so = first[begin] >= 0;
    for (int slot = 0; slot < joined.slots; ++slot) {
      const int32_t* child = rows_.child_row(slot).data();
      const int64_t origin = first[begin] + slot - begin * step;
      for (int64_t row = begin; row < end; ++row) {
        so &= child[row] == origin + row * step;
      }
    }
    return so && step >= joined.slots;
  };
  if (!joined.by_task) {
    const bool so = rows_.size() == 0 || stand_so(0, rows_.size());
    return so ? step : 0;
  }
  for (int64_t task = 0; task < rows_.num_tasks_in_all(); ++task) {
    const int64_t begin = rows_.first_row(task), end = rows_.end_row(task);
    if (begin == end) continue;
    if (joined.only_for_children && rows_.childless(task)) continue;
    if (!stand_so(begin, end)) return 0;
  }
  return step;
}

// The states of children that are adjacent rows are not copied.
void ProgramRun::BindJoined() {
  for (size_t id = 0; id < values_.size(); ++id) {
    if (joined_step_[id] == 0) continue;
    const Symbol& s = symbol(static_cast<int>(id));
    values_[id].rows = DynamicTensor(
        s.dtype, ext_.state.data, rows_.size(), s.columns(),
        joined_step_[id] * ext_.state.pitch, DynamicTensor::Span::kChildren);
  }
}

// What is read where it came from.
void ProgramRun::BindViewed() {
  for (const Node& node : program_.nodes) {
    if (node.outputs.empty() || !symbol(node.outputs[0]).viewed) continue;
    Value& value = values_[node.outputs[0]];
    const Symbol& s = symbol(node.outputs[0]);
    const bool gathers = node.kind == NodeKind::kGather;
    const Block& from = gathers ? ext_.state : ext_.inputs[node.index];
    value.rows = DynamicTensor(s.dtype, from.data, from.rows, s.columns(),
                               from.pitch, DynamicTensor::Span::kState);
    value.index = gathers ? rows_.child_row(node.index).data()
                          : ext_.input_rows[node.index];
  }
}

// Captures, constants, and what the tape saved.
void ProgramRun::BindGiven() {
  for (size_t id = 0; id < values_.size(); ++id) {
    const Symbol& s = symbol(id);
    if (s.source == SymbolSource::kCapture) {
      values_[id].dense = ext_.captures[s.index];
    } else if (s.source == SymbolSource::kConstant) {
      values_[id].dense = *s.constant;
    } else if (s.source == SymbolSource::kSaved && !IsCopied(id)) {
      values_[id] = (*ext_.saved)[s.index];
    }
  }
  for (size_t i = 0; i < ext_.results.size(); ++i) {
    int64_t offset;
    const int root = program_.Root(program_.results[i], &offset);
    if (IsFormedInResult(root) && symbol(root).source == SymbolSource::kNode) {
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
    if (!symbol(root).stored && !symbol(root).viewed) continue;
    if (s.kind == SymbolKind::kRows) {
      values_[id].index = values_[root].index;
      values_[id].rows = values_[root].rows.Columns(offset, s.columns());
    } else {
      values_[id].dense = values_[root].dense;
      values_[id].dense.shape = s.shape;
    }
  }
}

}  // namespace cavs
