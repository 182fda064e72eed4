#include "cc/core/passes/plan_memory.h"

#include <cstdint>

namespace cavs {

void PlanMemory(Program* program) {
  std::vector<Symbol>& symbols = program->symbols;
  const auto root = [&](int id) -> Symbol& {
    int64_t offset;
    return symbols[program->Root(id, &offset)];
  };
  for (Symbol& symbol : symbols) {
    symbol.stored = false;
    symbol.reused = symbol.kind == SymbolKind::kRows && symbol.parent < 0 &&
                    symbol.source == SymbolSource::kNode;
  }
  const auto touch = [&](const Node& node, int id) {
    root(id).stored = true;
    if (node.stage != Stage::kCritical) root(id).reused = false;
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
    root(id).reused = false;
  }
  for (Symbol& symbol : symbols) {
    if (symbol.viewed) symbol.stored = symbol.reused = false;
  }
}

}  // namespace cavs
