#include "cc/ir/passes/classify.h"

#include <algorithm>
#include <vector>

#include "cc/ir/overlaps.h"

namespace cavs {
namespace {

bool BringsStateIn(NodeKind kind) {
  return MovesState(kind) && RowOf(kind).brings_in;
}

bool TakesStateOut(NodeKind kind) {
  return MovesState(kind) && !RowOf(kind).brings_in;
}

// Walks the nodes in order and in reverse. Overlapping symbols (a tensor and a
// view of it) count as one value.
class Classifier {
 public:
  Classifier(const ClassifyOptions& options, Program* program)
      : options_(options), program_(*program), overlaps_(*program) {}

  Status Run() {
    CAVS_RETURN_IF_ERROR(SplitOffRowFree());
    FollowState();
    for (Node& node : program_.nodes) Place(&node);
    KeepOpaqueTogether();
    for (Node& node : program_.nodes) ApplySwitches(&node);
    return Status();
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  bool Any(const std::vector<int>& ids, SymbolKind kind) const {
    return std::any_of(ids.begin(), ids.end(),
                       [&](int id) { return symbol(id).kind == kind; });
  }

  bool HasRows(const Node& node) const {
    if (MovesRows(node.kind)) return true;
    const auto per_row = [&](int id) {
      const SymbolKind kind = symbol(id).kind;
      return kind != SymbolKind::kInvariant && kind != SymbolKind::kReduced;
    };
    return std::any_of(node.inputs.begin(), node.inputs.end(), per_row) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), per_row);
  }

  // Finds the prologue and the epilogue; Place() decides about the other nodes.
  Status SplitOffRowFree() {
    // Invariants that depend on sums over rows, so their readers are in the
    // epilogue.
    std::vector<bool> late(program_.symbols.size(), false);
    for (Node& node : program_.nodes) {
      const bool rows = HasRows(node);
      const bool sums = Any(node.inputs, SymbolKind::kReduced) ||
                        std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [&](int id) { return late[id]; });
      if (rows && sums) {
        return InvalidArgument(
            "vertex function: operator ", node.name, " (", node.op,
            ") joins rows with a sum over rows but expected rows to be "
            "independent. Compute what depends on several vertices outside of "
            "the vertex function.");
      }
      node.stage = rows   ? Stage::kCritical
                   : sums ? Stage::kEpilogue
                          : Stage::kPrologue;
      if (node.stage == Stage::kEpilogue) Mark(node.outputs, &late);
    }
    return Status();
  }

  static void Mark(const std::vector<int>& ids, std::vector<bool>* mark) {
    for (int id : ids) (*mark)[id] = true;
  }

  void FollowState() {
    gathered_.assign(program_.symbols.size(), false);
    scattered_.assign(program_.symbols.size(), false);
    for (const Node& node : program_.nodes) {
      if (DependsOnState(node)) Mark(node.outputs, &gathered_);
    }
    for (auto node = program_.nodes.rbegin(); node != program_.nodes.rend();
         ++node) {
      if (Reaches(*node)) Mark(node->inputs, &scattered_);
    }
  }

  bool DependsOnState(const Node& node) const {
    return BringsStateIn(node.kind) ||
           overlaps_.AnyMarked(gathered_, node.inputs);
  }

  bool Reaches(const Node& node) const {
    return TakesStateOut(node.kind) ||
           overlaps_.AnyMarked(scattered_, node.outputs);
  }

  void Place(Node* node) const {
    if (node->stage != Stage::kCritical) return;
    if (!DependsOnState(*node)) {
      node->stage = Stage::kEager;
    } else if (!Reaches(*node)) {
      node->stage = Stage::kLazy;
    }
  }

  // An opaque value exists once per task, so its writer and its readers run
  // task by task. Stages stay in order along every path: eager <= critical <=
  // lazy.
  void KeepOpaqueTogether() {
    std::vector<bool> late(program_.symbols.size(), false);
    for (Node& node : program_.nodes) {
      if (!Moves(node)) continue;
      const bool pinned =
          IsOpaque(node) || overlaps_.AnyMarked(late, node.inputs);
      if (pinned && node.stage == Stage::kEager) node.stage = Stage::kCritical;
      if (node.stage == Stage::kCritical) Mark(node.outputs, &late);
    }
    std::vector<bool> early(program_.symbols.size(), false);
    for (auto it = program_.nodes.rbegin(); it != program_.nodes.rend(); ++it) {
      if (!Moves(*it)) continue;
      const bool pinned =
          IsOpaque(*it) || overlaps_.AnyMarked(early, it->outputs);
      if (pinned && it->stage == Stage::kLazy) it->stage = Stage::kCritical;
      if (it->stage == Stage::kCritical) Mark(it->inputs, &early);
    }
  }

  static bool Moves(const Node& node) {
    return node.stage != Stage::kPrologue && node.stage != Stage::kEpilogue;
  }

  bool IsOpaque(const Node& node) const {
    return Any(node.inputs, SymbolKind::kOpaque) ||
           Any(node.outputs, SymbolKind::kOpaque);
  }

  void ApplySwitches(Node* node) const {
    if (node->stage == Stage::kEager && !options_.eager) {
      node->stage = Stage::kCritical;
    }
    if (node->stage == Stage::kLazy && !options_.lazy) {
      node->stage = Stage::kCritical;
    }
  }

  const ClassifyOptions options_;
  Program& program_;
  const Overlaps overlaps_;
  std::vector<bool> gathered_;   // By symbol: depends on gathered state.
  std::vector<bool> scattered_;  // By symbol: scattered state depends on it.
};

}  // namespace

Status Classify(const ClassifyOptions& options, Program* program) {
  return Classifier(options, program).Run();
}

const char* ToString(Stage stage) {
  switch (stage) {
    case Stage::kPrologue:
      return "prologue";
    case Stage::kEager:
      return "eager";
    case Stage::kCritical:
      return "critical";
    case Stage::kLazy:
      return "lazy";
    case Stage::kEpilogue:
      return "epilogue";
  }
  return "unknown";
}

}  // namespace cavs
