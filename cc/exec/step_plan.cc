#include "cc/exec/step_plan.h"

#include <algorithm>
#include <iterator>

#include "cc/base/byte_count.h"
#include "cc/device/device.h"

namespace cavs {
namespace {

// Chunks that take so little memory need not be smaller: with tasks of a few
// narrow rows, eager and lazy operators would run over as few.
constexpr int64_t kSmallChunk = 32 << 10;

// Enough chunks for one stream to be ahead of the other.
constexpr int64_t kChunksInStreams = 8;

// The most rows and edges that are evaluated at a time.
struct Most {
  int64_t rows = 0, edges = 0;

  int64_t of(RowSpace space) const {
    return space == RowSpace::kEdges ? edges : rows;
  }
  void Include(const RowRange& range) {
    rows = std::max(rows, range.count);
    edges = std::max(edges, range.edges.count);
  }
};

// The rows of a type.
struct TypeInChunks {
  Most chunk, block;        // The largest ones.
  bool is_adjacent = true;  // The rows of every chunk are so in the state,
  bool is_whole = false;    // and so are those of all chunks together.
};

// Assigns offsets front to back. The end saturates at the largest number.
class LinearAllocator {
 public:
  explicit LinearAllocator(size_t zone) : zone_(zone) {}

  size_t Take(size_t bytes) {
    const size_t offset = end_;
    end_ = SaturatingAdd(end_, SaturatingAdd(Memory::Padded(bytes), zone_));
    return offset;
  }
  size_t end() const { return end_; }

 private:
  const size_t zone_;
  size_t end_ = 0;
};

class Planner {
 public:
  Planner(Direction direction, const Model& model, const RowPlan& rows,
          const StepLimits& limits)
      : model_(model),
        rows_(rows),
        limits_(limits),
        // Two streams work on several chunks at the same time, and a single
        // type has no memory in common with others.
        reuses_chunks_(!limits.two_streams && rows.num_types() > 1),
        kept_(limits.zone),
        arena_(limits.zone) {
    plan_.direction = direction;
    plan_.two_streams = limits.two_streams;
    plan_.gathered_once = limits.gathered_once;
    const bool sums =
        direction == Direction::kBackward && !limits.gathered_once;
    plan_.state_dtype = sums ? SumType(model.state_dtype) : model.state_dtype;
    plan_.zone = limits.zone;
    const int num_types = rows.num_types();
    plan_.programs.reserve(num_types);
    types_.resize(num_types);
  }

  StepPlan Run() {
    MakeChunks();
    kept_.Take(0);  // The zone before the first buffer.
    PlaceState();
    PlaceCopies();
    for (int type = 0; type < rows_.num_types(); ++type) ChoosePlaces(type);
    AssignChunkMemory();
    for (int type = 0; type < rows_.num_types(); ++type) AssignOffsets(type);
    CopyInputs();
    CountResults();
    plan_.kept_bytes = kept_.end();
    plan_.arena_bytes = arena_.end();
    return std::move(plan_);
  }

 private:
  const Candidate& candidate(int type, int id) const {
    return model_.programs[type].placement.candidates[id];
  }

  bool HasRows(int type) const { return rows_.type(type).size() > 0; }

  // Bytes per row of the values that eager operators write and lazy ones read,
  // with those of as many edges as a row has on average.
  int64_t BytesPerRow() const {
    int64_t most = 1;
    for (int type = 0; type < rows_.num_types(); ++type) {
      if (!HasRows(type)) continue;
      const Layout& layout = model_.programs[type].layout;
      const int64_t rows = rows_.type(type).size();
      const int64_t edges = rows_.type(type).num_edges();
      int64_t bytes = 0;
      for (int id = 0; id < static_cast<int>(layout.size()); ++id) {
        const SymbolLayout& symbol = layout[id];
        const Candidate& own = candidate(type, id);
        if (symbol.has_rows() && symbol.root == id && own.used &&
            !own.by_index && own.extent != Extent::kTask) {
          const int64_t own_bytes = ByteCount(1, symbol.columns, symbol.dtype);
          bytes += symbol.space == RowSpace::kEdges ? own_bytes * edges / rows
                                                    : own_bytes;
        }
      }
      most = std::max(most, bytes);
    }
    return most;
  }

