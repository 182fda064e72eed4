#include "cc/device/operands.h"

#include <cassert>
#include <set>

namespace cavs {

Block Operands::Rows(int id, const RowRange& at) const {
  const Slot& slot = bindings_.slots[id];
  assert(HasRows(id) && slot.index == nullptr);
  const DynamicTensor& rows = slot.rows;
  switch (rows.extent()) {
    case Extent::kState: {
      const Span<int32_t> state_row = bindings_.rows->state_row();
      return rows.View(at.count == 0 ? 0 : state_row[at.first], at.count);
    }
    case Extent::kChildren: {
      Block block = rows.View(0, at.count);
      if (at.count == 0) return block;
      const int64_t first =
          bindings_.rows->child_row(0)[at.first] * bindings_.state.pitch;
      block.data = static_cast<char*>(block.data) +
                   first * static_cast<int64_t>(SizeOf(rows.dtype()));
      return block;
    }
    default: {
      const SpaceRange& own = RowsOf(id, at);
      return rows.View(own.first - own.origin[static_cast<int>(rows.extent())],
                       own.count);
    }
  }
}

ConstBlock Operands::Read(int id, const RowRange& at) const {
  const Slot& slot = bindings_.slots[id];
  if (slot.index != nullptr) {
    const SpaceRange& own = RowsOf(id, at);
    ConstBlock rows = slot.rows.View(0, 0);
    rows.rows = own.count;
    rows.index = slot.index + own.first;
    return rows;
  }
  if (HasRows(id)) return Rows(id, at);
  return {Dense(id), 1, columns(id), columns(id)};
}

char* Operands::Dense(int id) const {
  const SymbolLayout& layout = program_.layout[id];
  return static_cast<char*>(bindings_.slots[layout.root].dense) +
         layout.offset * static_cast<int64_t>(SizeOf(layout.dtype));
}

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
