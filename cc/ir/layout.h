// The root and offset of every symbol, so that accesses need not follow views.
#ifndef CAVS_CC_IR_LAYOUT_H_
#define CAVS_CC_IR_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "cc/ir/program.h"

namespace cavs {

struct SymbolLayout {
  int32_t root = 0;
  bool has_rows = false;
  int64_t offset = 0;  // Within the root's rows, in elements.
  // Elements per row, or of the whole value if it has no rows.
  int64_t columns = 0;
};

using Layout = std::vector<SymbolLayout>;  // Indexed by symbol.

inline Layout LayoutOf(const Program& program) {
  Layout layout(program.symbols.size());
  for (size_t id = 0; id < layout.size(); ++id) {
    const Symbol& symbol = program.symbols[id];
    layout[id].root = program.Root(static_cast<int>(id), &layout[id].offset);
    layout[id].has_rows = symbol.kind == SymbolKind::kRows;
    layout[id].columns = symbol.columns();
  }
  return layout;
}

}  // namespace cavs

#endif  // CAVS_CC_IR_LAYOUT_H_