  void MakeChunks() {
    const int64_t bytes = BytesPerRow();
    plan_.rows_per_block = model_.device->RowsPerBlock(bytes);
    int64_t rows_per_chunk = plan_.rows_per_block;
    if (limits_.two_streams) {
      rows_per_chunk =
          std::max<int64_t>(1, rows_.num_rows() / kChunksInStreams);
    } else if (plan_.direction == Direction::kInference) {
      // Without a tape, a step needs only the state and the memory of one
      // chunk.
      rows_per_chunk = std::min(
          rows_per_chunk, std::max(rows_.largest_task(), kSmallChunk / bytes));
    }
    plan_.chunks = rows_.Chunks(rows_per_chunk);
    for (int type = 0; type < rows_.num_types(); ++type) {
      TypeInChunks& of_type = types_[type];
      for (const Chunk& chunk : plan_.chunks) {
        const RowRange own = RangeOf(rows_, type, chunk);
        of_type.chunk.Include(own);
        const int64_t blocks = plan_.NumBlocks(own);
        for (int64_t i = 0; i < blocks; ++i) {
          of_type.block.Include(own.Part(i, blocks));
        }
        of_type.is_adjacent =
            of_type.is_adjacent &&
            rows_.AreAdjacentInState(type, rows_.RowsOf(type, chunk));
      }
      of_type.is_whole =
          rows_.AreAdjacentInState(type, {0, rows_.type(type).size(), 0, {}});
    }
  }

  // A row of zeros precedes the state, for absent children.
  void PlaceState() {
    plan_.zeros_bytes =
        Memory::Padded(ByteCount(1, model_.state_columns, plan_.state_dtype));
    plan_.state_bytes = SaturatingAdd(
        plan_.zeros_bytes,
        ByteCount(rows_.num_rows(), model_.state_columns, plan_.state_dtype));
    plan_.state_offset = kept_.Take(plan_.state_bytes);
    plan_.need.state = Memory::Padded(plan_.state_bytes);
  }

  // Of what the host has: lists, which the tape keeps, and constants.
  void PlaceCopies() {
    size_t& bytes = plan_.direction == Direction::kForward
                        ? plan_.need.tape
                        : plan_.need.temporaries;
    bytes = Memory::Padded(limits_.list_bytes);
    if (bytes > 0) plan_.lists_offset = kept_.Take(bytes);
    for (int type = 0; type < rows_.num_types(); ++type) {
      if (IsIdle(model_, rows_, type)) continue;
      const auto constants = model_.executables[type]->constants();
      bytes = SaturatingAdd(bytes, constants.bytes);
      plan_.taken += constants.taken;
    }
  }

  void ChoosePlaces(int type) {
    const Layout& layout = model_.programs[type].layout;
    plan_.programs.emplace_back();
    ProgramPlan& own = plan_.programs.back();
    if (IsIdle(model_, rows_, type)) return;
    own.places.resize(layout.size());
    for (int id = 0; id < static_cast<int>(layout.size()); ++id) {
      if (layout[id].root != id) continue;
      Place& place = own.places[id];
      place = Choose(type, layout[id], candidate(type, id));
      place.terms_bytes = TermsBytes(type, layout[id], candidate(type, id));
      if (place.home == Home::kChunk) own.in_chunk.push_back(id);
    }
  }

