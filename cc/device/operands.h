// Finds the operands of nodes in memory.
#ifndef CAVS_CC_DEVICE_OPERANDS_H_
#define CAVS_CC_DEVICE_OPERANDS_H_

#include <cassert>
#include <vector>

#include "cc/device/bindings.h"
#include "cc/device/block.h"
#include "cc/ir/compiled_program.h"

namespace cavs {

// The symbols of a program, as they are bound in one step. Both arguments must
// outlive the object.
class Operands {
 public:
  Operands(const CompiledProgram& program, const Bindings& bindings)
      : program_(program), bindings_(bindings) {}

  // The rows of a symbol that has them, and that is not read by an index.
  Block Rows(int id, const RowRange& at) const;
  // Rows, perhaps by an index, or a value without rows as one row to broadcast.
  ConstBlock Read(int id, const RowRange& at) const;
  // The address of a value without rows, or of a view of one.
  char* Dense(int id) const;
  // The address of a sum over rows, or of a view of one, while the sum is
  // formed.
  char* Sum(int id) const;
  // The type of a sum's elements while it is formed.
  DType TypeOfSum(int id) const;
  // The sums over rows, and the views of them, that no node has begun: there
  // were no rows.
  std::vector<int> SumsOverNoRows() const;

  // The part of `at` in the symbol's space: vertices or edges.
  const SpaceRange& RowsOf(int id, const RowRange& at) const {
    return at.of(program_.layout[id].space);
  }

  // Whether the symbol is zero in rows of vertices without children.
  bool IsZeroWithoutChildren(int id) const;

  const Symbol& symbol(int id) const { return program_.symbols[id]; }
  int64_t columns(int id) const { return program_.layout[id].columns; }
  bool HasRows(int id) const { return program_.layout[id].has_rows(); }

 private:
  const CompiledProgram& program_;
  const Bindings& bindings_;
};

inline Block Operands::Rows(int id, const RowRange& at) const {
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

inline ConstBlock Operands::Read(int id, const RowRange& at) const {
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

inline char* Operands::Dense(int id) const {
  const SymbolLayout& layout = program_.layout[id];
  return static_cast<char*>(bindings_.slots[layout.root].dense) +
         layout.offset * static_cast<int64_t>(SizeOf(layout.dtype));
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_OPERANDS_H_
