#include "cc/ir/passes/join_children.h"

#include <cstdint>
#include <set>
#include <vector>

namespace cavs {
namespace {

// What nodes do with one root.
struct Uses {
  std::set<int> slots;  // Gathered into its pieces, or sent back from them.
  int num_gathers = 0, num_gather_grads = 0;
  int64_t piece_columns = 0;
  bool in_order = true;  // Slot k has the k-th piece.
  bool others_read = false, others_write = false;
  bool must_own = false;  // Rows that pass elsewhere, or foreign operators'.
  bool only_critical = true, only_for_children = true;
};

}  // namespace

void JoinChildren(const Zeros& zeros, Program* program) {
  std::vector<Uses> uses(program->symbols.size());
  for (const Node& node : program->nodes) {
    const bool gathers = node.kind == NodeKind::kGather;
    const bool sends_back = node.kind == NodeKind::kGatherGrad;
    int64_t offset;
    const bool moves_rows = PassesRows(node.kind);
    const auto touch = [&](int id) -> Uses& {
      Uses& use = uses[program->Root(id, &offset)];
      use.only_critical &= node.stage == Stage::kCritical;
      use.must_own |= node.kind == NodeKind::kForeign ||
                      (moves_rows && !gathers && !sends_back);
      use.only_for_children &=
          zeros.only_for_children[&node - program->nodes.data()];
      return use;
    };
    for (int id : node.inputs) touch(id).others_read |= !sends_back;
    for (int id : node.outputs) touch(id).others_write |= !gathers;
    if (!gathers && !sends_back) continue;
    const int id = (gathers ? node.outputs : node.inputs)[0];
    Uses& use = touch(id);
    use.piece_columns = program->symbols[id].columns();
    use.in_order &= offset == node.index * use.piece_columns;
    use.slots.insert(node.index);
    ++(gathers ? use.num_gathers : use.num_gather_grads);
  }
  // The derivative reads the rows of several tasks at a time.
  for (int id : program->results) {
    int64_t offset;
    uses[program->Root(id, &offset)].only_critical = false;
  }
  for (size_t id = 0; id < uses.size(); ++id) {
    Symbol& symbol = program->symbols[id];
    const Uses& use = uses[id];
    const int slots = static_cast<int>(use.slots.size());
    if (symbol.kind != SymbolKind::kRows || !IsNative(symbol.dtype) ||
        symbol.parent >= 0 || symbol.source != SymbolSource::kNode ||
        use.must_own || !use.in_order ||
        symbol.columns() != slots * use.piece_columns) {
      continue;
    }
    // What one slot gives is read by an index, see view_rows.h.
    const bool is_gathered =
        slots > 1 && use.num_gathers == slots && !use.others_write;
    const bool is_sent_back =
        slots > 0 && use.num_gather_grads == slots && !use.others_read;
    if (is_gathered == is_sent_back) continue;
    symbol.joined.slots = slots;
    symbol.joined.are_sent_back = is_sent_back;
    symbol.joined.by_task = use.only_critical;
    symbol.joined.only_for_children = use.only_for_children;
  }
}

}  // namespace cavs