  Place Choose(int type, const SymbolLayout& symbol,
               const Candidate& own) const {
    Place place;
    place.dtype = own.rounded_last ? SumType(symbol.dtype) : symbol.dtype;
    if (symbol.has_rows() && !HasRows(type)) return place;
    const bool is_saved = symbol.source == SymbolSource::kSaved;
    if (is_saved && symbol.has_rows() && !own.by_index &&
        IsSavedByIndex(type, symbol.index)) {
      place.copied = true;
      return Store(type, symbol, own, place);
    }
    if (symbol.source != SymbolSource::kNode ||
        symbol.kind == SymbolKind::kInvariant ||
        symbol.kind == SymbolKind::kOpaque ||
        symbol.kind == SymbolKind::kRowCount) {
      place.home = Home::kGiven;
      return place;
    }
    if (symbol.kind == SymbolKind::kReduced) {
      if (!own.used) return place;
      if (own.result < 0) return Store(type, symbol, own, place);
      place.home = Home::kResult;
      place.source = own.result;
      return place;
    }
    const int64_t stride = ChildStride(type, own.joined);
    if (stride > 0) {
      place.home = Home::kState;
      place.extent = Extent::kChildren;
      place.stride = stride;
      place.rows = rows_.type(type).size();
    } else if (IsInState(type, own)) {
      place.home = Home::kState;
      place.extent = Extent::kState;
      place.rows = rows_.num_rows();
    } else if (own.by_index) {
      place.home = own.gathered ? Home::kGathered : Home::kInput;
      place.extent = Extent::kState;
      place.source = own.source;
    } else if (own.used) {
      return Store(type, symbol, own, place);
    }
    return place;
  }

  size_t TermsBytes(int type, const SymbolLayout& symbol,
                    const Candidate& own) const {
    if (own.foreign_writers == 0) return 0;
    int64_t runs = 0;
    for (const Chunk& chunk : plan_.chunks) {
      runs += plan_.NumBlocks(RangeOf(rows_, type, chunk));
    }
    if (own.foreign_by_task) runs = rows_.type(type).num_tasks();
    const bool adds = own.rounded_last || own.foreign_writers * runs > 1;
    return adds ? ByteCount(1, symbol.columns, symbol.dtype) : 0;
  }

  bool IsSavedByIndex(int type, int saved) const {
    const std::vector<bool>& by_index = limits_.saved_by_index[type];
    return saved < static_cast<int>(by_index.size()) && by_index[saved];
  }

  // Several parents add to the gradient of one row, so none may compute its own
  // gradient there.
  int64_t ChildStride(int type, const JoinedChildren& joined) const {
    if (joined.slots == 0) return 0;
    if (joined.are_sent_back && !limits_.gathered_once) return 0;
    return rows_.ChildStride(type, joined.slots, joined.by_task,
                             joined.only_for_children);
  }

  // Rows on the tape are read over other chunks than they are written in. Sums
  // of a wider type are rounded before they are read.
  bool IsInState(int type, const Candidate& own) const {
    return own.in_state && plan_.state_dtype == model_.state_dtype &&
           rows_.num_rows() > 0 && types_[type].is_adjacent &&
           (!own.on_tape || types_[type].is_whole);
  }

  Place Store(int type, const SymbolLayout& symbol, const Candidate& own,
              Place place) const {
    place.home = own.on_tape ? Home::kTape : Home::kArena;
    if (symbol.kind == SymbolKind::kReduced) {
      place.rows = 1;
    } else {
      place.extent = ExtentOf(own, place);
      place.rows = RowsOf(type, place.extent, symbol.space);
      if (reuses_chunks_ && place.extent != Extent::kStep) {
        place.home = Home::kChunk;
        return place;
      }
    }
    place.bytes = ByteCount(place.rows, symbol.columns, place.dtype);
    return place;
  }

  Extent ExtentOf(const Candidate& own, const Place& place) const {
    if (own.on_tape || place.copied) return Extent::kStep;
    // Two streams work on several chunks at the same time.
    const bool keeps_all = own.extent == Extent::kChunk && limits_.two_streams;
    return keeps_all ? Extent::kStep : own.extent;
  }

