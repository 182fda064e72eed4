#include "cc/core/passes/plan_memory.h"

#include <cstdint>

namespace cavs {

void PlanMemory(Program* program) {
  std::vector<Symbol>& symbols = program->symbols;
  const auto root = [&](int id) {
    int64_t offset;
    return program->Root(id, &offset);
  };
  for (Symbol& symbol : symbols) {
    symbol.reused = symbol.kind == SymbolKind::kRows && symbol.parent < 0 &&
                    symbol.source == SymbolSource::kNode;
  }
  for (const Node& node : program->nodes) {
    if (node.stage == Stage::kCritical) continue;
    for (int id : node.inputs) symbols[root(id)].reused = false;
    for (int id : node.outputs) symbols[root(id)].reused = false;
  }
  for (int id : program->results) symbols[root(id)].reused = false;
}

}  // namespace cavs
