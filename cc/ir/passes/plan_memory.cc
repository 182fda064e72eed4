#include "cc/ir/passes/plan_memory.h"

#include <cstdint>
#include <set>
#include <vector>

namespace cavs {

void PlanMemory(Program* program) {
  std::vector<Symbol>& symbols = program->symbols;
  const auto root = [&](int id) -> Symbol& {
    int64_t offset;
    return symbols[program->Root(id, &offset)];
  };
  for (Symbol& symbol : symbols) {
    symbol.stored = false;
    symbol.lifetime = Lifetime::kChunk;
  }
  std::vector<std::set<Stage>> stages(symbols.size());  // Of roots.
  const auto touch = [&](const Node& node, int id) {
    root(id).stored = true;
    stages[&root(id) - symbols.data()].insert(node.stage);
  };
  for (const Node& node : program->nodes) {
    for (int id : node.inputs) touch(node, id);
    for (int id : node.outputs) touch(node, id);
    if (node.stage == Stage::kEpilogue) continue;
    for (int id : node.outputs) {
      if (root(id).kind != SymbolKind::kReduced) continue;
      root(id).rounded_last = SumType(root(id).dtype) != root(id).dtype;
    }
  }
  for (int id : program->results) {
    root(id).stored = true;
    stages[&root(id) - symbols.data()].clear();
  }
  for (size_t id = 0; id < symbols.size(); ++id) {
    Symbol& symbol = symbols[id];
    if (symbol.viewed) symbol.stored = false;
    if (!symbol.stored || symbol.kind != SymbolKind::kRows ||
        symbol.source != SymbolSource::kNode || stages[id].size() != 1) {
      continue;
    }
    symbol.lifetime = *stages[id].begin() == Stage::kCritical
                          ? Lifetime::kTask
                          : Lifetime::kPiece;
  }
}

}  // namespace cavs