  int64_t RowsOf(int type, Extent extent, RowSpace space) const {
    const TypeRows& rows = rows_.type(type);
    const Most whole = {rows.size(), rows.num_edges()};
    const Most task = {rows.largest_task(), rows.most_edges_of_task()};
    const int64_t all = whole.of(space);
    const int64_t chunk =
        limits_.two_streams ? all : types_[type].chunk.of(space);
    switch (extent) {
      case Extent::kTask:
        return std::min(task.of(space), chunk);
      case Extent::kBlock:
        return types_[type].block.of(space);
      case Extent::kChunk:
        return chunk;
      default:
        return all;
    }
  }

  void AssignChunkMemory() {
    if (!reuses_chunks_) return;
    plan_.shared_bytes = BytesOfChunks(plan_);
    plan_.shared_offset = arena_.Take(plan_.shared_bytes);
    plan_.need.temporaries = SaturatingAdd(
        plan_.need.temporaries,
        plan_.zone == 0 ? plan_.shared_bytes : BytesOfChunks(WithoutZones()));
  }

  // The most bytes that a chunk takes by this plan.
  size_t BytesOfChunks(const StepPlan& plan) const {
    std::vector<std::vector<size_t>> offsets;
    std::vector<RowRange> rows(rows_.num_types());
    size_t bytes = 0;
    for (const Chunk& chunk : plan_.chunks) {
      for (int type = 0; type < rows_.num_types(); ++type) {
        rows[type] = RangeOf(rows_, type, chunk);
      }
      bytes = std::max(bytes, plan.PlaceInChunk(model_, rows, &offsets));
    }
    return bytes;
  }

  // The plan without zones behind the buffers.
  StepPlan WithoutZones() const {
    StepPlan plain;
    plain.programs = plan_.programs;
    return plain;
  }

  void AssignOffsets(int type) {
    if (IsIdle(model_, rows_, type)) return;
    ProgramPlan& own = plan_.programs[type];
    for (Place& place : own.places) {
      if (place.terms_bytes > 0) {
        place.terms_offset = arena_.Take(place.terms_bytes);
        plan_.need.temporaries = SaturatingAdd(
            plan_.need.temporaries, Memory::Padded(place.terms_bytes));
      }
      const bool on_tape = place.home == Home::kTape;
      if (!on_tape && place.home != Home::kArena) continue;
      place.offset = (on_tape ? kept_ : arena_).Take(place.bytes);
      size_t& bytes = on_tape ? plan_.need.tape : plan_.need.temporaries;
      bytes = SaturatingAdd(bytes, Memory::Padded(place.bytes));
    }
    own.workspace_bytes =
        model_.executables[type]->WorkspaceBytes(rows_.type(type));
    own.workspace_offset = arena_.Take(own.workspace_bytes);
    plan_.need.packed_weights =
        SaturatingAdd(plan_.need.packed_weights, own.workspace_bytes);
  }

  // Vertices whose outputs are not wanted read zeros as their gradients, and
  // vertices without a row of an input read zeros.
  void CopyInputs() {
    for (int type = 0; type < rows_.num_types(); ++type) {
      if (IsIdle(model_, rows_, type)) continue;
      const Program& program = model_.programs[type];
      for (const Node& node : program.nodes) {
        if (!ReadsGaps(node, type)) continue;
        const size_t input = node.index;
        if (input >= plan_.inputs.size()) plan_.inputs.resize(input + 1);
        if (plan_.inputs[input].bytes > 0) continue;
        const int64_t rows = node.kind == NodeKind::kPull
                                 ? limits_.rows.pulled[input]
                                 : limits_.rows.rows_of_push(node.index);
        plan_.inputs[input] = CopyOf(program.symbols[node.outputs[0]], rows,
                                     plan_.direction == Direction::kForward);
      }
    }
  }

  bool ReadsGaps(const Node& node, size_t type) const {
    if (node.kind == NodeKind::kPushGrad) {
      return !limits_.rows.all_push && !limits_.rows.is_of_edges(node.index);
    }
    const size_t input = node.index;
    return node.kind == NodeKind::kPull && input < limits_.gaps.size() &&
           type < limits_.gaps[input].size() && limits_.gaps[input][type];
  }

