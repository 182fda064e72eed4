#include "cc/device/operands.h"

#include <set>

namespace cavs {

char* Operands::Sum(int id) const {
  const SymbolLayout& layout = program_.layout[id];
  return static_cast<char*>(bindings_.slots[layout.root].dense) +
         layout.offset * static_cast<int64_t>(SizeOf(TypeOfSum(id)));
}

DType Operands::TypeOfSum(int id) const {
  const Slot& slot = bindings_.slots[program_.layout[id].root];
  const DType dtype = program_.layout[id].dtype;
  return slot.rounded_last ? SumType(dtype) : dtype;
}

std::vector<int> Operands::SumsOverNoRows() const {
  std::set<int> sums;
  for (const Node& node : program_.nodes) {
    if (node.stage == Stage::kPrologue || node.stage == Stage::kEpilogue) {
      continue;
    }
    for (int id : node.outputs) {
      const int root = program_.layout[id].root;
      if (symbol(id).kind == SymbolKind::kReduced &&
          !*bindings_.sum_begun[id] && bindings_.slots[root].dense != nullptr) {
        sums.insert(id);
      }
    }
  }
  return {sums.begin(), sums.end()};
}

bool Operands::IsZeroWithoutChildren(int id) const {
  for (; id >= 0; id = symbol(id).parent) {
    if (bindings_.slots[id].zero_without_children) return true;
  }
  return false;
}

}  // namespace cavs
