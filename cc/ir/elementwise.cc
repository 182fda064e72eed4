#include "cc/ir/elementwise.h"

#include <algorithm>

namespace cavs {
namespace {

constexpr bool IsInOrder() {
  for (size_t i = 0; i < std::size(kElementwiseOperators); ++i) {
    if (static_cast<size_t>(kElementwiseOperators[i].op) != i) return false;
  }
  return true;
}
static_assert(IsInOrder(), "a row for every operator, in their order");

template <typename Matches>
const ElementwiseOperator* Find(const Matches& matches) {
  const auto* found = std::find_if(std::begin(kElementwiseOperators),
                                   std::end(kElementwiseOperators), matches);
  return found == std::end(kElementwiseOperators) ? nullptr : found;
}

}  // namespace

const ElementwiseOperator* FindElementwise(std::string_view name) {
  return Find([&](const ElementwiseOperator& row) { return row.name == name; });
}

const ElementwiseOperator* FindFrameworkElementwise(std::string_view name) {
  return Find([&](const ElementwiseOperator& row) {
    const auto& names = row.framework_names;
    return !name.empty() &&
           std::find(names.begin(), names.end(), name) != names.end();
  });
}

}  // namespace cavs