  InputCopy CopyOf(const Symbol& rows, int64_t count, bool outlives) {
    InputCopy copy;
    copy.outlives = outlives;
    copy.zeros_bytes = Memory::Padded(ByteCount(1, rows.columns(), rows.dtype));
    copy.bytes = SaturatingAdd(copy.zeros_bytes,
                               ByteCount(count, rows.columns(), rows.dtype));
    copy.offset = (outlives ? kept_ : arena_).Take(copy.bytes);
    size_t& bytes = outlives ? plan_.need.tape : plan_.need.temporaries;
    bytes = SaturatingAdd(bytes, Memory::Padded(copy.bytes));
    return copy;
  }

  void CountResults() {
    if (limits_.sizes == nullptr) return;
    const ResultSizes& sizes = *limits_.sizes;
    const auto add = [this](int64_t rows, size_t bytes) {
      plan_.need.results =
          SaturatingAdd(plan_.need.results, SaturatingMultiply(rows, bytes));
    };
    if (plan_.direction != Direction::kBackward) {
      for (size_t push = 0; push < sizes.push_row.size(); ++push) {
        const int number = static_cast<int>(push);
        add(limits_.rows.rows_of_push(number), sizes.push_row[push]);
      }
      return;
    }
    const size_t pulls =
        std::min(sizes.pull_grad_row.size(), limits_.rows.pulled.size());
    for (size_t pull = 0; pull < pulls; ++pull) {
      add(limits_.rows.pulled[pull], sizes.pull_grad_row[pull]);
    }
    add(1, sizes.capture_grads);
  }

  const Model& model_;
  const RowPlan& rows_;
  const StepLimits& limits_;
  const bool reuses_chunks_;
  LinearAllocator kept_, arena_;
  StepPlan plan_;
  std::vector<TypeInChunks> types_;
};

}  // namespace

size_t StepPlan::PlaceInChunk(const Model& model,
                              const std::vector<RowRange>& rows,
                              std::vector<std::vector<size_t>>* offsets) const {
  LinearAllocator allocator(zone);
  offsets->resize(programs.size());
  for (size_t type = 0; type < programs.size(); ++type) {
    std::vector<size_t>& own = (*offsets)[type];
    const std::vector<int>& in_chunk = programs[type].in_chunk;
    own.clear();
    own.reserve(in_chunk.size());  // A later chunk then allocates nothing.
    if (rows[type].count == 0) continue;
    for (const int id : in_chunk) {
      const SymbolLayout& symbol = model.programs[type].layout[id];
      const Place& place = programs[type].places[id];
      const int64_t count =
          std::min(place.rows, rows[type].of(symbol.space).count);
      own.push_back(
          allocator.Take(ByteCount(count, symbol.columns, place.dtype)));
    }
  }
  return allocator.end();
}

bool IsIdle(const Model& model, const RowPlan& rows, int program) {
  return model.is_variant(program) && rows.type(program).size() == 0;
}

RowRange RangeOf(const RowPlan& rows, int program, const Chunk& chunk) {
  const ChunkRows own = rows.RowsOf(program, chunk);
  RowRange range;
  range.first = own.first;
  range.count = own.count;
  std::fill(std::begin(range.origin) + 1, std::end(range.origin), own.first);
  range.childless_end = own.first + own.childless;
  const Span<int32_t> splits = rows.type(program).edge_splits();
  if (splits.empty()) return range;
  range.edge_splits = splits.data();
  range.FindEdges();
  std::fill(std::begin(range.edges.origin) + 1, std::end(range.edges.origin),
            range.edges.first);
  return range;
}

StepPlan PlanStep(Direction direction, const Model& model, const RowPlan& rows,
                  StepLimits limits) {
  if (model.streams_share_sums ||
      (model.streams_share_state && !limits.gathered_once)) {
    limits.two_streams = false;
  }
  return Planner(direction, model, rows, limits).Run();
}

}  // namespace cavs
