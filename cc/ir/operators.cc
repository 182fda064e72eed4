#include "cc/ir/operators.h"

#include <algorithm>

namespace cavs {
namespace {

template <size_t kSize>
constexpr bool IsInOrder(const Operator (&rows)[kSize]) {
  for (size_t i = 0; i < kSize; ++i) {
    if (static_cast<size_t>(rows[i].kind) != i) return false;
  }
  return kSize == static_cast<size_t>(NodeKind::kForeign) + 1;
}
static_assert(IsInOrder(kOperators), "a row for every kind, in their order");

template <size_t kSize>
constexpr bool IsInOrder(const ElementwiseOperator (&rows)[kSize]) {
  for (size_t i = 0; i < kSize; ++i) {
    if (static_cast<size_t>(rows[i].op) != i) return false;
  }
  return true;
}
static_assert(IsInOrder(kElementwiseOperators),
              "a row for every operator, in their order");

template <typename Row, size_t kSize, typename Matches>
const Row* Find(const Row (&rows)[kSize], const Matches& matches) {
  const Row* found = std::find_if(rows, rows + kSize, matches);
  return found == rows + kSize ? nullptr : found;
}

}  // namespace

const Operator* FindOperator(std::string_view name) {
  return Find(kOperators,
              [&](const Operator& row) { return row.name == name; });
}

const ElementwiseOperator* FindElementwise(std::string_view name) {
  return Find(kElementwiseOperators,
              [&](const ElementwiseOperator& row) { return row.name == name; });
}

const ElementwiseOperator* FindFrameworkElementwise(std::string_view name) {
  return Find(kElementwiseOperators, [&](const ElementwiseOperator& row) {
    const auto& names = row.framework_names;
    return !name.empty() &&
           std::find(names.begin(), names.end(), name) != names.end();
  });
}

}  // namespace cavs
