#include "cc/ir/passes/view_rows.h"

#include <vector>

#include "cc/ir/elementwise.h"

namespace cavs {
namespace {

// Can the kernel of `node` read its input number `i`, of so many columns, by an
// index?
bool ReadsByIndex(const Node& node, size_t i, int64_t columns) {
  switch (node.kind) {
    case NodeKind::kMatMul:
      return i == 0 && columns <= kMaxIndexedColumns;
    case NodeKind::kWeightGrad:
    case NodeKind::kGroup:
    case NodeKind::kCopy:
      return true;
    default:
      return false;
  }
}

bool IsPassedIn(NodeKind kind) {
  return kind == NodeKind::kGather || kind == NodeKind::kPull ||
         kind == NodeKind::kPushGrad;
}

}  // namespace

void ViewRows(Program* program) {
  std::vector<Symbol>& symbols = program->symbols;
  const auto root = [&](int id) {
    int64_t offset;
    return program->Root(id, &offset);
  };
  for (Symbol& symbol : symbols) {
    symbol.viewed = symbol.source == SymbolSource::kSaved &&
                    symbol.kind == SymbolKind::kRows && symbol.parent < 0 &&
                    IsNative(symbol.dtype);
  }
  for (const Node& node : program->nodes) {
    if (!IsPassedIn(node.kind)) continue;
    Symbol& symbol = symbols[node.outputs[0]];
    symbol.viewed = symbol.parent < 0 && IsNative(symbol.dtype);
  }
  for (const Node& node : program->nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int id = node.inputs[i];
      if (!ReadsByIndex(node, i, symbols[id].columns())) {
        symbols[root(id)].viewed = false;
      }
    }
    if (IsPassedIn(node.kind)) continue;
    for (int id : node.outputs) symbols[root(id)].viewed = false;
  }
}

}  // namespace cavs
