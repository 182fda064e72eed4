// Where every symbol lies, in few bytes: a step looks at all symbols, and a
// task at many, and accesses need not follow views.
#ifndef CAVS_CC_IR_LAYOUT_H_
#define CAVS_CC_IR_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "cc/ir/program.h"

namespace cavs {

struct SymbolLayout {
  int32_t root = 0;
  int32_t index = -1;  // This and the next four are those of the symbol.
  SymbolKind kind = SymbolKind::kRows;
  RowSpace space = RowSpace::kVertices;
  SymbolSource source = SymbolSource::kNode;
  DType dtype = DType::kOther;
  int64_t offset = 0;  // Within the root's rows, in elements.
  // Elements per row, or of the whole value if it has no rows.
  int64_t columns = 0;

  bool has_rows() const { return kind == SymbolKind::kRows; }
};

using Layout = std::vector<SymbolLayout>;  // Indexed by symbol.

inline Layout LayoutOf(const Program& program) {
  Layout layout(program.symbols.size());
  for (size_t id = 0; id < layout.size(); ++id) {
    const Symbol& symbol = program.symbols[id];
    layout[id].root = program.Root(static_cast<int>(id), &layout[id].offset);
    layout[id].index = symbol.index;
    layout[id].kind = symbol.kind;
    layout[id].space = symbol.space;
    layout[id].source = symbol.source;
    layout[id].dtype = symbol.dtype;
    layout[id].columns = symbol.columns();
  }
  return layout;
}

}  // namespace cavs

#endif  // CAVS_CC_IR_LAYOUT_H_
