#include "cc/ir/operators.h"

#include <algorithm>
#include <iterator>

namespace cavs {
namespace {

constexpr bool IsInOrder() {
  for (size_t i = 0; i < std::size(kOperators); ++i) {
    if (static_cast<size_t>(kOperators[i].kind) != i) return false;
  }
  return std::size(kOperators) == static_cast<size_t>(NodeKind::kForeign) + 1;
}
static_assert(IsInOrder(), "a row for every kind, in their order");

}  // namespace

const Operator* FindOperator(std::string_view name) {
  const Operator* found =
      std::find_if(std::begin(kOperators), std::end(kOperators),
                   [&](const Operator& row) { return row.name == name; });
  return found == std::end(kOperators) ? nullptr : found;
}

}  // namespace cavs
