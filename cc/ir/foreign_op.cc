#include "cc/ir/foreign_op.h"

#include "cc/ir/program.h"

namespace cavs {

const DrawnMask* MaskOf(const Program& program, const Node& node) {
  if (node.kind != NodeKind::kForeign || node.foreign == nullptr ||
      node.inputs.size() != 2 || node.outputs.size() != 1) {
    return nullptr;
  }
  const Symbol& numbers = program.symbols[node.inputs[0]];
  const Symbol& out = program.symbols[node.outputs[0]];
  const bool can_draw = numbers.kind == SymbolKind::kRows &&
                        numbers.dtype == DType::kInt32 &&
                        out.kind == SymbolKind::kRows && IsNative(out.dtype);
  return can_draw ? node.foreign->mask() : nullptr;
}

bool IsCast(const Program& program, const Node& node) {
  if (node.kind != NodeKind::kForeign || node.foreign == nullptr ||
      node.inputs.size() != 1 || node.outputs.size() != 1) {
    return false;
  }
  const Symbol& in = program.symbols[node.inputs[0]];
  const Symbol& out = program.symbols[node.outputs[0]];
  return in.kind == SymbolKind::kRows && out.kind == SymbolKind::kRows &&
         IsNative(in.dtype) && IsNative(out.dtype) &&
         in.columns() == out.columns() && node.foreign->casts();
}

}  // namespace cavs
